import Storage

/// A name of objects with the characters of a `Glob`, as a command gets it.
struct NamePattern {
    /// The folder before the first of these characters, as it was written; nil for the root of the default bucket.
    let folder: String?
    /// The first segment with these characters and all before it, as they were written: where a folder has this name, they
    /// are no pattern. Nil where it is the last segment.
    let possibleFolder: String?
    /// It ends with a slash: objects do not match.
    let isOfFolders: Bool
    /// What the names below the folder are compared with.
    private let rest: String

    /// Nil for a text without them.
    ///
    /// - Parameter literal: the beginning of the text that is a name, whatever its characters are.
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

    /// Throws for brackets that stand for no character.
    func glob() throws(UsageError) -> Glob {
        do throws(Glob.Invalid) { return try Glob(rest) } catch {
            throw UsageError(message: "\"\(rest)\" is no pattern: it \(error.reason)")
        }
    }
}
