import Platform
import Storage

extension Transfers {
    /// Creates a task that uploads bytes from memory; it waits for `start`. Waits while too much memory is in use.
    public func upload(
        _ data: [UInt8], to reference: Reference, _ change: MetadataChange,
        if conditions: Preconditions = Preconditions(), for client: TransferClient? = nil, isAwaited: Bool = false
    ) async throws -> UploadTask {
        try change.check()
        let client = orDefault(client)
        try await ready()
        while bytesInMemory > Self.memoryLimit { try await room.wait() }
        return try await settingAside(data.count) {
            try await create(
                .data(data), reference, change, conditions, client, contentTypeFrom: [reference.name],
                isAwaited: isAwaited)
        }
    }

    /// Uploads bytes from memory for a client that learns of the task when it has ended: returns or throws how it ended.
    /// Calls `begun` with the id of the task once there is one. Waits while too much memory is in use.
    public func uploadAwaited(
        _ data: [UInt8], to reference: Reference, _ change: MetadataChange, if conditions: Preconditions,
        for client: TransferClient, begun: @Loop (_ task: String) -> Void
    ) async throws -> TaskSnapshot {
        try change.check()
        try await ready()
        while bytesInMemory > Self.memoryLimit { try await room.wait() }
        let upload = try await settingAside(data.count) {
            try await awaited(.data(data), reference, change, conditions, client, contentTypeFrom: [reference.name])
        }
        begun(upload.id)
        return try await upload.end()
    }

    /// The same of a file. One that cannot be read fails the task.
    public func uploadAwaited(
        file path: String, to reference: Reference, _ change: MetadataChange, if conditions: Preconditions,
        for client: TransferClient, begun: @Loop (_ task: String) -> Void
    ) async throws -> TaskSnapshot {
        try change.check()
        try await ready()
        let isRead = filesInMemory < Self.mostFilesInMemory
        if isRead { filesInMemory += 1 }
        defer { if isRead { filesInMemory -= 1 } }
        let file = try await inspected(path, isRead: isRead)
        let upload = try await awaited(
            file.source, reference, change, conditions, client, contentTypeFrom: [path, reference.name],
            bytesOfFile: file.bytes, failing: file.failure)
        begun(upload.id)
        return try await upload.end()
    }

    /// A file, or the reason why it cannot be read. Throws `CancellationError`.
    ///
    /// - Parameter isRead: wants the bytes of a small file, too.
    private func inspected(
        _ path: String, below tree: String? = nil, isRead: Bool = false
    ) async throws -> (source: UploadSource, bytes: [UInt8]?, failure: StorageError?) {
        let file: (UploadSource, [UInt8]?, StorageError?)
        do throws(StorageError) {
            let (identity, bytes) =
                isRead ? try await backend.read(file: path) : (try await backend.inspect(file: path, below: tree), nil)
            file = (.file(path: path, identity), bytes, nil)
        } catch {
            file = (.file(path: path, .unknown), nil, error)
        }
        try Task.checkCancellation()
        return file
    }

