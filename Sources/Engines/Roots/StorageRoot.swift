import Database
import Platform
import Storage
import Synchronization

/// The directory with the objects and tasks of one process at a time.
///
///     lock              the process that holds the root
///     socket            where clients connect while a process serves them
///     storage.sqlite3   buckets, objects, metadata, download tokens, the bytes of small objects; beside it its log, and
///                       a reserve of room, without which it could not be opened on a full disk
///     objects/ID        the bytes of larger objects, one file each
///     spool/TASK        the bytes of uploads that came in a message, until those have ended
///     tombstones        the outcomes of tasks for which the database had no room
///     folders/TASK      the plans of tasks over folders, one database each
///     files.sqlite3     the checksums of local files that tasks over folders have read
///
/// The files of a root are created private, and opened relative to its descriptor without following links.
package final class StorageRoot: Sendable {
    package let path: String
    package let directory: OpenFile
    private let lock: OpenFile
    private let reservation: ReservedDirectory
    private let lockInode: UInt64
    /// Nil until the root has a database. From then on the names of files are durable.
    private let databaseInode: Mutex<UInt64?>
    private let making = Mutex(())
    private let lossReport = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// A root that cannot be used, with a sentence that names it.
    package struct OpenError: Error {
        package var message: String
        package var isInUse = false
    }

    /// Throws an error with `isInUse` while another process holds the root.
    package init(_ path: String) throws(OpenError) {
        self.path = path
        directory = try Self.directory(path)
        do throws(SystemError) {
            lock = try OpenFile("lock", [.readingAndWriting, .create, .noLink], in: directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try Self.take(lock, path)
        do throws(SystemError) {
            reservation = try ReservedDirectory(directory)
            lockInode = try lock.status().inode
            try Self.finishReplacing(directory, path)
            databaseInode = Mutex(try Self.databaseInode(in: directory))
        } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// Releases the root for another process. No part of it may be in use any more.
    package func unlock() { lock.unlock() }

    /// The canonical path, because SQLite follows no links.
    package var database: String { (directory.location ?? path) + "/" + Self.databaseName }

    /// Calls `report` once, when another process may have taken the root.
    package func whenLost(_ report: @escaping @Sendable (String) -> Void) { lossReport.withLock { $0 = report } }

    /// Disables the report of a loss: this process gives up the root, or removes it.
    package func ignoreLoss() { whenLost { _ in } }

    /// Throws if the lock file or the database was replaced or removed.
    package func check() throws(StorageError) {
        try checkDatabase()
        try checkLock()
    }

    /// Runs `body` in a transaction, and commits it only while this process still holds the root.
    ///
    /// The check runs under the write lock. Another process that takes the root starts with a transaction of its own,
    /// which waits for this one, so it sees everything that this process commits.
    package func transaction(in database: Database, mayUseReserve: Bool = false, _ body: () throws -> Void) throws {
        try database.transaction(mayUseReserve: mayUseReserve) {
            try body()
            try check()
        }
    }

    /// The lock file is the one that this process has locked.
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
            // The owner of the root is unknown. That is a failure, but not a loss of the root.
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

    /// Replaces the files of a root, which its processes have closed, by those of `new`; the old ones are moved to
    /// `former`. All three must be on one file system. If the process ends meanwhile, the next start completes the
    /// replacement. Blocks.
    package static func replace(_ path: String, by new: String, former: String) throws(OpenError) {
        do throws(SystemError) {
            try FileSystem.makeDirectories(former)
            let directory = try OpenFile(path, .directory)
            // From here on the replacement is completed even after a crash.
            try directory.take(new, as: next)
            try moveFiles(in: directory, to: former + "/")
            try directory.rename(next, to: taken)
            try finishReplacing(directory, path)
        } catch {
            throw OpenError(path, error.reason)
        }
    }

    /// The directory of the new files while the old ones are moved away, and then while the new ones are moved in.
    private static let (next, taken) = ("replacement-next", "replacement")

    /// Completes a replacement that an earlier process has begun.
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

    /// Moves all files except the lock and the log.
    private static func moveFiles(
        in directory: OpenFile, from source: String = "", to target: String = ""
    ) throws(SystemError) {
        for name in names where name != "service.log" && name != "lock" {
            do throws(SystemError) { try directory.rename(source + name, to: target + name) } catch {
                if error != .notFound { throw error }
            }
        }
    }

    /// Whether the process that held the root has ended.
    package static func isAbandoned(_ path: String) -> Bool {
        guard let directory = try? OpenFile(path, .directory), (try? check(directory, path)) != nil,
            let lock = try? OpenFile("lock", [.readingAndWriting, .noLink], in: directory)
        else { return false }
        // The lock of a root that is being created is still empty. Taking it here would keep its process from getting
        // it.
        return (try? lock.readAll(atMost: 1))?.isEmpty == false && lock.lock()
    }

    /// Removes a root that no process uses, its lock last: if the process is killed meanwhile, the remains still count
    /// as abandoned. Returns false if something is left.
    @discardableResult package static func remove(_ path: String) -> Bool {
        for entry in (try? OpenFile.entries(of: path)) ?? [] where entry.name != "lock" {
            FileSystem.remove("\(path)/\(entry.name)")
        }
        return FileSystem.remove(path)
    }

    /// Opens the directory of that name, and creates it if necessary.
    package func openDirectory(_ name: String) throws(SystemError) -> OpenFile {
        if try directory.makeDirectory(name), hasDatabase {
            do throws(SystemError) { try directory.syncNames() } catch {
                // A later sync may leave out the name.
                try? directory.removeDirectory(name)
                throw error
            }
        }
        return try OpenFile(name, [.directory, .noLink], in: directory)
    }

    /// Syncs the directory, so that the names in it are durable.
    package func sync() throws(SystemError) { try directory.syncNames() }

    package static let databaseName = "storage.sqlite3"
    private static let names =
        ["folders", "lock", "objects", "service.log", "spool", "tombstones"]
        + ["", "-wal", "-shm", "-journal", "-reserve"].map { databaseName + $0 }

    /// The root of a user who names none. Throws if the environment determines none: it must not be in a place that all
    /// users share.
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

    /// Creates the directory of a root, and checks that no other user can change the directory or its files.
    package static func makeDirectory(_ path: String) throws(OpenError) { _ = try directory(path) }

    /// Opens or creates the directory.
    private static func directory(_ path: String) throws(OpenError) -> OpenFile {
        let directory: OpenFile
        try checkLink(path)
        _ = try isVacant(path)
        do throws(SystemError) {
            try FileSystem.makeDirectories(path)
            directory = try OpenFile(path, .directory)
        } catch {
            throw OpenError(path, error.reason)
        }
        try check(directory, path)
        return directory
    }

    /// Whether nothing is stored at the path, because there is no directory, or an empty one. Throws for a directory with
    /// other files and without a root.
    package static func isVacant(_ path: String) throws(OpenError) -> Bool {
        let directory: OpenFile
        do throws(SystemError) { directory = try OpenFile(path, .directory) } catch {
            if error == .notFound { return true }
            throw OpenError(path, error.reason)
        }
        // A process that has taken the root has written its id. One that was killed before has left known names only.
        let lock = try? OpenFile("lock", [.noLink, .noWaiting], in: directory)
        let id = lock.flatMap { try? $0.readAll(atMost: 1) } ?? []
        if id.contains(where: digits.contains) || (try? directory.status(of: databaseName)) != nil { return false }
        let entries: [OpenFile.Entry]
        do throws(SystemError) { entries = try OpenFile.entries(of: path) } catch {
            throw OpenError(path, error.reason)
        }
        guard entries.allSatisfy({ isOwn($0.name) }) else {
            throw OpenError(path, "it is not empty and holds no storage; choose an empty or new directory")
        }
        return entries.allSatisfy { $0.name == "lost+found" }
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// The name is one of a root, of a directory in it with the tasks of an engine, or of an empty file system.
    private static func isOwn(_ name: String) -> Bool {
        name.hasPrefix(databaseName) || name.hasPrefix("files.sqlite3") || name.hasPrefix("socket")
            || name.utf8.allSatisfy(digits.contains)
            || (names + ["spaces", taken, next, "firebase", "gcs", "s3", "lost+found"]).contains(name)
    }

    /// A root may be a link, but not one of another user, which could lead to any directory of this user.
    private static func checkLink(_ path: String) throws(OpenError) {
        var link = path
        while link.utf8.count > 1, link.utf8.last == UInt8(ascii: "/") { link.removeLast() }
        guard let status = try? FileStatus(ofPath: link, followingLinks: false), status.kind == .link else { return }
        try checkOwner(status, "it", path)
    }

    /// The names that a start uses or moves; each directory precedes its entries.
    private static let checkedNames =
        [".", "spaces", taken, next] + ["", taken + "/", next + "/"].flatMap { place in names.map { place + $0 } }

    /// A user who may write to a file or a directory of the root can replace what this process has written, and a link
    /// could lead anywhere.
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

    private static func take(_ lock: OpenFile, _ path: String) throws(OpenError) {
        guard lock.lock() else {
            // A process that listens there can also be ended by its clients.
            let way =
                FileSystem.exists("\(path)/socket")
                ? "`storage-rpc call service/stop --root '\(path)'` ends it. To share it, use"
                : "To share it, start that process with --socket PATH, or use"
            let holder = Self.holder(lock)
            throw OpenError(
                message: "The root \(path) is in use by \(holder); one process may have it at a time. \(way) "
                    + "`storage-rpc connect` for all.",
                isInUse: true)
        }
        // Only for messages: the lock itself decides, and no crash leaves it locked. Truncated after writing, because a
        // full disk has no other room.
        let holder = "\(CurrentProcess.id)\n\(CurrentProcess.title)\n"
        try? lock.write(Array(holder.utf8), at: 0)
        try? lock.truncate(to: Int64(holder.utf8.count))
    }

    /// A process for messages, with its command: `process 7 (storage-rpc mcp)`.
    private static func holder(_ lock: OpenFile, _ notes: String...) -> String {
        // An earlier release wrote the id alone.
        let lines = String(decoding: (try? lock.readAll(atMost: 128)) ?? [], as: UTF8.self).split(separator: "\n")
        let id = lines.first?.utf8.prefix { digits.contains($0) }.map { Character(Unicode.Scalar($0)) } ?? []
        let notes = lines.dropFirst().prefix(1).map(String.init) + notes
        return (id.isEmpty ? "another process" : "process \(String(id))")
            + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
    }

    /// A description of the process that holds a root, or held it last, and since when. Nil if there is no root.
    package static func holder(of path: String) -> String? {
        (try? OpenFile(path, .directory)).flatMap { try? OpenFile("lock", .noLink, in: $0) }.map(holderSince)
    }

    private static func holderSince(_ lock: OpenFile) -> String {
        guard let seconds = try? lock.status().modified.seconds else { return holder(lock) }
        return holder(lock, "since \(Timestamp(microseconds: 0).advanced(by: .seconds(seconds)).rfc3339)")
    }

    package var hasDatabase: Bool { databaseInode.withLock { $0 } != nil }

    /// Nil if there is no database: an empty file is one that an earlier release was about to create.
    private static func databaseInode(in directory: OpenFile) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            let status = try directory.status(of: databaseName)
            return status.size == 0 ? nil : status.inode
        } catch  where error == .notFound {
            return nil
        }
    }

    /// Creates the database unless it exists. `check` throws if it must exist. Blocks.
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
                throw unusable(error)
            }
        }
    }

    /// The error for a root that cannot be used, which names it.
    func unusable(_ error: SystemError) -> StorageError {
        StorageError(error.isFull ? .quotaExceeded : .unknown, OpenError(path, error.reason).message)
    }

    /// Creates the database, and makes it durable together with all earlier names, and those of the directories above the
    /// root: a root with a database has them all. It grows under another name without syncs, so a process that ends meanwhile
    /// leaves none.
    private func makeDatabase(_ schemas: [Schema]) throws -> UInt64 {
        let new = Self.databaseName + "-new"
        for name in [new, Self.databaseName] {
            for suffix in ["-wal", "-shm", "-journal"] { try directory.remove(name + suffix) }
        }
        try directory.remove(new)
        // SQLite creates its log with the same permissions.
        let file = try OpenFile(new, [.readingAndWriting, .new, .noLink], in: directory)
        let made = try Database(
            path: (directory.location ?? path) + "/" + new, applicationID: Self.applicationID, commits: .none)
        try made.migrate(schemas)
        // The last change of the file itself, so that opening it changes nothing.
        try made.execute("PRAGMA journal_mode = WAL")
        try made.close()
        for suffix in ["-wal", "-shm"] { try directory.remove(new + suffix) }
        try file.sync()
        try FileSystem.syncNames(above: directory)
        try directory.rename(new, to: Self.databaseName)
        do throws(SystemError) { try directory.syncNames() } catch {
            // A later sync may leave out the name, so the next attempt makes another database.
            try? directory.rename(Self.databaseName, to: new)
            throw error
        }
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
