/// The files of a folder that a task takes.
///
/// A pattern with a slash is compared with the path below the folder, any other with the name of a file or of a folder on
/// the way to it. A pattern that begins with a slash is compared with the path, too; one that ends with a slash matches
/// folders alone. What is below a folder that matches, matches.
public struct FolderFilter: Sendable {
    private let include: [Pattern]
    private let exclude: [Pattern]

    /// All files.
    public init() { (include, exclude) = ([], []) }

    public init(include: [String], exclude: [String]) throws(StorageError) {
        self.include = try Self.patterns(include, "include")
        self.exclude = try Self.patterns(exclude, "exclude")
    }

    private static func patterns(_ texts: [String], _ param: String) throws(StorageError) -> [Pattern] {
        var patterns: [Pattern] = []
        for text in texts {
            do throws(Glob.Invalid) { patterns.append(try Pattern(text)) } catch {
                throw .invalidArgument(param, "The pattern \"\(text)\" of \(param) \(error.reason).")
            }
        }
        return patterns
    }

    package static func check(_ pattern: String) throws(Glob.Invalid) { _ = try Pattern(pattern) }

    /// - Parameter path: below the folder.
    public func takes(_ path: String) -> Bool {
        guard include.isEmpty || include.contains(where: { $0.matches(path) }) else { return false }
        return !exclude.contains { $0.matches(path) }
    }

    /// False where all that is below a folder is left out.
    public func mayEnter(_ folder: String) -> Bool { !exclude.contains { $0.matches(folder, isFolder: true) } }
}

private struct Pattern: Sendable {
    let glob: Glob
    /// Compared with the whole path.
    let isPath: Bool
    let isOfFolders: Bool

    init(_ text: String) throws(Glob.Invalid) {
        let slash = UInt8(ascii: "/")
        isOfFolders = text.utf8.last == slash
        let body = isOfFolders ? text.utf8.dropLast() : text.utf8[...]
        isPath = body.contains(slash)
        let names = body.first == slash ? body.dropFirst() : body
        glob = try Glob(String(decoding: names, as: UTF8.self))
    }

    /// It matches the path, or a folder on the way to it.
    func matches(_ path: String, isFolder: Bool = false) -> Bool {
        var match = Glob.Match(glob)
        for scalar in path.unicodeScalars {
            if scalar == "/" {
                if match.isComplete { return true }
                if !isPath {
                    match.restart()
                    continue
                }
            }
            match.take(scalar)
        }
        return match.isComplete && (isFolder || !isOfFolders)
    }
}