    private func awaited(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String], bytesOfFile: [UInt8]? = nil,
        failing error: StorageError? = nil
    ) async throws(StorageError) -> AwaitedUpload {
        let reference = try reference.checkedAsObject("cannot be written")
        try reservePlace()
        defer { tasksBegun -= 1 }
        let new = try await plan(
            source, reference, change, conditions, client, contentTypeFrom: names, failing: error)
        guard mayBeUnseen(new) else { return .task(await make(new, isAwaited: true)) }
        var upload = new.upload
        upload.bytesOfFile = bytesOfFile
        return .unseen(UnseenUpload(new, session(of: upload, for: client.origin), self))
    }

    /// Creates a task that uploads a file; it waits for `start`. A file that cannot be read fails the task, not this call.
    ///
    /// - Parameter isAwaited: the client learns of the task when it has ended. A task of one request is then recorded
    ///   only when it has to wait.
    public func upload(
        file path: String, to reference: Reference, _ change: MetadataChange,
        if conditions: Preconditions = Preconditions(), for client: TransferClient? = nil, isAwaited: Bool = false,
        folder: FolderTask? = nil, key: String? = nil
    ) async throws -> UploadTask {
        try change.check()
        let client = orDefault(client)
        try await ready()
        let (source, _, failure) = try await inspected(path, below: folder?.request.directory)
        let names = [path, reference.name]
        guard folder == nil else {
            return try await make(
                source, reference, change, conditions, client, contentTypeFrom: names, isAwaited: isAwaited,
                folder: folder, failing: failure)
        }
        return try await create(
            source, reference, change, conditions, client, contentTypeFrom: names, isAwaited: isAwaited, key: key,
            failing: failure)
    }

    /// Creates a task that copies or moves an object; it waits for `start`. Without a change the copy has the metadata of
    /// the object. A missing object fails the task, not this call.
    ///
    /// Throws `invalidArgument` where an object would be moved onto itself.
    public func copy(
        _ source: Reference, to reference: Reference, _ change: MetadataChange? = nil, isMove: Bool = false,
        if conditions: Preconditions = Preconditions(), ifSource sourceConditions: Preconditions = Preconditions(),
        keepsDownloadTokens: Bool = false, for client: TransferClient? = nil, isAwaited: Bool = false
    ) async throws -> UploadTask {
        try change?.check()
        let reference = try reference.checkedAsObject("cannot be written", param: "to")
        let request = CopyRequest(
            of: try source.checkedAsObject("cannot be copied"), if: sourceConditions, isMove: isMove,
            keepsMetadata: change?.isAboutKeptAlone ?? true, keepsDownloadTokens: keepsDownloadTokens)
        if isMove, source == reference {
            throw StorageError.invalidArgument("to", "The object \(source.url) cannot be moved onto itself.")
        }
        let client = orDefault(client)
        try await ready()
        return try await create(
            .object(CopySource(request)), reference, change ?? MetadataChange(), conditions, client,
            contentTypeFrom: [], isAwaited: isAwaited)
    }

    func create(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String], isAwaited: Bool, key: String? = nil,
        failing error: StorageError? = nil
    ) async throws(StorageError) -> UploadTask {
        let reference = try reference.checkedAsObject("cannot be written")
        try reservePlace()
        defer { tasksBegun -= 1 }
        return try await make(
            source, reference, change, conditions, client, contentTypeFrom: names, isAwaited: isAwaited, key: key,
            failing: error)
    }

    /// The same, whatever the number of tasks is.
    func make(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String], isAwaited: Bool, folder: FolderTask? = nil,
        key: String? = nil, failing error: StorageError? = nil
    ) async throws(StorageError) -> UploadTask {
        let new = try await plan(
            source, reference, change, conditions, client, contentTypeFrom: names, folder: folder, key: key,
            failing: error)
        return await make(new, isAwaited: isAwaited)
    }

    private func plan(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String], folder: FolderTask? = nil, key: String? = nil,
        failing error: StorageError? = nil
    ) async throws(StorageError) -> NewUpload {
        let list = folder == nil ? uploads : folderUploads
        let metadata = try source.metadata(change, named: names)
        var upload = Upload(
            reference: reference, source: source, metadata: metadata, expectedMD5: change.md5Hash,
            if: conditions, caller: client.caller(\.maxUploadRetryTime))
        upload.expectedCRC32C = change.crc32c
        let settings = client.settings
        let strategy = strategy(
            of: upload, size: error == nil ? source.size : nil, chunkSize: settings.uploadChunkSizeBytes)
        var request = TaskRequest(
            file: "", retryTime: settings.maxUploadRetryTime, chunkSize: settings.uploadChunkSizeBytes,
            userProject: settings.userProject, preconditions: conditions.isEmpty ? nil : conditions,
            hasOwnTokens: await client.tokens?.isPersonal() ?? false)
        request.origin = client.origin
        switch source {
        case .data, .object: break
        case .file(let path, let identity): (request.file, request.identity) = (path, identity)
        case .incoming(let bytes): (request.size, request.crc32c) = (bytes.announced, change.crc32c)
        }
        var record = TaskRecord(
            id: newTaskID(), kind: .upload, number: list.newNumber(), began: time.now(), reference: reference,
            progress: strategy.progress, metadata: metadata, md5Hash: change.md5Hash, stage: .unfinished(request, nil))
        (record.copy, record.folder, record.key) = (source.copy?.request, folder?.id, key)
        (upload.task, upload.folder, upload.began) = (record.id, folder?.id, folder?.began)
        // Small files of a folder are in its plan.
        if ends != nil, folder == nil || !strategy.isWhole { upload.record = record }
        let machine = UploadMachine(strategy, retryTime: .seconds(request.retryTime), seed: random.next())
        return NewUpload(upload, record, strategy, machine, failing: error)
    }

    private func make(_ new: NewUpload, isAwaited: Bool) async -> UploadTask {
        var (upload, error) = (new.upload, new.error)
        let recordWriter = recordWriter(of: new)
        // An upload of one request is recorded only when it has to wait, if its bytes are in memory or its client waits.
        let isRecorded = !new.strategy.isWhole || !isAwaited && upload.source.bytes == nil
        if let recordWriter, error == nil, isRecorded { error = await keep(&upload, recordWriter) }
        let session: any UploadSession =
            if let error { FailingSession(error: error) } else { session(of: upload, for: new.record.request?.origin) }
        let list = new.record.folder == nil ? uploads : folderUploads
        let task = list.make(
            new.record, new.machine, .open(session), limiter(of: upload, new.strategy), recordWriter,
            holding: heldBytes(of: upload))
        task.incoming?.task = task
        if isAwaited, new.record.folder == nil { task.willRetry = upload.caller.willRetry }
        if let request = new.record.request { addStream(to: task, of: upload, request) }
        return task
    }

    /// Nil where the upload has no record.
    func recordWriter(of new: NewUpload) -> TaskRecordWriter? {
        guard let ends, let record = new.upload.record else { return nil }
        return TaskRecordWriter(ends, record, bytes: new.upload.source.bytes)
    }

    /// An upload of one request is over soon, and its success is recorded together with its object. It begins at once.
    private func mayBeUnseen(_ new: NewUpload) -> Bool {
        new.error == nil && new.strategy.isWhole && ends?.persistence.isEngines != false && small.enter(new.record.id)
    }

    private func session(of upload: Upload, for origin: TaskRequest.Origin?) -> any UploadSession {
        let session = backend.beginUpload(upload)
        guard case .incoming(let bytes) = upload.source, let task = upload.task else { return session }
        return incoming(task, session, bytes, to: upload.reference, isStream: origin == .stream)
    }

    /// `offset` is what an earlier process has recorded.
    private func addStream(
        to task: UploadTask, of upload: Upload, _ request: TaskRequest, from offset: Int64? = nil
    ) {
        guard request.origin == .stream, case .incoming(let bytes) = upload.source else { return }
        task.stream = StreamUpload(
            bytes, of: task, granularity: backend.takesAnyPiece ? 1 : ChunkSizes.granularity,
            chunkSize: request.chunkSize, from: offset, streamMemory)
    }

    /// Records the task. Bytes in memory are spooled first.
    private func keep(_ upload: inout Upload, _ recordWriter: TaskRecordWriter) async -> StorageError? {
        do throws(StorageError) {
            try await recordWriter.begin()
        } catch {
            return error
        }
        if let (path, identity) = recordWriter.source { upload.source = .file(path: path, identity) }
        upload.isSpooled = recordWriter.isSpooled
        return nil
    }

    func heldBytes(of upload: Upload) -> HeldBytes<UploadStrategy>? {
        guard let count = upload.source.bytes?.count else { return nil }
        var later = upload
        later.source = .file(path: "", .unknown)
        (later.isSpooled, later.isRestored) = (true, true)
        return HeldBytes(count: count) { [backend, later] path, identity in
            var upload = later
            upload.source = .file(path: path, identity)
            return backend.beginUpload(upload)
        }
    }

    /// `size` is nil where it is not known, or the file cannot be read.
    private func strategy(of upload: Upload, size: Int64?, chunkSize: Int64?) -> UploadStrategy {
        let isOneRequest =
            switch upload.source {
            case .data, .file: size ?? 0 <= min(backend.oneRequestLimit, chunkSize ?? backend.oneRequestLimit)
            case .incoming: false
            case .object: backend.copiesAtOnce
            }
        return UploadStrategy(
            size: size, oneRequest: isOneRequest,
            chunks: chunkSize.map(ChunkSizes.fixed) ?? backend.chunkSizes)
    }

    private func limiter(of upload: Upload, _ strategy: UploadStrategy) -> ConcurrencyLimiter {
        upload.source.isIncoming ? fromClients : strategy.isWhole ? small : large
    }

    /// Makes a paused task of what an earlier process, or an earlier run, has left. Nil where the record does not say what
    /// its file was like.
    func restore(_ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?) -> UploadTask? {
        let source: UploadSource
        if let copy = record.copy {
            source = .object(CopySource(copy))
        } else if request.origin != nil, request.identity == nil {
            source = .incoming(IncomingBytes(size: request.size))
        } else {
            guard let identity = request.identity else { return nil }
            source = .file(path: request.file, identity)
        }
        var upload = Upload(
            reference: record.reference, source: source, metadata: record.metadata,
            expectedMD5: record.md5Hash, if: request.preconditions ?? Preconditions(), caller: caller(request))
        (upload.task, upload.record, upload.folder) = (record.id, ends == nil ? nil : record, record.folder)
        upload.began = record.folder.flatMap { folders.tasks[$0] }?.began
        upload.expectedCRC32C = request.crc32c
        upload.isRestored = true
        upload.isSpooled = request.isSpooled
        upload.bookmark = bookmark
        // The object that an open session copies is known.
        let known = source.copy == nil || bookmark == nil ? source.size : record.progress.total
        let strategy = strategy(of: upload, size: known, chunkSize: request.chunkSize)
            .restored(acknowledged: record.progress.completedUnitCount, isOpen: bookmark != nil)
        let machine = UploadMachine(
            restored: strategy, retryTime: .seconds(request.retryTime), seed: random.next())
        let sessionState = SessionState<UploadStrategy>.deferred { [self] tokens in
            // The session is at another server, which this service does not ask.
            if let endpoint = record.endpoint { return FailingSession(error: .belongs(record.id, to: endpoint)) }
            upload.caller.tokens = tokens
            return session(of: upload, for: request.origin)
        }
        let recordWriter = ends.map { TaskRecordWriter($0, record, isKept: true) }
        let list = record.folder == nil ? uploads : folderUploads
        let task = list.make(record, machine, sessionState, limiter(of: upload, strategy), recordWriter)
        // A client that has sent a part in one request and got no answer may be gone: that upload expires, too.
        if request.origin == .gateway, source.isIncoming, task.endpoint == nil { uploadSessions[task.id] = task }
        addStream(to: task, of: upload, request, from: record.progress.completedUnitCount)
        return task
    }
}

