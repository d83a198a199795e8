import Platform

/// A file, or a directory with all that is in it.
struct LocalTree {
    struct Unusable: UserFacingError { let message: String }

    let path: String
    /// The last part of the path; empty for `.`, `..` and `/`.
    let name: String
    let isDirectory: Bool

    init(_ path: String) {
        self.path = path
        isDirectory = Self.isDirectory(path)
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String($0) ?? "" } ?? ""
        name = last == "." || last == ".." ? "" : last
    }

    /// False where nothing is there, or nobody may look.
    static func isDirectory(_ path: String) -> Bool { (try? FileStatus(ofPath: path))?.kind == .directory }

    /// Passes the path of each file, and its name below this one. Follows links to files, not to directories: they could
    /// lead in a circle. Devices and their like are left out, which `skipped` is told; `failed` is told what cannot be read.
    func walk(
        _ file: (_ path: String, _ name: String) throws -> Void, skipped: (_ sentence: String) -> Void,
        failed: (_ sentence: String) -> Void
    ) throws {
        func walk(_ directory: String, _ prefix: String) throws {
            let entries: [OpenFile.Entry]
            do throws(SystemError) { entries = try OpenFile.entries(of: directory) } catch {
                return failed("\(directory) cannot be read: \(error.reason)")
            }
            for entry in entries {
                let path = directory + (directory.utf8.last == UInt8(ascii: "/") ? "" : "/") + entry.name
                guard entry.isUTF8 else {
                    failed("\(path) is left out: its name is not UTF-8, as names of objects are")
                    continue
                }
                switch try? FileStatus(ofPath: path, followingLinks: false).kind {
                case .directory: try walk(path, prefix + entry.name + "/")
                case .regular: try file(path, prefix + entry.name)
                case .link where (try? FileStatus(ofPath: path).kind) == .regular: try file(path, prefix + entry.name)
                case nil: continue  // It is gone.
                default: skipped("\(path) is left out: it is no file")
                }
            }
        }
        try walk(path, "")
    }

    /// Creates the directories that a file needs.
    static func makeParents(of path: String, mask: UInt32) throws(Unusable) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return }
        let directory = String(path.utf8[..<slash]) ?? ""
        if isDirectory(directory) { return }
        try makeParents(of: directory, mask: mask)
        do throws(SystemError) { try OpenFile.makePublicDirectory(directory, mask: mask) } catch {
            throw Unusable(message: "\(directory) cannot be created: \(error.reason)")
        }
    }
}
