import EventLoop
import Storage

/// All tasks of the service: those under way, and the newest of those that have ended.
@Loop
public final class Transfers {
    public static let finishedTasksKept = 1000
    /// In bytes: what uploads from memory may hold before the next one has to wait.
    public static let memoryLimit = 64 << 20

    public var settings = Settings()
    private let backend: any Backend
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> Timestamp
    private let room = Waiters()
    private let rest = Waiters()
    private lazy var small = Places(limit: backend.smallUploadsAtOnce) { [unowned self] in released() }
    private lazy var large = Places(limit: backend.uploadsAtOnce) { [unowned self] in released() }
    private var tasks: [String: UploadTask] = [:]
    private var finished: [String] = []
    private var lastNumber = 0
    private var lastHandle = 0

    /// Rests are slept on the clock; `now` is the time of day that snapshots and errors tell.
    public init(
        backend: any Backend, clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.backend = backend
        self.clock = clock
        self.now = now
    }

    /// In the order of their creation.
    public var all: [UploadTask] { tasks.values.sorted { $0.number < $1.number } }

    /// Throws `invalidArgument` for an id that is unknown, or was known too long ago.
    public func task(_ id: String) throws(StorageError) -> UploadTask {
        guard let task = tasks[id] else {
            throw .invalidArgument("task", "There is no upload task \"\(id)\", or it ended long ago.")
        }
        return task
    }

    public func newHandle() -> String {
        lastHandle += 1
        return "observer-\(lastHandle)"
    }

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

    public func metadata(
        of reference: Reference, tokens: (any TokenSource)? = nil
    ) async throws(StorageError) -> ObjectMetadata {
        try await backend.metadata(of: reference.checkedAsObject("has no metadata"), for: caller(tokens))
    }

    public func updateMetadata(
        of reference: Reference, _ change: MetadataChange, tokens: (any TokenSource)? = nil
    ) async throws(StorageError) -> ObjectMetadata {
        try await backend.updateMetadata(of: reference.checkedAsObject("has no metadata"), change, for: caller(tokens))
    }

    private func caller(_ tokens: (any TokenSource)?) -> Caller {
        Caller(tokens: tokens, patience: .seconds(settings.maxOperationRetryTime))
    }

    /// Returns when no task runs or waits for a place: what is left is paused or has ended.
    public func restsOnly() async throws {
        while tasks.values.contains(where: { $0.state == .running || $0.state == .queued }) {
            try await rest.wait()
        }
    }

    /// Pauses all that run, as far as they still can be paused; those in line first, so that none of them gets a place.
    public func suspend() async throws {
        for task in all.reversed() { _ = try await task.pause() }
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
            caller: Caller(tokens: tokens, patience: .seconds(settings.maxUploadRetryTime)))
        return register(upload, settings, error.map { FailedSession(error: $0) } ?? backend.beginUpload(upload))
    }

    private func register(_ upload: Upload, _ settings: Settings, _ session: any UploadSession) -> UploadTask {
        let size = upload.source.size
        let oneRequest = size <= backend.oneRequestLimit && size <= settings.uploadChunkSizeBytes ?? .max
        let machine = UploadMachine(
            size: size, oneRequest: oneRequest,
            chunks: settings.uploadChunkSizeBytes.map(ChunkSizes.fixed) ?? backend.chunkSizes,
            patience: .seconds(settings.maxUploadRetryTime), seed: .random(in: .min ... .max))
        lastNumber += 1
        let task = UploadTask(
            number: lastNumber, upload: upload, machine: machine, session: session, places: oneRequest ? small : large,
            clock: clock, now: now,
            ended: { [weak self] in self?.finish($0) })
        tasks[task.id] = task
        return task
    }

    private var bytesInMemory: Int { small.bytes + large.bytes }

    /// Lets those in who wait for room only when there is a good deal of it: not all of them for each place.
    private func released() {
        if bytesInMemory <= Self.memoryLimit / 2 { room.wakeAll() }
        rest.wakeAll()
    }

    private func finish(_ task: UploadTask) {
        finished.append(task.id)
        if finished.count > Self.finishedTasksKept { tasks[finished.removeFirst()] = nil }
    }
}

/// Stands in for an upload whose source could not even be opened.
private struct FailedSession: UploadSession {
    let error: StorageError

    func perform(_ step: UploadMachine.Step) async -> UploadMachine.Answer { .failed(error) }
    func abort() {}
    func discard() {}
}

extension UploadSource {
    var bytesInMemory: Int {
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
