import Platform
import Storage

extension Transfers {
    /// Creates a task that uploads bytes from memory; it waits for `start`. Waits while too much memory is in use.
    public func upload(
        _ data: [UInt8], to reference: Reference, _ change: MetadataChange,
        if conditions: Preconditions = Preconditions(), for client: TransferClient? = nil
    ) async throws -> UploadTask {
        try change.check()
        let client = orDefault(client)
        try await ready()
        while bytesInMemory > Self.memoryLimit { try await room.wait() }
        return try await settingAside(data.count) {
            try await create(
                .data(data), reference, change, conditions, client, contentTypeFrom: [reference.name])
        }
    }

    /// Creates a task that uploads a file; it waits for `start`. A file that cannot be read fails the task, not this call.
    public func upload(
        file path: String, to reference: Reference, _ change: MetadataChange,
        if conditions: Preconditions = Preconditions(), for client: TransferClient? = nil
    ) async throws -> UploadTask {
        try change.check()
        let client = orDefault(client)
        try await ready()
        let source: UploadSource, failure: StorageError?
        do throws(StorageError) {
            (source, failure) = (.file(path: path, try await backend.inspect(file: path)), nil)
        } catch {
            (source, failure) = (.file(path: path, .unknown), error)
        }
        try Task.checkCancellation()
        return try await create(
            source, reference, change, conditions, client, contentTypeFrom: [path, reference.name],
            failing: failure)
    }

    private func create(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String],
        failing error: StorageError? = nil
    ) async throws(StorageError) -> UploadTask {
        let reference = try reference.checkedAsObject("cannot be written")
        return try await withPlace { () async throws(StorageError) in
            try await self.make(
                source, reference, change, conditions, client, contentTypeFrom: names, failing: error)
        }
    }

    private func make(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ conditions: Preconditions,
        _ client: TransferClient, contentTypeFrom names: [String],
        failing error: StorageError?
    ) async throws(StorageError) -> UploadTask {
        var metadata = SettableMetadata()
        metadata.content[.contentType] =
            names.lazy.compactMap(ContentType.inferred(fromName:)).first ?? ContentType.fallback
        try metadata.apply(change.withoutRemovals)
        var upload = Upload(
            reference: reference, source: source, metadata: metadata, expectedMD5: change.md5Hash,
            if: conditions, caller: client.caller(\.maxUploadRetryTime))
        let settings = client.settings
        var strategy = strategy(of: upload, chunkSize: settings.uploadChunkSizeBytes)
        strategy.sizeIsKnown = error == nil
        let isPersonal = await client.tokens?.isPersonal() ?? false
        let request = TaskRequest(source, conditions, settings, hasOwnTokens: isPersonal)
        let record = TaskRecord(
            id: .newTask, kind: .upload, number: uploads.newNumber(), began: time.now(), reference: reference,
            progress: strategy.progress, metadata: metadata, md5Hash: change.md5Hash, stage: .unfinished(request, nil))
        var failure = error
        let recordWriter = ends.map { TaskRecordWriter($0, record, request, bytes: source.bytes) }
        if let recordWriter {
            upload.record = record
            if failure == nil { failure = await keep(&upload, recordWriter, isWhole: strategy.isWhole) }
        }
        let machine = UploadMachine(
            strategy, retryTime: .seconds(settings.maxUploadRetryTime), seed: .random(in: .min ... .max))
        let session = failure.map { TransferSession(failing: $0) } ?? TransferSession(backend.beginUpload(upload))
        return uploads.make(
            TransferPlan(
                record, holding: heldBytes(of: upload), machine, .open(session), limiter(of: strategy), recordWriter))
    }

    /// Records the task. Bytes of one request are recorded only when they have to wait; others are spooled first.
    private func keep(_ upload: inout Upload, _ recordWriter: TaskRecordWriter, isWhole: Bool) async -> StorageError? {
        if isWhole, upload.source.bytes != nil { return nil }
        do throws(StorageError) {
            try await recordWriter.begin()
        } catch {
            return error
        }
        if let (path, identity) = recordWriter.source { upload.source = .file(path: path, identity) }
        upload.isSpooled = recordWriter.isSpooled
        return nil
    }

    private func heldBytes(of upload: Upload) -> HeldBytes<UploadStrategy>? {
        guard let count = upload.source.bytes?.count else { return nil }
        var later = upload
        later.source = .file(path: "", .unknown)
        (later.isSpooled, later.isRestored) = (true, true)
        return HeldBytes(count: count) { [backend, later] path, identity in
            var upload = later
            upload.source = .file(path: path, identity)
            return TransferSession(backend.beginUpload(upload))
        }
    }

    private func strategy(of upload: Upload, chunkSize: Int64?) -> UploadStrategy {
        let size = upload.source.size
        return UploadStrategy(
            size: size, oneRequest: size <= backend.oneRequestLimit && size <= chunkSize ?? .max,
            chunks: chunkSize.map(ChunkSizes.fixed) ?? backend.chunkSizes)
    }

    private func limiter(of strategy: UploadStrategy) -> ConcurrencyLimiter { strategy.isWhole ? small : large }
}

