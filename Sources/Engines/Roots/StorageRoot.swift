import Database
import Platform
import Storage
import Synchronization

/// The directory with the objects and tasks of one process at a time.
///
///     lock              who holds it
///     socket            where its clients connect, while a process serves them
///     storage.sqlite3   buckets, objects, metadata, download tokens, the bytes of small objects; beside it its log, and
///                       a reserve of room, without which it could not be opened on a full disk
///     objects/ID        the bytes of larger objects, one file each
///     spool/TASK        the bytes of uploads that came in a message, until those have ended
///     tombstones        how tasks ended that the database had no room for
///     folders/TASK      the plans of tasks over folders, a database each
///     files.sqlite3     the checksums of local files that tasks over folders have read
///
/// Its files are created private, and opened relative to its descriptor without following links.
package final class StorageRoot: Sendable {
    package let path: String
    package let directory: OpenFile
    private let lock: OpenFile
    private let reservation: ReservedDirectory
    private let lockInode: UInt64
    /// Nil until the root has a database. The names of files are durable from then on.
    private let databaseInode: Mutex<UInt64?>
    private let making = Mutex(())
    /// The parents of directories that were made for this root.
    private let madeIn: [String]
    private let lossReport = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// A root that cannot be used, with a sentence that names it.
    package struct OpenError: Error {
        package var message: String
        package var isInUse = false
    }

    /// Blocks at most `lockTimeout` seconds while another process holds the root. After one of them, and every 30 from then
    /// on, it calls `waits` with a sentence.
    package init(
        _ path: String, lockTimeout: Int = 0, waits: (String) -> Void = { _ in }
    ) throws(OpenError) {
        self.path = path
        (directory, madeIn) = try Self.directory(path)
        do throws(SystemError) {
            lock = try OpenFile("lock", [.readingAndWriting, .create, .noLink], in: directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try Self.take(lock, path, lockTimeout, waits)
        do throws(SystemError) {
            reservation = try ReservedDirectory(directory)
            lockInode = try lock.status().inode
            try Self.finishReplacing(directory, path)
            databaseInode = Mutex(try Self.databaseInode(in: directory))
        } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// Lets another one have the root. Nothing of this one may be in use any more.
    package func unlock() { lock.unlock() }

    /// The canonical path, because SQLite follows no links.
    package var database: String { (directory.location ?? path) + "/" + Self.databaseName }

    /// Calls `report` once, when another process may have taken the root.
    package func whenLost(_ report: @escaping @Sendable (String) -> Void) { lossReport.withLock { $0 = report } }

    /// Reports no loss from now on: this process lets go of the root, or removes it.
    package func ignoreLoss() { whenLost { _ in } }

    /// Throws where the lock file or the database was replaced or removed.
    package func check() throws(StorageError) {
        try checkDatabase()
        try checkLock()
    }

    /// Runs `body` in a transaction, and commits it only while this process still holds the root.
    ///
    /// The check runs with the write lock held. Another process that takes the root starts with a transaction of its
    /// own, which waits for this one, so it sees everything that this process commits.
    package func transaction(in database: Database, mayUseReserve: Bool = false, _ body: () throws -> Void) throws {
        try database.transaction(mayUseReserve: mayUseReserve) {
            try body()
            try check()
        }
    }

    /// The lock file is that of this process.
    package var isLocked: Bool { (try? directory.status(of: "lock").inode) == lockInode }

    /// A lock on a removed file excludes no other process.
    private func checkLock() throws(StorageError) {
        let how: String
        do throws(SystemError) {
            if try directory.status(of: "lock").inode == lockInode { return }
            how = "its lock file was replaced"
        } catch  where error == .notFound {
            how = "its lock file is gone: \(error.reason)"
        } catch {
            // The owner of the root is unknown now. That is a failure, but not a loss.
            throw StorageError(.unknown, "The lock file \(path)/lock cannot be inspected: \(error.reason).")
        }
        let message = "The root \(path) does not belong to this process any more: \(how)."
        lossReport.withLock { exchange(&$0, with: nil) }?(message)
        throw StorageError(.unknown, message)
    }

    private func checkDatabase() throws(StorageError) {
        guard let inode = databaseInode.withLock({ $0 }) else { return }
        do throws(SystemError) {
            if try directory.status(of: Self.databaseName).inode == inode { return }
        } catch {
            throw StorageError(.unknown, "The database \(path)/\(Self.databaseName) is gone: \(error.reason).")
        }
        throw StorageError(.unknown, "The database \(path)/\(Self.databaseName) was replaced while it was in use.")
    }

    /// Replaces the files of a root, whose processes have closed it, by those of `new`; those that it has go to `former`.
    /// All three are on one file system. If the process ends meanwhile, whoever opens the root next completes it. Blocks.
    package static func replace(_ path: String, by new: String, former: String) throws(OpenError) {
        do throws(SystemError) {
            try FileSystem.makeDirectories(former)
            let directory = try OpenFile(path, .directory)
            // From here on the root is the new one.
            try directory.take(new, as: next)
            try moveFiles(in: directory, to: former + "/")
            try directory.rename(next, to: taken)
            try finishReplacing(directory, path)
        } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// The new files of a root while the old ones go, and then while they come.
    private static let (next, taken) = ("replacement-next", "replacement")

    /// Completes what an earlier process has begun.
    private static func finishReplacing(_ directory: OpenFile, _ path: String) throws(SystemError) {
        if (try? directory.status(of: next)) != nil {
            try FileSystem.makeDirectories("\(path)/spaces/replaced")
            try moveFiles(in: directory, to: "spaces/replaced/")
            try directory.rename(next, to: taken)
        }
        guard (try? directory.status(of: taken)) != nil else { return }
        try moveFiles(in: directory, from: taken + "/")
        OpenFile.removeDirectory("\(path)/\(taken)")
    }

    /// The lock and the log stay where they are.
    private static func moveFiles(
        in directory: OpenFile, from source: String = "", to target: String = ""
    ) throws(SystemError) {
        for name in names where name != "service.log" && name != "lock" {
            do throws(SystemError) { try directory.rename(source + name, to: target + name) } catch {
                if error != .notFound { throw error }
            }
        }
    }

    /// Whether a process had the root, and has ended since.
    package static func isAbandoned(_ path: String) -> Bool {
        guard let directory = try? OpenFile(path, .directory), (try? check(directory, path)) != nil,
            let lock = try? OpenFile("lock", [.readingAndWriting, .noLink], in: directory)
        else { return false }
        // The lock of a root that is being made is still empty: to take it here would keep its process from having it.
        return (try? lock.readAll(atMost: 1))?.isEmpty == false && lock.lock()
    }

    /// Removes a root that no process uses any more, its lock last: what is left by a process that is killed meanwhile is
    /// still abandoned. Returns false if some of it is left.
    @discardableResult package static func remove(_ path: String) -> Bool {
        for entry in (try? OpenFile.entries(of: path)) ?? [] where entry.name != "lock" {
            FileSystem.remove("\(path)/\(entry.name)")
        }
        return FileSystem.remove(path)
    }

    /// Opens the directory of that name, and creates it if necessary.
    package func openDirectory(_ name: String) throws(SystemError) -> OpenFile {
        if try directory.makeDirectory(name), hasDatabase { try directory.syncNames() }
        return try OpenFile(name, [.directory, .noLink], in: directory)
    }

    /// Syncs the directory, so that the names in it are durable.
    package func sync() throws(SystemError) { try directory.syncNames() }

    package static let databaseName = "storage.sqlite3"
    private static let names =
        ["folders", "lock", "objects", "service.log", "spool", "tombstones"]
        + ["", "-wal", "-shm", "-journal", "-reserve"].map { databaseName + $0 }

    /// The root of a user who names none. Throws where nothing says where it is: it is not to be found in a place that
    /// every user shares.
    package static func defaultPath() throws(OpenError) -> String {
        if let data = CurrentProcess.environment("XDG_DATA_HOME"), data.utf8.first == UInt8(ascii: "/") {
            return data + "/storage-rpc"
        }
        guard let home = CurrentProcess.home else {
            let user = CurrentProcess.user
            throw OpenError(
                message: "HOME is not set, and user \(user) has no home directory; name a root with --root DIR")
        }
        return home + "/.local/share/storage-rpc"
    }

    /// Creates the directory of a root, and checks that no other user can change it or its files.
    package static func makeDirectory(_ path: String) throws(OpenError) {
        let parents = try directory(path).1
        do throws(SystemError) { for parent in parents { try OpenFile.syncDirectory(parent) } } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// The directory, and where its name and those of its parents are not durable yet.
    private static func directory(_ path: String) throws(OpenError) -> (OpenFile, [String]) {
        let (directory, parents): (OpenFile, [String])
        try checkLink(path)
        do throws(SystemError) {
            parents = try FileSystem.makeUnsyncedDirectories(path)
            directory = try OpenFile(path, .directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try check(directory, path)
        return (directory, parents)
    }

    /// A root may be a link, but not one of another user: it could lead to any directory of this one.
    private static func checkLink(_ path: String) throws(OpenError) {
        var link = path
        while link.utf8.count > 1, link.utf8.last == UInt8(ascii: "/") { link.removeLast() }
        guard let status = try? FileStatus(ofPath: link, followingLinks: false), status.kind == .link else { return }
        try checkOwner(status, "it", path)
    }

    /// What a start uses or moves; each directory stands before what is in it.
    private static let checkedNames =
        [".", "spaces", taken, next] + ["", taken + "/", next + "/"].flatMap { place in names.map { place + $0 } }

    /// Whoever may write to a file or a directory of the root can replace what this process has written, and a link could
    /// lead anywhere.
    private static func check(_ directory: OpenFile, _ path: String) throws(OpenError) {
        for name in checkedNames {
            let status: FileStatus
            do throws(SystemError) {
                status = try directory.status(of: name)
            } catch {
                guard error == .notFound else { throw OpenError(path, error.reason) }
                continue
            }
            let what = name == "." ? "it" : name
            if status.kind == .link { throw OpenError(path, "\(what) is a symbolic link") }
            try checkOwner(status, what, path)
            guard status.permissions & 0o022 == 0 else {
                throw OpenError(
                    path, "other users may write to \(what); chmod -R go-w '\(path)', or name another --root")
            }
        }
    }

    private static func checkOwner(_ status: FileStatus, _ what: String, _ path: String) throws(OpenError) {
        guard [0, CurrentProcess.user].contains(status.owner) else {
            throw OpenError(path, "\(what) belongs to another user (\(status.owner)); name another --root")
        }
    }

    private static func take(
        _ lock: OpenFile, _ path: String, _ lockTimeout: Int, _ waits: (String) -> Void
    ) throws(OpenError) {
        var attempts = lockTimeout * 100
        while !lock.lock() {
            guard attempts > 0 else {
                throw OpenError(
                    message: "The root \(path) is in use by \(holder(lock)); one process may have it at a time. "
                        + "To share it, start that process with --socket PATH, or use `storage-rpc connect` for all.",
                    isInUse: true)
            }
            attempts -= 1
            let waited = lockTimeout - attempts / 100
            if attempts % 100 == 0, waited % 30 == 1 {
                let what = "the root \(path), which \(holderSince(lock)) uses"
                waits(waited == 1 ? "waits for \(what)" : "has waited \(waited) s for \(what)")
            }
            blockThread(milliseconds: 10)
        }
        // Only for messages: the lock itself decides, and no crash leaves it behind. Truncated after writing, because a
        // full disk has no other room.
        let holder = "\(CurrentProcess.id)\n"
        try? lock.write(Array(holder.utf8), at: 0)
        try? lock.truncate(to: Int64(holder.utf8.count))
    }

    private static func holder(_ lock: OpenFile) -> String {
        let text = (try? lock.readAll(atMost: 32)) ?? []
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? "another process" : "process \(String(decoding: digits, as: UTF8.self))"
    }

    /// The process that holds a root, or held it last, and since when, for people. Nil where there is no root.
    package static func holder(of path: String) -> String? {
        (try? OpenFile(path, .directory)).flatMap { try? OpenFile("lock", .noLink, in: $0) }.map(holderSince)
    }

    private static func holderSince(_ lock: OpenFile) -> String {
        guard let seconds = try? lock.status().modified.seconds else { return holder(lock) }
        return "\(holder(lock)) (since \(Timestamp(microseconds: 0).advanced(by: .seconds(seconds)).rfc3339))"
    }

    package var hasDatabase: Bool { databaseInode.withLock { $0 } != nil }

    /// Nil where there is none: an empty file is one that an earlier release was about to make.
    private static func databaseInode(in directory: OpenFile) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            let status = try directory.status(of: databaseName)
            return status.size == 0 ? nil : status.inode
        } catch  where error == .notFound {
            return nil
        }
    }

    /// Makes the database unless there is one. `check` throws where there has to be one. Blocks.
    func makeDatabaseIfMissing(_ schemas: [Schema], _ check: () throws -> Void) throws {
        try making.withLock { _ in
            guard !hasDatabase else { return }
            do {
                var inode = try Self.databaseInode(in: directory)
                if inode == nil {
                    try check()
                    inode = try makeDatabase(schemas)
                }
                databaseInode.withLock { $0 = inode }
            } catch let error as SystemError {
                throw StorageError(error.isFull ? .quotaExceeded : .unknown, OpenError(path, error.reason).message)
            }
        }
    }

    /// Makes the database, and makes it durable with all names before it: nothing is synced while it grows under another
    /// name, and a process that ends meanwhile leaves none.
    private func makeDatabase(_ schemas: [Schema]) throws -> UInt64 {
        let new = Self.databaseName + "-new"
        for name in [new, Self.databaseName] {
            for suffix in ["-wal", "-shm", "-journal"] { try directory.remove(name + suffix) }
        }
        try directory.remove(new)
        // SQLite gives its log the same permissions.
        let file = try OpenFile(new, [.readingAndWriting, .new, .noLink], in: directory)
        let made = try Database(
            path: (directory.location ?? path) + "/" + new, applicationID: Self.applicationID, commits: .none)
        try made.migrate(schemas)
        // The last change of the file itself, so that who opens it need not make it.
        try made.execute("PRAGMA journal_mode = WAL")
        try made.close()
        for suffix in ["-wal", "-shm"] { try directory.remove(new + suffix) }
        try file.sync()
        for parent in madeIn { try OpenFile.syncDirectory(parent) }
        try directory.rename(new, to: Self.databaseName)
        try directory.syncNames()
        return try file.status().inode
    }
}

extension StorageRoot.OpenError {
    package init(_ path: String, _ why: String) { message = "The root \(path) cannot be used: \(why)." }
}

/// Turns errors of writing to a file of the root into errors of the upload.
package func storing<Result>(_ path: String, _ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch  where error.isFull {
        throw StorageError(.quotaExceeded, "There is no room left to store the upload: \(path): \(error.reason).")
    } catch {
        throw StorageError(.unknown, "The upload cannot be stored: \(path): \(error.reason).")
    }
}
