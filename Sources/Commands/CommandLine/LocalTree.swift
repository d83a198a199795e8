import Platform

/// A file, or a directory with all that is in it, as a person names it.
struct LocalTree {
    struct NoDirectory: UserFacingError { let message: String }

    let path: String
    /// The last part of the path; empty for `.`, `..` and `/`.
    let name: String
    /// The status of the file, links followed; nil if none exists, or if it cannot be inspected.
    let status: FileStatus?
    var isDirectory: Bool { status?.kind == .directory }

    init(_ path: String) {
        self.path = path
        status = try? FileStatus(ofPath: path)
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String($0) ?? "" } ?? ""
        name = last == "." || last == ".." ? "" : last
    }

    /// Whether the path is a directory; false if it does not exist, or if its parent cannot be searched.
    static func isDirectory(_ path: String) -> Bool { (try? FileStatus(ofPath: path))?.kind == .directory }

    static func isLink(_ path: String) -> Bool { (try? FileStatus(ofPath: path, followingLinks: false))?.kind == .link }

    static func isLinkToFile(_ path: String) -> Bool {
        isLink(path) && (try? FileStatus(ofPath: path))?.kind == .regular
    }

    /// The directories that a path leads through, the nearest one last.
    static func parents(of path: String) -> [String] {
        path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: "/") && $0 > path.startIndex }
            .compactMap { String(path.utf8[..<$0]) }
    }

    /// Creates the directories that a file needs.
    static func makeParents(of path: String, mask: UInt32) throws(NoDirectory) {
        let parents = parents(of: path)
        guard let nearest = parents.last, !isDirectory(nearest) else { return }
        for directory in parents where !isDirectory(directory) {
            do throws(SystemError) { try OpenFile.makePublicDirectory(directory, mask: mask) } catch {
                throw NoDirectory(message: "\(directory) cannot be created: \(error.reason)")
            }
        }
    }
}