/// An upload that becomes a task.
final class NewUpload: Sendable {
    let upload: Upload
    let record: TaskRecord
    let strategy: UploadStrategy
    let machine: UploadMachine
    /// Why it fails: its file cannot be read.
    let error: StorageError?

    init(
        _ upload: Upload, _ record: TaskRecord, _ strategy: UploadStrategy, _ machine: UploadMachine,
        failing error: StorageError?
    ) {
        (self.upload, self.record, self.strategy) = (upload, record, strategy)
        (self.machine, self.error) = (machine, error)
    }

    /// The number of bytes that the upload keeps in memory.
    var heldBytes: Int { upload.source.bytes?.count ?? 0 }
}

extension UploadSource {
    fileprivate var bytes: [UInt8]? { if case .data(let bytes) = self { bytes } else { nil } }
    fileprivate var isIncoming: Bool { if case .incoming = self { true } else { false } }

    /// The metadata of the new object. That of a copy lacks what the copy gets from its source.
    fileprivate func metadata(
        _ change: MetadataChange, named names: [String]
    ) throws(StorageError) -> SettableMetadata {
        guard copy != nil else { return try .ofUpload(change, named: names) }
        var metadata = SettableMetadata()
        try metadata.apply(change)
        return metadata
    }
}

extension FileIdentity {
    /// The identity of a file that could not be inspected.
    fileprivate static let unknown = FileIdentity(
        size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0, inode: 0, ends: 0)
}
