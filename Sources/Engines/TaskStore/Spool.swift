import Platform
import Roots
import Storage
import Synchronization

/// The bytes of uploads from messages, one file for each task, in the directory `spool` of a root. The directory is
/// created on its first use.
final class Spool: Sendable {
    private static let name = "spool"

    private let root: StorageRoot
    private let isOnDisk = Mutex(false)

    init(in root: StorageRoot) { self.root = root }

    func path(of task: String) -> String { "\(root.path)/\(Self.name)/\(task)" }

    func write(_ bytes: [UInt8], for task: String) throws(SystemError) {
        let spool = try open()
        let file = try OpenFile(task, [.writing, .new, .noLink], in: spool)
        do throws(SystemError) {
            try file.write(bytes, at: 0)
            try file.sync()
            try spool.syncNames()
        } catch {
            remove(task)
            throw error
        }
    }

    /// Moves a file into the spool. A missing source counts as moved before.
    func take(_ task: String, from path: String) throws(StorageError) {
        try storing(self.path(of: task)) { () throws(SystemError) in
            let spool = try open()
            do throws(SystemError) { try spool.takeDurably(path, as: task) } catch  where error == .notFound {
                try spool.syncNames()
            }
        }
    }

    /// Removes the file of a task, if this process still holds the root.
    func remove(_ task: String) {
        guard (try? root.check()) != nil else { return }
        _ = try? root.directory.remove("\(Self.name)/\(task)")
    }

    func forEachTask(_ body: (String) throws -> Void) rethrows {
        try root.directory.scan(Self.name) { name in
            try body(name)
            return true
        }
    }

    private func open() throws(SystemError) -> OpenFile {
        let directory = try root.openDirectory(Self.name)
        try isOnDisk.withLock { isOnDisk throws(SystemError) in
            if !isOnDisk { try root.sync() }
            isOnDisk = true
        }
        return directory
    }
}
