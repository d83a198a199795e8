import Platform
import Storage

/// All tasks of the service, and its operations without a task.
@Loop public final class Transfers {
    public var settings = Settings()
    public let registry: ObserverRegistry
    private(set) lazy var objects = ObjectObservers(of: engine)
    let context: TransferContext
    let memory = TransferMemory()
    let tasks: AllTasks
    let readiness: Readiness
    public let clientWaits = ClientWaits()
    /// Nil if the service has no tasks over folders.
    let folderStore: (any FolderStore)?

    /// - Parameter persistence: nil if tasks end with the process.
    public init(
        backend: any Backend, persistence: TaskPersistence? = nil, folders: (any FolderStore)? = nil,
        limits: TransferLimits = .init(), time: TimeSource, random: RandomSource = .secure,
        log: TransferLog = TransferLog()
    ) {
        context = TransferContext(
            backend, persistence.map { OutcomeRecorder($0, clock: time.clock) }, limits, time, random, log)
        registry = ObserverRegistry(limits)
        tasks = AllTasks(context)
        readiness = Readiness(isReady: persistence == nil && folders == nil)
        folderStore = folders
        tasks.uploads.readsEnded = { [weak self] in self?.readEndedSoon() }
        tasks.downloads.readsEnded = { [weak self] in self?.readEndedSoon() }
    }

    public var backend: any Backend { context.backend }
    public var engine: EngineProperties { context.engine }
    package var limits: TransferLimits { context.limits }
    public var uploads: TaskList<UploadTask> { tasks.uploads }
    public var downloads: TaskList<DownloadTask> { tasks.downloads }
    public var folders: TaskList<FolderTask> { tasks.folders }
    public var atOnce: TasksAtOnce {
        get { tasks.limits.atOnce }
        set { tasks.limits.atOnce = newValue }
    }

    public func count(of state: TaskState) -> Int { tasks.count(of: state) }

    /// Returns when all tasks but streams are paused or have ended.
    public func restsOnly() async throws {
        try await ready()
        try await tasks.rested()
    }

    public var areRunning: Bool { tasks.areRunning }

    /// Removes partial downloads that no later process can continue.
    public func discardUnrecordedDownloads() { tasks.discardUnrecordedDownloads() }

    /// Ends all tasks with `cancelled`.
    public func cancelAll() async { await tasks.cancelAll() }

    public func suspend() async throws { try await tasks.suspend() }

    /// Ends the expired upload sessions.
    public func expireSessions() async throws {
        try await ready()
        try await tasks.sessions.expire()
    }

    /// Ends the upload sessions of a bucket that was deleted.
    public func endSessions(in root: Reference) async throws {
        try await ready()
        try await tasks.sessions.end(in: root)
    }

    /// Throws `invalidArgument` for the id of no task.
    public func checkTask(_ id: String) throws(StorageError) {
        if !uploads.has(id), !folders.has(id) { _ = try downloads.task(id) }
    }

    /// Tries once to record the outcomes that could not be recorded.
    public func recordEnds() async { await context.ends?.settle() }

    func orDefault(_ client: TransferClient?) -> TransferClient { client ?? TransferClient(settings: settings) }

    /// The caller of a task of an earlier process.
    func caller(_ request: TaskRequest) -> Caller {
        Caller(retryTime: .seconds(request.retryTime), userProject: request.userProject)
    }
}

extension Transfers {
    /// Fetches an object, or a part of it, and returns the result of `use`. Waits while too much memory is in use, and
    /// reserves memory until `use` returns. Throws `downloadSizeExceeded` for an object of more than `maxSize` bytes,
    /// or more than `usable`.
    ///
    /// - Parameters:
    ///   - usable: the maximum number of bytes that `use` takes.
    ///   - fits: whether a number of bytes can be reserved before the size of the object is known.
    ///   - mayBegin: waited for before the bytes are fetched. Receives their maximum number.
    public func data<Answer>(
        of reference: Reference, part: BytePart? = nil, maxSize: Int64, usable: Int64 = .max,
        for client: TransferClient? = nil, fits: @Loop (Int) -> Bool = { _ in true },
        mayBegin: @Loop (Int) async throws -> Void = { _ in },
        _ use: @Loop ([UInt8]) async -> Answer
    ) async throws -> Answer {
        let reference = try reference.checkedAsObject("has no bytes")
        guard maxSize >= 0 else {
            throw StorageError.invalidArgument("maxSize", "maxSize must be at least 0, not \(maxSize).")
        }
        let caller = orDefault(client).caller(\.maxDownloadRetryTime)
        let most = min(maxSize, usable, part?.length ?? .max)
        // The client may ask for more bytes than the object has.
        let fitsAsAsked = most <= 1 << 20 && fits(Int(most))
        let known =
            fitsAsAsked
            ? nil
            : try await explaining { () async throws(StorageError) in
                try await backend.metadata(of: reference, for: caller.preparing)
            }
        let expected = min(most, known?.size ?? most)
        repeat {
            try await memory.free()
            try await mayBegin(Int(clamping: expected))
        } while memory.isFull
        return try await memory.holding(Int(clamping: expected)) {
            let bytes: [UInt8]
            do throws(StorageError) {
                bytes = try await backend.data(
                    of: reference, part: part, known: known, maxSize: min(maxSize, usable), for: caller)
            } catch {
                throw context.explained(usable < maxSize ? error.blamingTheAnswer : error)
            }
            downloads.metrics.add(Int64(bytes.count))
            return await use(bytes)
        }
    }
}

extension StorageError {
    fileprivate var blamingTheAnswer: StorageError {
        code == .downloadSizeExceeded
            ? adding("That is what fits an answer; reference/writeToFile takes any size.") : self
    }
}
