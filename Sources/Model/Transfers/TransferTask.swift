import Platform
import Storage

public typealias UploadTask = TransferTask<UploadStrategy>
public typealias DownloadTask = TransferTask<DownloadStrategy>

/// One upload or download: runs its state machine, one event after the other, and notifies observers.
///
///     TaskMachine         decides, as a value: takes events, returns effects; its strategy picks the next step
///        ▼ ▲         ┌──▶ observers: snapshots
///     TransferTask ──┴──▶ TaskRecordWriter: the TaskRecord, which outlives the process: TaskRequest and Bookmark, then
///        ▼ ▲              the outcome
///     TransferSession     carries out one step at a time at the engine, which began it from an Upload or a Download
@Loop public final class TransferTask<Strategy: TaskStrategy> {
    typealias Machine = TaskMachine<Strategy>

    /// Unique across restarts.
    public let id: String
    public let number: Int64
    /// When the task was created, by this machine's clock.
    let began: Timestamp
    let reference: Reference
    /// The endpoint of the task where it is not the service's own: the task cannot be resumed here.
    let endpoint: String?
    let origin: TaskRequest.Origin?
    /// The task over a folder that this one belongs to.
    let folder: String?
    public let key: String?
    private let copy: CopyRequest?
    /// Without a task store, until the task has ended.
    private var record: TaskRecord?
    /// The record of a failed task that can run again. It is small: no bytes, and nothing at the engine.
    private(set) var recordForRetry: TaskRecord?
    /// Nil where its client neither sends nor fetches the bytes piece by piece.
    var stream: Strategy.Stream?
    /// Of an upload; nil once its success is published.
    private var metadata: TaskSnapshot.Metadata?
    /// Nil once the task has ended, or is paused with its bytes on disk.
    private var held: HeldBytes<Strategy>?
    var machine: Machine
    var steps = StepRunner()
    var sessionState: SessionState<Strategy>
    let limiter: ConcurrencyLimiter
    /// Nil without a task store, and once the task has ended.
    var recordWriter: TaskRecordWriter?
    var persisted: PersistedState
    /// The acknowledged bytes that the metrics have.
    var countedBytes: Int64
    var isTold: Bool
    /// The state that the list counts it in; nil while it is not in the list.
    var countedState: TaskState?
    /// It had a record when it ended.
    private(set) var wasRecorded = false
    /// The task was paused when it ended.
    var wasPaused = false
    /// Hears of each wait before a retry while the task has no observers and a request waits for its end.
    var willRetry: (@Sendable (RequestRetry) -> Void)?
    /// A client of this process started or resumed the task: it may replace an object that is newer than the task.
    private(set) var replacesNewer = true
    let time: TimeSource
    let log: TransferLog
    /// Since this process has the task. Nil where no metric needs it.
    let elapsed: (@Sendable () -> Duration)?
    private(set) weak var list: TaskList<Strategy>?
    /// Called when there are more bytes than before.
    var didProgress: (@Loop () -> Void)?
    var events: [Machine.Event] = []
    var isHandling = false
    var observers: [Observer] = []
    let settled = Waiters()
    let finished = Waiters()
    var timer: ScheduledCall?

    /// - Parameters:
    ///   - held: nil where the task holds no bytes in memory.
    ///   - recordWriter: nil without a task store.
    init(
        _ record: TaskRecord, _ machine: Machine, _ sessionState: SessionState<Strategy>, _ limiter: ConcurrencyLimiter,
        _ recordWriter: TaskRecordWriter?, holding held: HeldBytes<Strategy>?, in list: TaskList<Strategy>
    ) {
        (id, number, reference, endpoint) = (record.id, record.number, record.reference, record.endpoint)
        (began, origin, copy) = (record.began, record.request?.origin, record.copy)
        (folder, key) = (record.folder, record.key)
        let isUpload = Strategy.kind == .upload && record.copy == nil
        metadata = isUpload ? .uploading(record.metadata, md5Hash: record.md5Hash) : nil
        (self.machine, self.sessionState, self.limiter, self.held) = (machine, sessionState, limiter, held)
        (self.recordWriter, self.list, time, log) = (recordWriter, list, list.time, list.log)
        elapsed = list.log.info == nil ? nil : list.time.clock.stopwatch()
        persisted = PersistedState(machine)
        countedBytes = machine.progress.completedUnitCount
        isTold = machine.taskState.isFinished
        recordWriter?.didKeep = { [weak self] in self?.releaseHeldBytes() }
        self.record = recordWriter == nil && !record.hasEnded ? record : nil
        recordForRetry = record.forRetry
        if isTold { dropWorkingState() }
    }

