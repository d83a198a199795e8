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

    /// It takes all files.
    package var isEmpty: Bool { include.isEmpty && exclude.isEmpty }

    private static func patterns(_ texts: [String], _ param: String) throws(StorageError) -> [Pattern] {
        var patterns: [Pattern] = []
        for text in texts {
            do throws(Glob.Invalid) { patterns.append(try Pattern(text)) } catch {
                throw .invalidArgument(param, "The pattern \"\(text)\" of \(param) \(error.reason).")
            }
        }
        return patterns
    }

    package static func check(_ pattern: String) throws(Glob.Invalid) { _ = try Glob(Pattern.names(in: pattern)) }

    /// - Parameter path: below the folder.
    public func takes(_ path: String) -> Bool {
        guard include.isEmpty || include.contains(where: { $0.matches(path) }) else { return false }
        return !exclude.contains { $0.matches(path) }
    }

    /// False where all that is below a folder is left out.
    public func mayEnter(_ folder: String) -> Bool { !exclude.contains { $0.matches(folder, isFolder: true) } }

    /// A directory is entered, a file is taken, and what may be one of them may be the other.
    package func wants(_ entry: LocalEntry) -> Bool {
        switch entry.kind {
        case .directory: mayEnter(entry.path)
        case .unknown: takes(entry.path) || mayEnter(entry.path)
        case .file, .other: takes(entry.path)
        }
    }
}

private struct Pattern: Sendable {
    let matcher: Glob.Matcher
    /// Compared with the whole path.
    let isPath: Bool
    let isOfFolders: Bool

    init(_ text: String) throws(Glob.Invalid) {
        let slash = UInt8(ascii: "/")
        isOfFolders = text.utf8.last == slash
        isPath = (isOfFolders ? text.utf8.dropLast() : text.utf8[...]).contains(slash)
        matcher = try Glob(Self.names(in: text)).matcher
    }

    /// Without a slash at the beginning and one at the end.
    static func names(in text: String) -> String {
        let slash = UInt8(ascii: "/")
        let body = text.utf8.last == slash ? text.utf8.dropLast() : text.utf8[...]
        return String(decoding: body.first == slash ? body.dropFirst() : body, as: UTF8.self)
    }

    /// It matches the path, or a folder on the way to it.
    func matches(_ path: String, isFolder: Bool = false) -> Bool {
        var match = Glob.Match(matcher)
        for scalar in path.unicodeScalars {
            if scalar == "/" {
                if match.isComplete { return true }
                if !isPath {
                    match.restart()
                    continue
                }
            }
            guard match.isPossible else {
                if isPath { return false }
                continue
            }
            match.take(scalar)
        }
        return match.isComplete && (isFolder || !isOfFolders)
    }
}
