import Platform
import Storage

extension Transfers {
    /// Creates a task, which waits for `start`. Waits while too much memory is in use. Throws if the task cannot be
    /// recorded, because its client would not find it after a restart.
    public func upload(_ request: UploadRequest) async throws -> UploadTask {
        try await admitted(request) { try await create($0) }
    }

    /// Uploads for a client that learns of the task when the task has ended. Returns the last snapshot, or throws the
    /// error. Waits while too much memory is in use.
    ///
    /// - Parameter begun: receives the id of the task when the task begins.
    public func uploadAwaited(
        _ request: UploadRequest, begun: @Loop (_ task: String) -> Void
    ) async throws -> TaskSnapshot {
        // The bytes of a small file are in memory until its upload has ended.
        let isRead = request.isFile && memory.takeFile()
        defer { if isRead { memory.giveBackFile() } }
        let upload: AwaitedUpload
        if case .data(let bytes) = request.source, readiness.isReady, !memory.isFull {
            // As below, without calls that could wait: these would cost more than the upload's own.
            try request.check()
            upload = try awaited(request, FoundSource(source: .data(bytes)))
        } else {
            upload = try await admitted(request) { try await awaited($0, source(of: $0, isRead: isRead)) }
        }
        switch upload {
        case .unseen(let upload):
            begun(upload.id)
            return try await upload.end()
        case .planned(let new):
            let task = try await awaitedTask(new)
            begun(task.id)
            task.start()
            return try await task.result()
        }
    }

    /// An upload whose client waits for its end.
    private enum AwaitedUpload {
        case unseen(UnseenUpload)
        /// The upload needs a task.
        case planned(NewUpload)
    }

    /// Checks a request, and calls `make` when the tasks of earlier processes are restored and memory is free. The
    /// bytes of the request count as in use until `make` returns.
    func admitted<Made>(
        _ request: UploadRequest, _ make: @Loop (UploadRequest) async throws -> Made
    ) async throws -> Made {
        try request.check()
        try await ready()
        guard case .data(let bytes) = request.source else { return try await make(request) }
        try await memory.free()
        return try await memory.holding(bytes.count) { try await make(request) }
    }

    /// Inspects the source of a request. Throws `CancellationError`.
    ///
    /// - Parameter isRead: also reads a small file.
    func source(of request: UploadRequest, isRead: Bool = false) async throws -> FoundSource {
        switch request.source {
        case .data(let bytes): return FoundSource(source: .data(bytes))
        case .stream(let size), .incoming(let size): return FoundSource(source: .incoming(IncomingBytes(size: size)))
        case .object(let copy): return FoundSource(source: .object(CopySource(copy)))
        case .file(let path):
            let file: FoundSource
            do throws(StorageError) {
                let (identity, bytes): (FileIdentity, [UInt8]?)
                let files = engine.localFiles(of: request.client?.confinement)
                if isRead, let most = engine.earlyReadLimit {
                    (identity, bytes) = try await files.read(path, upTo: most)
                } else {
                    (identity, bytes) = (try await files.inspect(path, below: request.folder?.tree), nil)
                }
                file = FoundSource(source: .file(path: path, identity), bytes: bytes)
            } catch {
                file = FoundSource(source: .file(path: path, .unknown), failure: error)
            }
            try Task.checkCancellation()
            return file
        }
    }

    private func create(_ request: UploadRequest) async throws -> UploadTask {
        let found = try await source(of: request)
        // The uploads of a folder do not count against `--max-tasks`.
        guard request.folder == nil else { return try await make(request, found) }
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        return try await make(request, found)
    }

    /// Makes the task, without regard to `--max-tasks`.
    func make(_ request: UploadRequest, _ found: FoundSource) async throws(StorageError) -> UploadTask {
        try await make(plan(request, found), isAwaited: request.isAwaited)
    }

    /// Begins an upload that needs no task.
    private func awaited(_ request: UploadRequest, _ found: FoundSource) throws(StorageError) -> AwaitedUpload {
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        let new = try plan(request, found)
        guard mayBeUnseen(new) else { return .planned(new) }
        let session = session(of: found.bytes == nil ? new.upload : new.upload.with(bytesOfFile: found.bytes))
        return .unseen(UnseenUpload(new, session, self))
    }

    private func awaitedTask(_ new: NewUpload) async throws -> UploadTask {
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        return try await memory.holding(new.heldBytes) { try await make(new, isAwaited: true) }
    }

