import Platform
import Glibc
import Roots
import Storage
import Synchronization

/// The files that the bytes of uploads from messages are in, by task: the directory `spool` of a root, made when it is
/// needed first.
final class Spool: Sendable {
    private static let name = "spool"

    private let root: Root
    private let isOnDisk = Mutex(false)

    init(in root: Root) { self.root = root }

    func path(of task: String) -> String { "\(root.path)/\(Self.name)/\(task)" }

    func write(_ bytes: [UInt8], for task: String) throws(SystemError) {
        let spool = try open()
        let file = try OpenFile(task, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: spool)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in
                try file.write(bytes, at: 0)
                try file.sync()
                guard fsync(spool.raw) == 0 else { throw .last }
            }
        }
        if case .failure = outcome { remove(task) }
        try outcome.get()
    }

    /// What is here already was taken before.
    func take(_ task: String, from path: String) throws(StorageError) {
        try storing(self.path(of: task)) { () throws(SystemError) in
            let spool = try open()
            guard renameat(AT_FDCWD, path, spool.raw, task) == 0 || errno == ENOENT, fsync(spool.raw) == 0 else {
                throw .last
            }
        }
    }

    /// Does nothing where the root does not belong to this process any more.
    func remove(_ task: String) {
        guard (try? root.check()) != nil else { return }
        unlinkat(root.directory.raw, "\(Self.name)/\(task)", 0)
    }

    func forEachTask(_ body: (String) throws -> Void) rethrows {
        try root.scan(Self.name) { name in
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
