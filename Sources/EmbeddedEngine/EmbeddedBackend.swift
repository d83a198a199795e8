import Database
import Platform
import LocalFiles
import Roots
import Storage
import Synchronization
import TaskStore

/// Keeps objects on this machine's disk: rows in a database, the bytes of larger ones in files beside it.
public final class EmbeddedBackend: Backend {
    public let kind = EngineKind.embedded
    public let uploadsAtOnce = 4
    public let smallUploadsAtOnce = 256
    /// Up to here an object's bytes are a row: one commit stores it.
    public let oneRequestLimit: Int64 = 64 << 10
    public let chunkSizes = ChunkSizes(largest: 8 << 20)

    let allowed: FileAccessPolicy
    let objectFiles: ObjectFiles
    package let store: RootDatabase
    let tasks: DatabaseTaskStore
    /// Read, write and sync files. More than uploads at once, so that some may be stuck in a disk that stalls.
    package let files = WorkerThreads("files", limit: 16)
    let hashing = WorkerThreads("md5", limit: 4)
    let background = BackgroundWork()
    let clock: any Clock<Duration>
    let complain: @Sendable (String) -> Void
    /// Copy files as a whole, so they may not keep the ones above from shorter work.
    let downloading = WorkerThreads("downloads", limit: 8)

    /// Its own tasks, among those that a root may know.
    static let place = "embedded"

    public var taskStore: (any TaskRecordStore)? { tasks }

    private let servedAt = Mutex<URLBase?>(nil)

    /// What download URLs begin with, up to the slash before `v0`.
    public typealias URLBase = @Sendable () async throws(StorageError) -> String

    /// Where objects are served, asked for each download URL. Set once, by who wires the listener.
    public var urlBase: URLBase? {
        get { servedAt.withLock { $0 } }
        set { servedAt.withLock { $0 = newValue } }
    }

    /// `complain` is told, in a sentence, what is wrong with the root though it can be used.
    public init(
        _ root: StorageRoot, allowed: FileAccessPolicy = .everywhere, clock: any Clock<Duration> = ContinuousClock(),
        complain: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StorageRoot.OpenError) {
        self.allowed = allowed
        self.clock = clock
        self.complain = complain
        let (objectFiles, taskFiles) = (try ObjectFiles(in: root), TaskFiles(in: root))
        self.objectFiles = objectFiles
        store = RootDatabase(root) { () throws(StorageError) in
            try Self.openAndSweep(objectFiles, taskFiles, complain: complain)
        }
        tasks = DatabaseTaskStore(taskFiles, store, place: Self.place, threads: files)
    }

    static func openAndSweep(
        _ objectFiles: ObjectFiles, _ taskFiles: TaskFiles, complain: @escaping @Sendable (String) -> Void
    ) throws(StorageError) -> Database {
        let root = objectFiles.root
        return try root.openDatabase { database in
            if try database.isEmpty {
                guard objectFiles.isEmpty else { throw StorageError.lost(root.database, objectFiles.path) }
                // The directory of the files, too.
                do throws(SystemError) { try root.sync() } catch {
                    throw StorageError(
                        error.isFull ? .quotaExceeded : .unknown, StorageRoot.OpenError(root.path, error.reason).message
                    )
                }
            }
            try database.keepReserve()
            try database.migrate([.tasks, ObjectSchema.schema])
            try taskFiles.recover(in: database)
            try Sweep(files: objectFiles, database: database, complain: complain).run()
        }
    }

    /// Returns once everything is open. Throws a sentence that names the file at fault.
    public func open() async throws(StorageError) { try await store.open() }

    public func inspect(file path: String) async throws(StorageError) -> FileIdentity {
        try await files.run { [allowed] in
            Result { () throws(StorageError) in try SourceFile.inspect(path, in: allowed.reading) }
        }.get()
    }

    public func beginUpload(_ upload: Upload) -> any UploadSession { EmbeddedUpload(upload, self) }

    public func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        try await store.read { try $0.metadata(of: reference) }
    }

    public func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        try await store.write {
            try $0.check(conditions, at: reference)
            return try $0.update(reference, change)
        }
    }

    public func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        let garbage = try await store.write(mayUseReserve: true) {
            try $0.check(conditions, at: reference)
            return try $0.delete(reference)
        }
        if let garbage { remove(garbage) }
    }

    public func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        var token: PageToken?
        if let pageToken = query.pageToken { token = try PageToken(pageToken, of: query.reference) }
        return try await store.read { [token] in try $0.list(query, after: token) }
    }

    public func beginDownload(_ download: Download) -> any DownloadSession { EmbeddedDownload(download, self) }

    /// Of uploads, what is not done by then is done at the next start.
    public func settle() async { await background.allDone() }

    /// Makes the object visible, and lets go of the bytes that it replaces. Nil where `mayCommit` says no at the last
    /// moment; it is asked within the transaction.
    func commit(
        _ object: NewObject, if mayCommit: @escaping @Sendable (Database) throws -> Bool,
        then finish: @escaping @Sendable (Result<ObjectMetadata?, StorageError>) -> Void
    ) {
        store.write {
            try mayCommit($0) ? try $0.put(object) : nil
        } then: { [self] outcome in
            if case .success(_?) = outcome, let task = object.record?.id { tasks.ended(task) }
            finish(outcome.map { $0?.stored })
            if case .success(let put?) = outcome, let garbage = put.garbage { remove(garbage) }
        }
    }

    /// The number of a new file for an upload: its row is on the disk before the file is made. Gives back the files that
    /// were made for the same task before. `taken` is a number at which somebody else has put a file, which stays. Nil
    /// where no file is wanted any more.
    func numberFile(
        for task: String?, insteadOf taken: Int64? = nil, if isWanted: @escaping @Sendable () -> Bool = { true },
        then finish: @escaping @Sendable (Result<Int64?, StorageError>) -> Void
    ) {
        store.write { database -> (file: Int64, old: [Int64])? in
            if let taken { try database.run("DELETE FROM files WHERE id = :id", ["id": .integer(taken)]) }
            guard isWanted() else { return nil }
            let old = try task.map(database.files) ?? []
            try database.run(
                "INSERT INTO files (state, task) VALUES (:state, :task)",
                ["state": ObjectSchema.FileState.beingWritten.value, "task": .text(task)])
            return (database.lastInsertedRowID, old)
        } then: { [self] outcome in
            for file in (try? outcome.get())?.old ?? [] { remove(file) }
            finish(outcome.map { $0?.file })
        }
    }

    /// Gives back what was made for a task that has not become an object.
    @Loop func removeFiles(for task: String) {
        background.run { [self] in
            do {
                for file in try await store.write({ try $0.files(for: task) }) { remove(file) }
            } catch {
                // They are swept at the next start.
            }
        }
    }

    /// Gives back the space of a file that no object needs. What cannot be done now is done at the next start.
    func remove(_ file: Int64) {
        files.submit { [objectFiles, store] in
            guard !objectFiles.remove([file]).isEmpty else { return }
            // Where that fails the row stays, and with it the reminder.
            store.write(mayUseReserve: true) {
                try $0.run("DELETE FROM files WHERE id = :id", ["id": .integer(file)])
            } then: { _ in
            }
        }
    }
}

extension StorageError {
    fileprivate static func lost(_ database: String, _ objects: String) -> StorageError {
        StorageError(
            .unknown,
            """
            The database \(database) is empty, but there are bytes of objects in \(objects): \
            put the database back, or move them away.
            """)
    }
}