    private func plan(_ request: UploadRequest, _ found: FoundSource) throws(StorageError) -> NewUpload {
        let client = orDefault(request.client), folder = request.folder
        let metadata = try request.metadata
        let known = found.failure == nil ? found.source.size : nil
        let strategy = strategy(of: found.source, size: known, chunkSize: client.settings.uploadChunkSizeBytes)
        let task = request.recorded(found.source, for: client)
        let number = tasks.uploads(of: folder?.id).newNumber()
        var record = TaskRecord(
            id: tasks.newID(number), kind: .upload, number: number,
            began: context.time.now(), reference: request.reference, progress: strategy.progress, metadata: metadata,
            md5Hash: request.change.md5Hash, stage: .unfinished(task, nil))
        (record.copy, record.folder, record.key) = (found.source.copy?.request, folder?.id, request.key)
        var upload = Upload(record, from: found.source, for: client.caller(\.maxUploadRetryTime))
        (upload.began, upload.isListedAsNew) = (folder?.began, request.isListedAsNew)
        // The plan of a folder records its small files.
        upload.isRecorded = context.ends != nil && (folder == nil || !strategy.isWhole)
        let machine = UploadMachine(strategy, retryTime: .seconds(task.retryTime), seed: context.random.next())
        return NewUpload(upload, strategy, machine, failing: found.failure)
    }

    private func make(_ new: NewUpload, isAwaited: Bool) async throws(StorageError) -> UploadTask {
        var upload = new.upload
        let recordWriter = recordWriter(of: new)
        // If the bytes are in memory or the client waits, an upload of one request is recorded only when it has to
        // wait.
        let isRecorded = !new.strategy.isWhole || !isAwaited && upload.source.bytes == nil
        if let recordWriter, new.error == nil, isRecorded { try await keep(&upload, recordWriter) }
        let session: any UploadSession =
            if let error = new.error { FailingSession(error: error) } else { session(of: upload) }
        let held = heldBytes(of: upload)
        memory.take(held?.count ?? 0)
        let task = make(
            new.record, new.machine, .open(session, held), limiter(of: upload, new.strategy), recordWriter,
            in: tasks.uploads(of: new.record.folder))
        task.incoming?.task = task
        if isAwaited, new.record.folder == nil { task.willRetry = upload.caller.willRetry }
        addStream(to: task, of: upload)
        return task
    }

    /// Nil for an upload that is not recorded.
    func recordWriter(of new: NewUpload) -> TaskRecordWriter? {
        guard let ends = context.ends, new.upload.isRecorded else { return nil }
        return TaskRecordWriter(ends, new.record, bytes: new.upload.source.bytes)
    }

    /// Whether the upload may run without a task. Such an upload takes one request and begins at once, and the engine
    /// records its success together with the object.
    private func mayBeUnseen(_ new: NewUpload) -> Bool {
        new.error == nil && new.strategy.isWhole && context.ends?.persistence.isEngines != false
            && tasks.limits.small.enter()
    }

    private func session(of upload: Upload) -> any UploadSession {
        let session = backend.beginUpload(upload)
        guard case .incoming(let bytes) = upload.source else { return session }
        return incoming(upload, session, bytes)
    }

    private func addStream(to task: UploadTask, of upload: Upload) {
        guard task.origin == .stream, case .incoming(let bytes) = upload.source else { return }
        task.stream = StreamUpload(
            of: task, announcing: bytes.size, granularity: granularity(of: upload),
            chunkSize: upload.record.request?.chunkSize,
            from: upload.isRestored ? upload.record.progress.completedUnitCount : nil, memory.streams)
    }

    /// All pieces of a stream but the last end at multiples of this number.
    private func granularity(of upload: Upload) -> Int64 {
        if let parts = engine.parts {
            return parts.size(of: upload.source.size, wanted: upload.record.request?.chunkSize)
        }
        return engine.takesAnyPiece ? 1 : ChunkSizes.granularity
    }

    /// Records the task, after it has spooled bytes in memory.
    private func keep(_ upload: inout Upload, _ recordWriter: TaskRecordWriter) async throws(StorageError) {
        do throws(StorageError) { try await recordWriter.begin() } catch { throw error.orAbout(upload.reference) }
        upload.record = recordWriter.record
        if let (path, identity) = recordWriter.source { upload.source = .file(path: path, identity) }
    }

    func heldBytes(of upload: Upload) -> HeldBytes<UploadStrategy>? {
        guard let count = upload.source.bytes?.count else { return nil }
        var later = upload
        later.source = .file(path: "", .unknown)
        later.record.request?.isSpooled = true
        later.isRestored = true
        return HeldBytes(count: count, memory: memory) { [backend, later] path, identity in
            var upload = later
            upload.source = .file(path: path, identity)
            return backend.beginUpload(upload)
        }
    }

