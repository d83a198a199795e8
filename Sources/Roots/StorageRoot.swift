import Database
import Platform
import Storage
import Synchronization

/// The directory that a process keeps objects, tasks or both in, held by one process at a time.
///
///     lock              who holds it
///     storage.sqlite3   buckets, objects, metadata, download tokens, the bytes of small objects; beside it its log, and
///                       a reserve of room, without which it could not be opened on a full disk
///     objects/ID        the bytes of larger objects, one file each
///     spool/TASK        the bytes of uploads that came in a message, until those have ended
///     tombstones        how tasks ended that the database had no room for
///
/// What is in it is private from birth, and reached through its descriptor: no link in it is ever followed.
public final class StorageRoot: Sendable {
    public let path: String
    package let directory: OpenFile
    private let lock: OpenFile
    private let lockInode: UInt64
    private let databaseInode: UInt64
    private let lossReport = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// Why a root cannot be used, in a sentence that names it.
    public struct OpenError: Error {
        public var message: String
        public var isInUse = false
    }

    /// Waits at most so many seconds for another process that has the root, blocking the thread.
    public init(_ path: String, lockTimeout: Int = 0) throws(OpenError) {
        self.path = path
        directory = try Self.directory(path)
        do throws(SystemError) {
            lock = try OpenFile("lock", [.readingAndWriting, .create, .noLink], in: directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try Self.take(lock, path, lockTimeout)
        do throws(SystemError) {
            lockInode = try lock.status().inode
            databaseInode = try Self.makeDatabase(in: directory)
        } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// Without links on the way to it, as SQLite follows none.
    package var database: String { (directory.location ?? path) + "/" + Self.database }

    /// `report` is told once, in a sentence, when another process may have taken the root.
    public func whenLost(_ report: @escaping @Sendable (String) -> Void) { lossReport.withLock { $0 = report } }

    /// Throws where the lock or the database is not the one that the next start would find.
    package func check() throws(StorageError) {
        try checkDatabase()
        try checkLock()
    }

    /// Does all of `body` or nothing. Nothing is committed where the root does not belong to this process any more.
    ///
    /// That is checked while the database is locked for writing. Another process that takes the root later begins with
    /// a transaction of its own, which waits for this one, and so sees all that this process will ever commit.
    package func transaction(
        in database: Database, mayUseReserve: Bool = false, _ body: () throws -> Void
    ) throws {
        try database.transaction(mayUseReserve: mayUseReserve) {
            try body()
            try check()
        }
    }

    /// Without its file the lock keeps no other process away.
    private func checkLock() throws(StorageError) {
        let how: String
        do throws(SystemError) {
            if try directory.status(of: "lock").inode == lockInode { return }
            how = "its lock file was replaced"
        } catch  where error == .notFound {
            how = "its lock file is gone: \(error.reason)"
        } catch {
            // Whose the root is cannot be said now. That is a failure, and no loss.
            throw StorageError(.unknown, "The lock file \(path)/lock cannot be inspected: \(error.reason).")
        }
        let message = "The root \(path) does not belong to this process any more: \(how)."
        lossReport.withLock { exchange(&$0, with: nil) }?(message)
        throw StorageError(.unknown, message)
    }

    private func checkDatabase() throws(StorageError) {
        do throws(SystemError) {
            if try directory.status(of: Self.database).inode == databaseInode { return }
        } catch {
            throw StorageError(.unknown, "The database \(path)/\(Self.database) is gone: \(error.reason).")
        }
        throw StorageError(.unknown, "The database \(path)/\(Self.database) was replaced while it was in use.")
    }

    /// The directory of that name, which is made where there is none.
    package func openDirectory(_ name: String) throws(SystemError) -> OpenFile {
        if try directory.makeDirectory(name) { try sync() }
        return try OpenFile(name, [.directory, .noLink], in: directory)
    }

    /// Returns when the names of what is in the root are on the disk.
    package func sync() throws(SystemError) { try directory.syncNames() }
}

// MARK: - Making it

extension StorageRoot {
    private static let database = "storage.sqlite3"
    private static let names =
        ["lock", "objects", "service.log", "spool", "tombstones"]
        + ["", "-wal", "-shm", "-journal", "-reserve"].map { database + $0 }

    /// Makes the directory of a root, and checks that it is this user's alone to change, with what it holds.
    public static func makeDirectory(_ path: String) throws(OpenError) { _ = try directory(path) }

    private static func directory(_ path: String) throws(OpenError) -> OpenFile {
        let directory: OpenFile
        do throws(SystemError) {
            try makeDirectories(path)
            directory = try OpenFile(path, .directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try check(directory, path)
        return directory
    }

    /// Others could change what belongs to them, and a link could lead anywhere.
    private static func check(_ directory: OpenFile, _ path: String) throws(OpenError) {
        for name in ["."] + names {
            let status: FileStatus
            do throws(SystemError) {
                status = try directory.status(of: name)
            } catch {
                guard error == .notFound else { throw OpenError(path, error.reason) }
                continue
            }
            let what = name == "." ? "it" : name
            if status.kind == .link { throw OpenError(path, "\(what) is a symbolic link") }
            guard [0, CurrentProcess.user].contains(status.owner) else {
                throw OpenError(path, "\(what) belongs to another user (\(status.owner))")
            }
        }
    }

    private static func take(_ lock: OpenFile, _ path: String, _ lockTimeout: Int) throws(OpenError) {
        let deadline = ContinuousClock.now + .seconds(lockTimeout)
        while !lock.lock() {
            guard ContinuousClock.now < deadline else {
                throw OpenError(
                    message: "The root \(path) is in use by \(holder(lock)); one process may have it at a time. "
                        + "To share it, start that process with --socket PATH, or use `storage-rpc connect` for all.",
                    isInUse: true)
            }
            blockThread(milliseconds: 10)
        }
        // Only for people to read: what counts is the lock, which no crash leaves behind. Cut off afterwards, as on a
        // full disk there is no room but what the file has.
        let holder = "\(CurrentProcess.id)\n"
        try? lock.write(Array(holder.utf8), at: 0)
        try? lock.truncate(to: Int64(holder.utf8.count))
    }

    private static func holder(_ lock: OpenFile) -> String {
        let text = (try? lock.readAll(atMost: 32)) ?? []
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? "another process" : "process \(String(decoding: digits, as: UTF8.self))"
    }

    /// Empty: SQLite gives the files beside it the same permissions.
    private static func makeDatabase(in directory: OpenFile) throws(SystemError) -> UInt64 {
        do throws(SystemError) {
            let made = try OpenFile(database, [.readingAndWriting, .new, .noLink], in: directory).status().inode
            try directory.syncNames()
            return made
        } catch  where error == .exists {
            return try directory.status(of: database).inode
        }
    }

    /// Readable by its owner alone and on the disk, as far as it has to be made.
    private static func makeDirectories(_ path: String) throws(SystemError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        do throws(SystemError) {
            guard try OpenFile.makeDirectory(path) else { return }
        } catch {
            guard error == .notFound, parent != "/", parent != "." else { throw error }
            try makeDirectories(parent)
            _ = try OpenFile.makeDirectory(path)
        }
        try OpenFile.syncDirectory(parent)
    }
}

extension StorageRoot.OpenError {
    package init(_ path: String, _ why: String) { message = "The root \(path) cannot be used: \(why)." }
}
