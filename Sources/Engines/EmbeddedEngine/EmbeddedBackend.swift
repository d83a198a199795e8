import Database
import Platform
import LocalFiles
import Roots
import Storage
import Synchronization
import TaskStore

/// Stores objects on this machine's disk: as rows in a database, with the bytes of larger ones in files.
package final class EmbeddedBackend: Backend {
    package let properties: EngineProperties
    private let feed = ChangeFeed()
    /// Objects up to this size are stored as rows, larger ones as files.
    static let largestRow: Int64 = 96 << 10

    let allowed: FileAccessPolicy
    let objectFiles: ObjectFiles
    package let store: RootDatabase
    let tasks: DatabaseTaskStore
    /// Threads that read, write and sync files. They outnumber the parallel uploads, so that some may be blocked by a
    /// stalled disk.
    package let files: WorkerThreads
    /// Threads that read bytes of open objects. They open no file, so they never wait for a descriptor.
    let reading: WorkerThreads
    /// Threads that compare whole objects with their checksums. A second copy of the same object reuses the result.
    let verifying = WorkerThreads("verify", limit: 2)
    let hashing = MD5Threads()
    let blocks = BlockCache()
    package let reserved: ReservedFiles
    let background = BackgroundWork()
    let generations: Generations
    private let recent: RecentAnswers
    private let usedMultiparts = UsedUploads()
    package func multiparts(within bounds: SessionBounds) -> Multiparts { Multiparts(self, usedMultiparts, bounds) }
    let time: TimeSource
    let random: RandomSource
    let complain: @Sendable (String) -> Void
    let checked: CheckedBodies
    let buckets: BucketRule
    /// Threads that copy whole files, and therefore share none with shorter work. Some may be blocked by a stalled
    /// disk.
    let downloading: WorkerThreads

    /// Identifies the engine's own tasks in a root.
    static let place = "embedded"

    /// Writes the outcome of a task in the transaction that stores its object.
    package var taskStore: any TaskRecordStore { tasks }
    /// The plans of tasks over folders.
    package var folders: FolderFiles { tasks.folders }

    /// The struct avoids that a generic lock wraps the closure once more in each access.
    private struct Served { var base: URLBase? }
    private let served = Mutex(Served())

    /// Returns the beginning of download URLs, up to the slash before `v0`.
    package typealias URLBase = @Sendable () async throws(StorageError) -> String

    /// Set once by the program.
    package var urlBase: URLBase? {
        get { served.withLock { $0.base } }
        set { served.withLock { $0.base = newValue } }
    }

    /// `complain` gets a sentence for damage that does not prevent the use of the root.
    ///
    /// - Parameters:
    ///   - buckets: the buckets that exist from the beginning; others must be created. Nil if every name is that of an
    ///     existing bucket.
    ///   - mostThreads: the maximum number of threads of each kind; each may have a few files open.
    package init(
        _ root: StorageRoot, time: TimeSource, random: RandomSource = .secure, allowed: FileAccessPolicy = .everywhere,
        buckets: Set<String>? = nil, mostThreads: Int = .max,
        complain: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StorageRoot.OpenError) {
        (self.allowed, self.time, self.random, self.complain) = (allowed, time, random, complain)
        files = WorkerThreads("files", limit: min(16, mostThreads))
        reading = WorkerThreads("bytes", limit: min(16, mostThreads))
        downloading = WorkerThreads("downloads", limit: min(24, mostThreads))
        properties = Self.properties(LocalDisk(allowed, on: files), feed)
        let (rule, generations) = (BucketRule(named: buckets), Generations())
        (self.buckets, self.generations) = (rule, generations)
        recent = RecentAnswers(time.clock)
        checked = CheckedBodies(complain: complain)
        let (objectFiles, taskFiles) = (try ObjectFiles(in: root), TaskFiles(in: root))
        self.objectFiles = objectFiles
        store = RootDatabase(root) { () throws(StorageError) in
            let database = try Self.openAndSweep(objectFiles, taskFiles, complain: complain)
            try rule.apply(to: database, at: time.now())
            return database
        }
        tasks = DatabaseTaskStore(taskFiles, store, place: Self.place, threads: files) {
            // `tasks.lastGeneration` is read from `counters`, which must be up to date.
            try generations.settle(in: $0)
        }
        reserved = ReservedFiles(objectFiles, store, on: files)
    }

    static func properties(_ files: LocalDisk, _ feed: ChangeFeed) -> EngineProperties {
        var properties = EngineProperties(
            .embedded, uploadsAtOnce: 4, smallUploadsAtOnce: 256, downloadsAtOnce: 16, oneRequestLimit: 1 << 20,
            chunkSizes: ChunkSizes(largest: 8 << 20), files: files)
        (properties.copiesAtOnce, properties.takesAnyPiece) = (true, true)
        (properties.earlyReadLimit, properties.changes) = (largestRow, feed)
        return properties
    }

    static func openAndSweep(
        _ objectFiles: ObjectFiles, _ taskFiles: TaskFiles, complain: @escaping @Sendable (String) -> Void
    ) throws(StorageError) -> Database {
        let root = objectFiles.root
        return try root.openDatabase([.tasks, ObjectSchema.schema, MultipartSchema.schema]) {
            guard objectFiles.isEmpty else { throw StorageError.lost(root.database, objectFiles.path) }
        } recover: { database in
            try taskFiles.recover(in: database)
            try Sweep(files: objectFiles, database: database, complain: complain).run()
        }
    }

    /// Waits until the root is open. Throws an error that names the file that failed.
    package func open() async throws(StorageError) { try await store.open() }

    /// Why the objects cannot be used; nil if they can. The files of an open root may have been removed.
    package func reasonOfFailure() async -> String? {
        do throws(StorageError) { _ = try await buckets(prefix: "", most: 1) } catch { return error.message }
        return nil
    }

    /// Closes the root. Later uses fail, and the files of the root may be moved.
    package func close() async {
        await settle()
        // The closure refers to this engine.
        urlBase = nil
        try? await settleGenerations()
        await tasks.close()
    }

    func settleGenerations() async throws(StorageError) {
        try await store.write(isUrgent: false, mayUseReserve: true, changesObjects: false) { [generations] in
            try generations.settle(in: $0)
        }
    }

    package func beginUpload(_ upload: Upload) -> any UploadSession { EmbeddedUpload(upload, self) }

    package func mayBeDamaged(_ object: FolderObject) -> Bool { checked.mayBeDamaged(object) }

    package func lastGeneration() async throws(StorageError) -> Int64? {
        try await store.read { [generations] database in try generations.last(in: database) }
    }

    package func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        let edition = store.edition
        return try await withCheckedContinuation { waiter in
            store.read { [buckets] in
                try buckets.check(reference, in: $0)
                return try $0.metadata(of: reference)
            } then: { [recent] answer in
                recent.keep(answer, of: reference, in: edition)
                waiter.resume(returning: answer)
            }
        }.get()
    }

    package func knownMetadata(of reference: Reference) -> Result<ObjectMetadata, StorageError>? {
        recent.metadata(of: reference, in: store.edition)
    }

    package func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        try await changing { [time, random, buckets] in
            try buckets.check(reference, in: $0)
            try $0.check(conditions, at: reference)
            let object = try $0.update(reference, change, token: random.uuid(), at: time.now())
            return (object, [ObjectChange(.updated, object)])
        }
    }

    /// Changes objects in a transaction, and publishes the changes in the order of the commits.
    func changing<Answer: Sendable>(
        mayUseReserve: Bool = false, _ change: @escaping @Sendable (Database) throws -> (Answer, [ObjectChange])
    ) async throws(StorageError) -> Answer {
        let answer = await withCheckedContinuation { waiter in
            store.write(mayUseReserve: mayUseReserve, change) { [feed] outcome in
                if case .success((_, let changes)) = outcome { feed.publish(changes) }
                waiter.resume(returning: outcome.map { $0.0 })
            }
        }
        return try answer.get()
    }

    package func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        let garbage = try await changing(mayUseReserve: true) { [buckets] in
            try buckets.check(reference, in: $0)
            try $0.check(conditions, at: reference)
            let (garbage, change) = try $0.delete(reference)
            return (garbage, [change])
        }
        if let garbage { remove(garbage) }
    }

    package func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        var token: PageToken?
        if let pageToken = query.pageToken { token = try PageToken(pageToken, of: query.reference) }
        let edition = store.edition
        let listing = try await store.read { [token, buckets] in
            try buckets.check(query.reference, in: $0)
            return try $0.list(query, after: token)
        }
        recent.keep(listing, of: query, in: edition)
        return listing
    }

    package func knownList(_ query: ListQuery) -> Listing? { recent.list(query, in: store.edition) }

    package func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String] {
        if project != nil {
            throw .invalidArgument("project", "Buckets on this machine have no project; leave it out.")
        }
        return try await buckets(most: most)
    }

    package func beginDownload(_ download: Download) -> any DownloadSession { EmbeddedDownload(download, self) }

    /// Waits for clean-up of uploads. The next start does what is left of it.
    package func settle() async { await background.allDone() }

    /// Stores the new object of a task, within a transaction. Nil if it may not be stored.
    typealias Store = @Sendable (Database, _ token: String, _ now: Timestamp) throws -> StoredObject?

    /// Commits an object and deletes the file that it replaces. With `here` the commit runs on the caller's thread,
    /// which must be allowed to block.
    func commit(
        for task: String?, here: Bool, _ put: @escaping Store,
        then finish: @escaping @Sendable (Result<StoredObject?, StorageError>) -> Void
    ) {
        store.write(here: here) { [time, random] in
            try put($0, random.uuid(), time.now())
        } then: { [self] outcome in
            if case .success(let put?) = outcome {
                feed.publish(put.changes)
                if let task { tasks.ended(task) }
            }
            finish(outcome)
            if case .success(let put?) = outcome, let garbage = put.garbage { remove(garbage) }
        }
    }

    /// Records that a task writes the file, and deletes the task's earlier files.
    func claim(_ file: Int64, for task: String) {
        store.write(isUrgent: false, changesObjects: false) { database in
            let earlier = try database.files(for: task).filter { $0 != file }
            try database.run(
                "UPDATE files SET task = :task WHERE id = :id AND state = :state",
                ["task": .text(task), "id": .integer(file), "state": ObjectSchema.FileState.beingWritten.value])
            return earlier
        } then: { [self] earlier in
            for file in (try? earlier.get()) ?? [] { remove(file) }
        }
    }

    /// Deletes the files of a task that has stored no object.
    @Loop func removeFiles(for task: String) {
        background.run { [self] in
            do {
                for file in try await store.write(changesObjects: false, { try $0.files(for: task) }) { remove(file) }
            } catch {
                // After a failure the next start sweeps the files.
            }
        }
    }

    /// Deletes a file that belongs to no object. The next start retries after a failure.
    func remove(_ file: Int64) {
        files.submit { [objectFiles, store] in
            guard !objectFiles.remove([file]).isEmpty else { return }
            // After a failure the row stays, and the next start retries.
            store.write(mayUseReserve: true, changesObjects: false) {
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