// MARK: - From an earlier process

extension Transfers {
    func restore(_ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in ends: OutcomeRecorder)
        -> UploadTask?
    {
        guard let identity = request.identity else { return nil }
        var upload = Upload(
            reference: record.reference, source: .file(path: request.file, identity), metadata: record.metadata,
            expectedMD5: record.md5Hash,
            if: request.preconditions ?? Preconditions(), caller: caller(request))
        upload.record = record
        upload.isRestored = true
        upload.isSpooled = request.isSpooled
        upload.bookmark = bookmark
        let strategy = strategy(of: upload, chunkSize: request.chunkSize)
            .restored(acknowledged: record.progress.completedUnitCount, isOpen: bookmark != nil)
        let machine = UploadMachine(
            restored: strategy, retryTime: .seconds(request.retryTime), seed: .random(in: .min ... .max))
        let sessionState = SessionState<UploadStrategy>.deferred { [backend] tokens in
            // The session is at another server, which this service does not ask.
            if let endpoint = record.endpoint { return TransferSession(failing: .belongs(record.id, to: endpoint)) }
            upload.caller.tokens = tokens
            return TransferSession(backend.beginUpload(upload))
        }
        let recordWriter = TaskRecordWriter(ends, record, request, isKept: true)
        return uploads.make(TransferPlan(record, machine, sessionState, limiter(of: strategy), recordWriter))
    }
}

extension TaskRequest {
    fileprivate init(
        _ source: UploadSource, _ conditions: Preconditions, _ settings: Settings, hasOwnTokens: Bool
    ) {
        self.init(
            file: "", retryTime: settings.maxUploadRetryTime, chunkSize: settings.uploadChunkSizeBytes,
            userProject: settings.userProject, preconditions: conditions.isEmpty ? nil : conditions,
            hasOwnTokens: hasOwnTokens)
        if case .file(let path, let identity) = source { (file, self.identity) = (path, identity) }
    }
}

extension UploadSource {
    /// The bytes in memory; nil for a file.
    fileprivate var bytes: [UInt8]? {
        switch self {
        case .data(let bytes): bytes
        case .file: nil
        }
    }
}

extension FileIdentity {
    /// The identity of a file that could not be inspected.
    fileprivate static let unknown = FileIdentity(
        size: 0, modifiedSeconds: 0, modifiedNanoseconds: 0, inode: 0, ends: 0)
}

extension String {
    static var newTask: String { SecureRandom().uuid() }
}

extension MetadataChange {
    /// An upload has no metadata to remove: nil values are left out.
    fileprivate var withoutRemovals: MetadataChange {
        var change = self
        change.content = content.filter { $0.value != nil }
        return change
    }
}
