import Platform

/// A file, or a directory with all that is in it.
struct LocalTree {
    struct NoDirectory: UserFacingError { let message: String }

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

    /// False where nothing is there, or the directory cannot be searched.
    static func isDirectory(_ path: String) -> Bool { (try? FileStatus(ofPath: path))?.kind == .directory }

    /// Passes the path of each file, and its name below this one. Follows links to files, not to directories: they could
    /// lead in a circle. `failed` gets what is left out: those links, devices and their like, and what cannot be read.
    func walk(
        _ file: (_ path: String, _ name: String) throws -> Void, failed: (_ sentence: String) -> Void
    ) rethrows {
        var waiting: [(path: String, name: String, isUTF8: Bool)] = []
        func enter(_ directory: String, _ prefix: String) {
            do throws(SystemError) {
                for entry in try OpenFile.entries(of: directory).reversed() {
                    let path = directory + (directory.utf8.last == UInt8(ascii: "/") ? "" : "/") + entry.name
                    waiting.append((path, prefix + entry.name, entry.isUTF8))
                }
            } catch {
                failed("\(directory) cannot be read: \(error.reason)")
            }
        }
        enter(path, "")
        while let (path, name, isUTF8) = waiting.popLast() {
            guard isUTF8 else {
                failed("\(path) is left out: its name is not UTF-8, as names of objects are")
                continue
            }
            switch Self.kind(path) {
            case .success(.directory): enter(path, name + "/")
            case .success(.regular): try file(path, name)
            case .success(.link): failed("\(path) is left out: it is a link to no file")
            case .success: failed("\(path) is left out: it is no file")
            case .failure(.notFound): continue  // It is gone.
            case .failure(let error): failed("\(path) is left out: \(error.reason)")
            }
        }
    }

    /// Of a link to a file: a regular file.
    private static func kind(_ path: String) -> Result<FileStatus.Kind, SystemError> {
        do throws(SystemError) {
            let kind = try FileStatus(ofPath: path, followingLinks: false).kind
            guard kind == .link, (try? FileStatus(ofPath: path).kind) == .regular else { return .success(kind) }
            return .success(.regular)
        } catch {
            return .failure(error)
        }
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