    /// The record of a task whose end is not told yet.
    var unfinishedRecord: TaskRecord? { recordWriter?.record ?? record }

    /// Keeps no more of an ended task than its snapshot shows, and what a retry needs.
    func dropWorkingState() {
        wasRecorded = recordWriter?.isKept ?? false
        if case .ended(let outcome) = machine.state, let last = unfinishedRecord {
            recordForRetry = last.ended(outcome, at: began).forRetry
        }
        (recordWriter, record, timer, willRetry) = (nil, nil, nil, nil)
        if Strategy.kind == .upload { stream = nil }
        switch (machine.state, metadata) {
        case (.ended(.succeeded), _): metadata = nil
        case (_, .uploading(let settable, let md5Hash)): metadata = .uploading(settable.bounded, md5Hash: md5Hash)
        case (_, .stored), (_, nil): break
        }
    }

    /// The state for clients: an end counts once it is recorded.
    public var state: TaskState {
        guard isEnding else { return machine.taskState }
        return wasPaused ? .paused : .running
    }

    /// The task has ended, and that is being recorded.
    private var isEnding: Bool { machine.taskState.isFinished && !isTold }

    var isAtRest: Bool { state.isFinished || state == .paused }

    public func snapshot(for status: Status? = nil) -> TaskSnapshot {
        var snapshot = TaskSnapshot(
            kind: Strategy.kind, task: id, status: status ?? state.status, state: state(for: status),
            progress: machine.progress, reference: reference, metadata: metadata, endpoint: endpoint, origin: origin,
            copy: copy)
        snapshot.key = key
        if origin == .stream, !snapshot.state.isFinished { snapshot.offset = stream?.offset }
        if var retry = machine.retry {
            retry.error = retry.error.orAbout(reference)
            snapshot.retry = retry
        }
        if status == .progress || isEnding { return snapshot }
        switch machine.state {
        case .ended(.succeeded(let metadata)): snapshot.metadata = .stored(metadata)
        case .ended(.failed(let error)): snapshot.error = error.orAbout(reference)
        case .ended(.cancelled): snapshot.error = .cancelled(Strategy.kind, of: reference)
        case .ended(.cancelledInDoubt): snapshot.error = .cancelled(Strategy.kind, of: reference).inDoubt
        case .paused: snapshot.error = machine.pauseReason?.orAbout(reference)
        case .ready, .queued, .working, .stopping, .resting: break
        }
        return snapshot
    }

    /// Progress events show a running task, pause events a paused one, even if the state has changed since.
    private func state(for status: Status?) -> TaskState {
        switch status {
        case .progress: .running
        case .pause: .paused
        case .resume, .success, .failure, nil: state
        }
    }

    // MARK: - Controls

    public func start() { start(replacesNewer: true) }

    /// `replacesNewer` is false where a task over a folder that no client has resumed begins it.
    func start(replacesNewer: Bool) {
        self.replacesNewer = replacesNewer
        post(.requested(.start))
    }

    /// Returns once no bytes move; false where the state does not allow a pause, or the task ends first.
    public func pause() async throws -> Bool {
        guard beginPause() else { return try await refusal() }
        try await settle()
        return !state.isFinished
    }

    /// False where the state does not allow a pause; else `settle` returns once no bytes move.
    func beginPause() -> Bool {
        guard machine.allows(.pause) else { return false }
        post(.requested(.pause))
        return true
    }

