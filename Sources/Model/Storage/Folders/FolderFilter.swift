/// The files of a folder that a task takes.
///
/// A pattern with a slash is compared with the path below the folder, any other with the name of a file or of a folder on
/// the way to it. A pattern that begins with a slash is compared with the path, too; one that ends with a slash matches
/// folders alone. What is below a folder that matches, matches.
public struct FolderFilter: Sendable {
    fileprivate struct Pattern {
        let glob: Glob
        /// Compared with the whole path.
        let isPath: Bool
        let isFolder: Bool

        init(_ text: String) {
            let slash = UInt8(ascii: "/")
            isFolder = text.utf8.last == slash
            let body = isFolder ? text.utf8.dropLast() : text.utf8[...]
            isPath = body.contains(slash)
            let names = body.first == slash ? body.dropFirst() : body
            glob = Glob(String(decoding: names, as: UTF8.self).unicodeScalars)
        }
    }

    private let include: [Pattern]
    private let exclude: [Pattern]

    public init(include: [String], exclude: [String]) {
        (self.include, self.exclude) = (include.map(Pattern.init), exclude.map(Pattern.init))
    }

    public init(_ request: FolderRequest) { self.init(include: request.include, exclude: request.exclude) }

    /// - Parameter path: below the folder.
    public func takes(_ path: String) -> Bool {
        let steps = Self.steps(of: path)
        guard include.isEmpty || include.contains(where: { $0.matches(steps) }) else { return false }
        return !exclude.contains { $0.matches(steps) }
    }

    /// False where all that is below a folder is left out.
    public func mayEnter(_ folder: String) -> Bool {
        let steps = Self.steps(of: folder, isFolder: true)
        return !exclude.contains { $0.matches(steps) }
    }

    fileprivate struct Step {
        let path: String
        let name: String
        let isFolder: Bool
    }

    /// The folders on the way, and the path itself.
    private static func steps(of path: String, isFolder: Bool = false) -> [Step] {
        let slash = UInt8(ascii: "/")
        var steps: [Step] = [], start = path.utf8.startIndex
        while start <= path.utf8.endIndex {
            let end = path.utf8[start...].firstIndex(of: slash) ?? path.utf8.endIndex
            let isLast = end == path.utf8.endIndex
            steps.append(
                Step(
                    path: String(decoding: path.utf8[..<end], as: UTF8.self),
                    name: String(decoding: path.utf8[start..<end], as: UTF8.self), isFolder: !isLast || isFolder))
            if isLast { break }
            start = path.utf8.index(after: end)
        }
        return steps
    }
}

extension FolderFilter.Pattern {
    fileprivate func matches(_ steps: [FolderFilter.Step]) -> Bool {
        steps.contains { step in
            (step.isFolder || !isFolder) && glob.matches(isPath ? step.path : step.name)
        }
    }
}
