import EventLoop
import Storage

/// All tasks of the service, and what goes through it without one.
@Loop
public final class Transfers {
    /// Of each kind.
    public static let finishedTasksKept = 1000
    /// In bytes: what uploads from memory and downloads to it may hold before the next one has to wait.
    public static let memoryLimit = 64 << 20

    public var settings = Settings()
    public let uploads: TaskList<UploadCourse>
    public let downloads: TaskList<DownloadCourse>
    let backend: any Backend
    private let room = Waiters()
    private let rest = Waiters()
    private lazy var small = Places(limit: backend.smallUploadsAtOnce) { [unowned self] in released() }
    private lazy var large = Places(limit: backend.uploadsAtOnce) { [unowned self] in released() }
    private lazy var arriving = Places(limit: backend.downloadsAtOnce) { [unowned self] in released() }
    private var bytesSetAside = 0
    private var lastHandle = 0

    /// Rests are slept on the clock; `now` is the time of day that snapshots and errors tell.
    public init(
        backend: any Backend, clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.backend = backend
        let time = TimeKeeping(clock: clock, now: now)
        uploads = TaskList(time)
        downloads = TaskList(time)
    }

    public func newHandle() -> String {
        lastHandle += 1
        return "observer-\(lastHandle)"
    }

    /// How many tasks of both kinds are in this state.
    public func count(of state: TaskState) -> Int {
        uploads.all.count { $0.state == state } + downloads.all.count { $0.state == state }
    }

    /// Returns when no task runs or waits for a place: what is left is paused or has ended.
    public func restsOnly() async throws {
        while !uploads.areAtRest || !downloads.areAtRest { try await rest.wait() }
    }

    /// Removes what has arrived of downloads that have not ended: nobody will go on with them.
    public func letGoOfDownloads() { downloads.letGo() }

    /// Pauses all that run, as far as they still can be paused.
    public func suspend() async throws {
        async let up: Void = uploads.suspend()
        async let down: Void = downloads.suspend()
        _ = try await (up, down)
    }

    /// Whom the engine works for, and how patiently.
    func caller(_ tokens: (any TokenSource)?, _ seconds: Double) -> Caller {
        Caller(tokens: tokens, patience: .seconds(seconds))
    }

    /// Lets those in who wait for room only when there is a good deal of it: not all of them for each place.
    private func released() {
        if bytesInMemory <= Self.memoryLimit / 2 { room.wakeAll() }
        rest.wakeAll()
    }

    private var bytesInMemory: Int { small.bytes + large.bytes + bytesSetAside }
}

// MARK: - Uploads

extension Transfers {
    /// A task that uploads bytes from memory; it waits for `start`. Waits itself while too much is in memory already.
    public func upload(
        _ data: [UInt8], to reference: Reference, _ change: MetadataChange, tokens: (any TokenSource)? = nil
    ) async throws -> UploadTask {
        let settings = settings
        while bytesInMemory > Self.memoryLimit { try await room.wait() }
        return try create(.data(data), reference, change, settings, tokens, contentTypeFrom: [reference.name])
    }

    /// A task that uploads a local file; it waits for `start`. A file that cannot be read fails the task, not this call.
    public func upload(
        file path: String, to reference: Reference, _ change: MetadataChange, tokens: (any TokenSource)? = nil
    ) async throws -> UploadTask {
        let settings = settings
        let source: UploadSource, failure: StorageError?
        do throws(StorageError) {
            (source, failure) = (.file(path: path, try await backend.inspect(file: path)), nil)
        } catch {
            (source, failure) = (.data([]), error)
        }
        try Task.checkCancellation()
        return try create(
            source, reference, change, settings, tokens, contentTypeFrom: [path, reference.name], failing: failure)
    }

