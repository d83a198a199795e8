import Storage

/// A pattern of object names, as given to a command.
struct NamePattern {
    /// The folder before the first special character, as it was written; nil for the root of the default bucket.
    let folder: String?
    /// The text up to the end of the first segment with special characters: if a folder has this name, they are no
    /// pattern. Nil if this is the last segment.
    let possibleFolder: String?
    /// The pattern ends with a slash, so it does not match objects.
    let isOfFolders: Bool
    /// The pattern for names below the folder.
    private let rest: String
    var hasStar: Bool { rest.utf8.contains(UInt8(ascii: "*")) }

    /// Nil for a text without special characters.
    ///
    /// - Parameter literal: the beginning of the text that is a name, even if it contains special characters.
    init?(_ text: String, after literal: String = "") {
        let isSpecial: (Unicode.Scalar) -> Bool = { $0 == "*" || $0 == "?" || $0 == "[" }
        let scalars = text.unicodeScalars
        guard !["http://", "https://"].contains(where: { text.utf8.starts(with: $0.utf8) }),
            let first = scalars.dropFirst(literal.unicodeScalars.count).firstIndex(where: isSpecial)
        else { return nil }
        let slash = scalars[..<first].lastIndex(of: "/")
        folder = slash.map { String(scalars[..<$0]) + (scalars[..<$0].last == "/" ? "/" : "") }
        let end = scalars[first...].firstIndex(of: "/")
        possibleFolder =
            folder == "gs://" || end.map { scalars[$0...].allSatisfy { $0 == "/" } } ?? true
            ? nil : end.map { String(scalars[..<$0]) }
        isOfFolders = scalars.last == "/"
        let below = scalars[(slash.map { scalars.index(after: $0) } ?? scalars.startIndex)...]
        rest = String(String.UnicodeScalarView(below.split(separator: "/").joined(separator: ["/"])))
    }

    /// Throws for brackets that match no character.
    func glob() throws(UsageError) -> Glob {
        do throws(Glob.Invalid) { return try Glob(rest) } catch {
            throw UsageError(message: "\"\(rest)\" is no pattern: it \(error.reason)")
        }
    }
}
