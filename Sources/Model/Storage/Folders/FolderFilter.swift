/// The files of a folder that a task takes.
///
/// A pattern with a slash, except one at its end, is compared with the path below the folder; any other with the name
/// of the file and of each folder on its path. A pattern that ends with a slash matches only folders. A folder that
/// matches does so with everything below it.
public struct FolderFilter: Sendable {
    private let include: [Pattern]
    private let exclude: [Pattern]

    /// A filter that takes all files.
    public init() { (include, exclude) = ([], []) }

    public init(include: [String], exclude: [String]) throws(StorageError) {
        self.include = try Self.patterns(include, "include")
        self.exclude = try Self.patterns(exclude, "exclude")
    }

    /// The filter takes all files.
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

    /// False if the filter excludes everything below a folder.
    public func mayEnter(_ folder: String) -> Bool { !exclude.contains { $0.matches(folder, isFolder: true) } }

    /// Whether an entry is of interest: directories that may be entered, files that are taken, and for an entry of
    /// unknown kind either of the two.
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
    /// Whether the pattern is compared with the whole path instead of with single names.
    let isPath: Bool
    let isOfFolders: Bool

    init(_ text: String) throws(Glob.Invalid) {
        let slash = UInt8(ascii: "/")
        isOfFolders = text.utf8.last == slash
        isPath = (isOfFolders ? text.utf8.dropLast() : text.utf8[...]).contains(slash)
        matcher = try Glob(Self.names(in: text)).matcher
    }

    /// The pattern without slashes at its beginning and end.
    static func names(in text: String) -> String {
        let slash = UInt8(ascii: "/")
        let body = text.utf8.last == slash ? text.utf8.dropLast() : text.utf8[...]
        return String(decoding: body.first == slash ? body.dropFirst() : body, as: UTF8.self)
    }

    /// Whether the pattern matches the path or a folder on it.
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