    private func create(
        _ source: UploadSource, _ reference: Reference, _ change: MetadataChange, _ settings: Settings,
        _ tokens: (any TokenSource)?, contentTypeFrom names: [String],
        failing error: StorageError? = nil
    ) throws(StorageError) -> UploadTask {
        let reference = try reference.checkedAsObject("cannot be written")
        var metadata = SettableMetadata()
        metadata.content[.contentType] =
            names.lazy.compactMap(ContentType.inferred(fromName:)).first ?? ContentType.fallback
        try metadata.apply(change.withoutRemovals)
        let upload = Upload(
            reference: reference, source: source, metadata: metadata, expectedMD5: change.md5Hash,
            caller: caller(tokens, settings.maxUploadRetryTime))
        let session = error.map { Session(failing: $0) } ?? Session(backend.beginUpload(upload))
        return uploads.make(plan(upload, settings, session))
    }

    private func plan(
        _ upload: Upload, _ settings: Settings, _ session: Session<UploadCourse>
    ) -> TransferPlan<UploadCourse> {
        let size = upload.source.size
        let oneRequest = size <= backend.oneRequestLimit && size <= settings.uploadChunkSizeBytes ?? .max
        let machine = UploadMachine(
            size: size, oneRequest: oneRequest,
            chunks: settings.uploadChunkSizeBytes.map(ChunkSizes.fixed) ?? backend.chunkSizes,
            patience: .seconds(settings.maxUploadRetryTime), seed: .random(in: .min ... .max))
        return TransferPlan(
            reference: upload.reference, metadata: .uploading(upload.metadata, md5Hash: upload.expectedMD5),
            bytesInMemory: upload.source.bytesInMemory, machine: machine, session: session,
            places: oneRequest ? small : large)
    }
}

// MARK: - Downloads

extension Transfers {
    /// A task that downloads to a local file; it waits for `start`.
    public func download(
        _ reference: Reference, to file: String, tokens: (any TokenSource)? = nil
    ) throws(StorageError) -> DownloadTask {
        let reference = try reference.checkedAsObject("has no bytes")
        let download = Download(
            reference: reference, file: file, caller: caller(tokens, settings.maxDownloadRetryTime))
        let machine = DownloadMachine(
            patience: .seconds(settings.maxDownloadRetryTime), seed: .random(in: .min ... .max))
        return downloads.make(
            TransferPlan(
                reference: reference, machine: machine, session: Session(backend.beginDownload(download)),
                places: arriving))
    }

    /// What `use` makes of all bytes of an object. Waits while too much is in memory already, and for `mayBegin`; as much
    /// as may come is set aside until `use` returns. Throws `downloadSizeExceeded` for an object of more than `maxSize` bytes, or more
    /// than `use` can take.
    public func data<Answer>(
        of reference: Reference, maxSize: Int64, usable: Int64 = .max, tokens: (any TokenSource)? = nil,
        mayBegin: @Loop () async throws -> Void = {}, _ use: ([UInt8]) -> Answer
    ) async throws -> Answer {
        let reference = try reference.checkedAsObject("has no bytes")
        guard maxSize >= 0 else {
            throw StorageError.invalidArgument("maxSize", "maxSize must be at least 0, not \(maxSize).")
        }
        let caller = caller(tokens, settings.maxDownloadRetryTime)
        let most = min(maxSize, usable)
        let expected = most <= 1 << 20 ? most : min(most, try await backend.metadata(of: reference, for: caller).size)
        repeat {
            while bytesInMemory > Self.memoryLimit { try await room.wait() }
            try await mayBegin()
        } while bytesInMemory > Self.memoryLimit
        let bytes = Int(clamping: expected)
        bytesSetAside += bytes
        defer {
            bytesSetAside -= bytes
            released()
        }
        do throws(StorageError) {
            return use(try await backend.data(of: reference, maxSize: most, for: caller))
        } catch {
            throw most < maxSize ? error.blamingTheAnswer : error
        }
    }
}

extension StorageError {
    fileprivate var blamingTheAnswer: StorageError {
        guard code == .downloadSizeExceeded else { return self }
        var error = self
        error.message += " That is what fits an answer; reference/writeToFile takes any size."
        return error
    }
}

extension UploadSource {
    fileprivate var bytesInMemory: Int {
        switch self {
        case .data(let bytes): bytes.count
        case .file: 0
        }
    }
}

extension MetadataChange {
    /// An upload begins with nothing: there a nil is the same as nothing said.
    fileprivate var withoutRemovals: MetadataChange {
        var change = self
        change.content = content.filter { $0.value != nil }
        return change
    }
}