    /// Goes on from the last acknowledged byte; false where the state does not allow it. `tokens` are for a task of an
    /// earlier process. `replacesNewer` is false where no client asks for it.
    public func resume(tokens: (any TokenSource)? = nil, replacesNewer: Bool = true) -> Bool {
        guard machine.allows(.resume), endpoint == nil else { return false }
        self.replacesNewer = replacesNewer
        openDeferredSession(with: tokens)
        post(.requested(.resume))
        return true
    }

    /// Tries again at once; false unless the task waits after a failure.
    func endRest() -> Bool {
        guard machine.allows(.retry) else { return false }
        timer?.cancel()
        post(.requested(.retry))
        return true
    }

    /// Throws `invalidArgument` for a task of another endpoint that has not ended.
    public func checkEndpoint() throws(StorageError) {
        if let endpoint, !state.isFinished { throw .belongs(id, to: endpoint).about(reference) }
    }

    /// Returns once the task has ended; false where it had ended before, or was completed in that moment.
    public func cancel(tokens: (any TokenSource)? = nil) async throws -> Bool {
        guard beginCancel(tokens: tokens) else { return try await refusal() }
        try await settle()
        return state == .cancelled
    }

    func beginCancel(tokens: (any TokenSource)? = nil) -> Bool {
        guard machine.allows(.cancel) else { return false }
        openDeferredSession(with: tokens)
        post(.requested(.cancel))
        return true
    }

    /// The snapshot after success. Throws the task's error, or `CancellationError` when the waiting is cancelled.
    public func result() async throws -> TaskSnapshot {
        while !isTold { try await finished.wait() }
        let snapshot = snapshot()
        if let error = snapshot.error { throw error }
        return snapshot
    }

    public func observe(_ status: Status, handle: String, _ connection: ConnectionObservers) {
        add(Observer(handle: handle, status: status, connection: connection))
    }

    func notify(_ observer: Observer, _ event: Told<TaskSnapshot>) {
        observer.connection.notify(observer.handle, event)
    }

    /// Returns once no step is being stopped, the end is published, and the state is recorded.
    func settle() async throws {
        while !machine.isSettled || isEnding { try await settled.wait() }
        await recordWriter?.settled()
    }

    /// Returns when progress up to an offset that the engine has reached is recorded, or the task does not run any more.
    /// False if it could not be recorded.
    ///
    /// - Parameter again: the engine has had more before, and is recorded although there is no progress.
    @discardableResult
    func untilRecorded(upTo offset: Int64, again: Bool = false) async -> Bool {
        while machine.progress.completedUnitCount < offset, !isAtRest { await Loop.nextIteration() }
        guard let recordWriter else { return true }
        if again, let session { recordWriter.keep(machine.progress, session.bookmark) }
        await recordWriter.settled()
        return recordWriter.isUpToDate
    }

    /// Returns when the task is paused or has ended.
    func rested() async { while !isAtRest { do { try await settled.wait() } catch { return } } }

    /// The answer to a control that the state does not allow; waits for the end where that is being recorded.
    private func refusal() async throws -> Bool {
        if isEnding { try await settle() }
        return false
    }

    private func openDeferredSession(with tokens: (any TokenSource)?) {
        if case .deferred(let open) = sessionState { sessionState = .open(open(tokens)) }
    }

    /// Frees the bytes of a paused upload that are on disk now: it continues like a task of an earlier process.
    private func releaseHeldBytes() {
        guard case .paused = machine.state, let held, let (path, identity) = recordWriter?.source else { return }
        sessionState = .deferred { _ in held.reopen(path, identity) }
        dropBytes()
    }

    func dropBytes() {
        guard let bytes = held?.count else { return }
        held = nil
        list?.release(bytes)
    }

    var session: (any TransferSession<Strategy>)? {
        if case .open(let session) = sessionState { session } else { nil }
    }
}

extension TransferTask: ControllableTask {
    public nonisolated static var kind: String { Strategy.kind.rawValue }

    public var hasEnded: Bool { state.isFinished }

    public func resume(tokens: (any TokenSource)?) -> Bool { resume(tokens: tokens, replacesNewer: true) }
}

extension TransferTask: Observed, LimiterWaiter {
    func admit() { post(.admitted) }
}