    /// - Parameter size: nil if unknown, or if the file cannot be read.
    private func strategy(of source: UploadSource, size: Int64?, chunkSize: Int64?) -> UploadStrategy {
        let isOneRequest =
            switch source {
            case .data, .file: size ?? 0 <= min(engine.oneRequestLimit, chunkSize ?? engine.oneRequestLimit)
            case .incoming: false
            case .object: engine.copiesAtOnce
            }
        return UploadStrategy(
            size: size, oneRequest: isOneRequest,
            chunks: chunkSize.map(ChunkSizes.fixed) ?? engine.chunkSizes)
    }

    private func limiter(of upload: Upload, _ strategy: UploadStrategy) -> ConcurrencyLimiter {
        let limits = tasks.limits
        return upload.source.isIncoming ? limits.fromClients : strategy.isWhole ? limits.small : limits.large
    }

    /// Makes a paused task from the record of an earlier process, or of a failed run. Nil if the record does not
    /// describe the file.
    func restore(_ record: TaskRecord) -> UploadTask? {
        guard let request = record.request, let source = record.source else { return nil }
        var upload = Upload(record, from: source, for: caller(request))
        (upload.isRecorded, upload.isRestored) = (context.ends != nil, true)
        upload.began = record.folder.flatMap { folders.tasks[$0] }?.began
        // The record of an open session has the size of the object that is copied.
        let known = source.copy == nil || record.bookmark == nil ? source.size : record.progress.total
        let strategy = strategy(of: source, size: known, chunkSize: request.chunkSize)
            .restored(acknowledged: record.progress.completedUnitCount, isOpen: record.bookmark != nil)
        let machine = UploadMachine(
            restored: strategy, retryTime: .seconds(request.retryTime), seed: context.random.next())
        let sessionState = SessionState<UploadStrategy>.deferred { [self] tokens in
            // This service sends no request to the server of the session.
            if let endpoint = record.endpoint { return FailingSession(error: .belongs(record.id, to: endpoint)) }
            upload.caller.tokens = tokens
            return session(of: upload)
        }
        let recordWriter = context.ends.map { TaskRecordWriter($0, record, isKept: true) }
        let task = make(
            record, machine, sessionState, limiter(of: upload, strategy), recordWriter,
            in: tasks.uploads(of: record.folder))
        // The client of an upload in one request may have disconnected, so the upload must expire.
        if request.origin == .gateway, source.isIncoming, task.endpoint == nil { tasks.sessions.add(task) }
        addStream(to: task, of: upload)
        return task
    }
}

/// A checked upload, before its task is made.
final class NewUpload: Sendable {
    let upload: Upload
    let strategy: UploadStrategy
    let machine: UploadMachine
    /// Why the upload fails: its file cannot be read.
    let error: StorageError?

    init(_ upload: Upload, _ strategy: UploadStrategy, _ machine: UploadMachine, failing error: StorageError?) {
        (self.upload, self.strategy, self.machine, self.error) = (upload, strategy, machine, error)
    }

    var record: TaskRecord { upload.record }

    /// The number of bytes that the upload keeps in memory.
    var heldBytes: Int { upload.source.bytes?.count ?? 0 }
}

extension UploadRequest {
    /// The part of the request that a restart needs.
    @Loop fileprivate func recorded(_ source: UploadSource, for client: TransferClient) -> TaskRequest {
        let settings = client.settings
        var task = TaskRequest(
            file: "", retryTime: settings.maxUploadRetryTime, chunkSize: settings.uploadChunkSizeBytes,
            userProject: settings.userProject, preconditions: conditions.isEmpty ? nil : conditions,
            hasOwnTokens: client.tokens?.isPersonal ?? false)
        task.origin = isStream ? .stream : client.origin
        (task.crc32c, task.confinement) = (change.crc32c, client.confinement)
        switch source {
        case .data, .object: break
        case .file(let path, let identity): (task.file, task.identity) = (path, identity)
        case .incoming(let bytes): task.size = bytes.size
        }
        return task
    }
}

extension UploadSource {
    fileprivate var bytes: [UInt8]? { if case .data(let bytes) = self { bytes } else { nil } }
    fileprivate var isIncoming: Bool { if case .incoming = self { true } else { false } }
}

extension TaskRecord {
    /// The source of an upload; nil if the record does not describe the file.
    fileprivate var source: UploadSource? {
        if let copy { return .object(CopySource(copy)) }
        guard let request else { return nil }
        if let identity = request.identity { return .file(path: request.file, identity) }
        return request.origin == nil ? nil : .incoming(IncomingBytes(size: request.size))
    }
}

extension FileIdentity {
    /// The identity of a file that could not be inspected.
    fileprivate static let unknown = FileIdentity(
        size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0, inode: 0, ends: 0)
}
