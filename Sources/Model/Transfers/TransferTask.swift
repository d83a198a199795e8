import Platform
import Storage

public typealias UploadTask = TransferTask<UploadStrategy>
public typealias DownloadTask = TransferTask<DownloadStrategy>

/// One upload or download: handles the events of its state machine in order, and notifies observers.
///
///     TaskMachine         decides, as a value: takes events, returns effects; its strategy picks the next step
///        ▼ ▲         ┌──▶ observers: snapshots
///     TransferTask ──┴──▶ TaskRecordWriter: the TaskRecord, which outlives the process: TaskRequest and Bookmark, then
///        ▼ ▲              the outcome
///     TransferSession     carries out one step at a time at the engine, which began it from an Upload or a Download
@Loop public final class TransferTask<Strategy: TaskStrategy>: StorageTask {
    public typealias Machine = TaskMachine<Strategy>

    /// The record of a task, which has more members than a snapshot.
    enum Recording {
        /// The task ends with the process.
        case unrecorded(TaskRecord)
        case recorded(TaskRecordWriter)
        /// The task has ended. `again` is the record with which a failed task runs again, without bytes and bookmark.
        case ended(again: TaskRecord?, wasRecorded: Bool)
    }

    public let number: Int64
    /// The members of snapshots that no event changes.
    private var shown: TaskSnapshot
    private(set) var recording: Recording
    /// Nil unless the client sends or fetches the bytes piece by piece.
    var stream: Strategy.Stream?
    public internal(set) var machine: Machine
    var steps = StepRunner()
    public var control: TaskControl
    var sessionState: SessionState<Strategy>
    let limiter: ConcurrencyLimiter
    /// The progress and the state that the store and the metrics have.
    var known: Known
    /// Called before each wait for a retry, if the task has no observers and a request waits for its end.
    var willRetry: (@Sendable (RequestRetry) -> Void)?
    let context: TransferContext
    /// The time since the task was made in this process.
    let elapsed: @Sendable () -> Duration
    private(set) weak var list: TaskList<TransferTask>?
    /// Called when the progress has grown.
    var didProgress: (@Loop () -> Void)?
    /// The event that is being handled, and the events after it.
    var events: [Machine.Event] = []
    var timer: ScheduledCall?

    /// - Parameter recordWriter: nil without a task store.
    init(
        _ record: TaskRecord, _ machine: Machine, _ sessionState: SessionState<Strategy>, _ limiter: ConcurrencyLimiter,
        _ recordWriter: TaskRecordWriter?, in list: TaskList<TransferTask>, _ context: TransferContext
    ) {
        (number, shown, isSeen) = (record.number, TaskSnapshot(of: record), record.folder == nil)
        (self.machine, self.sessionState, self.limiter) = (machine, sessionState, limiter)
        (self.list, self.context) = (list, context)
        elapsed = context.time.clock.stopwatch()
        known = Known(machine)
        control = TaskControl(hasEnded: machine.taskState.isFinished)
        recording =
            record.hasEnded
            ? .ended(again: record.forRetry, wasRecorded: false)
            : recordWriter.map(Recording.recorded) ?? .unrecorded(record)
        recordWriter?.didKeep = { [weak self] in self?.releaseHeldBytes() }
        if record.hasEnded { boundMetadata() }
    }

    public var id: String { shown.task }
    public var reference: Reference { shown.reference }
    public var key: String? { shown.key }
    public var endpoint: String? { shown.endpoint }
    var origin: TaskRequest.Origin? { shown.origin }
    public var isStream: Bool { origin == .stream }
    public var pausesWithConnections: Bool { origin != .gateway }
    /// Whether clients see the task: it belongs to no task over a folder.
    let isSeen: Bool

    /// Nil without a task store, and after the end.
    var recordWriter: TaskRecordWriter? { if case .recorded(let writer) = recording { writer } else { nil } }

    /// The record of a task whose end is not published.
    var unfinishedRecord: TaskRecord? {
        switch recording {
        case .unrecorded(let record): record
        case .recorded(let writer): writer.record
        case .ended: nil
        }
    }

    /// Drops the state that an ended task needs neither for its snapshot nor for a retry.
    func dropWorkingState() {
        guard case .ended(let outcome) = machine.state else { return }
        let again = outcome.mayBeRetried ? unfinishedRecord.flatMap { $0.ended(outcome, at: $0.began).forRetry } : nil
        recording = .ended(again: again, wasRecorded: recordWriter?.isKept ?? false)
        (timer, willRetry) = (nil, nil)
        if Strategy.kind == .upload { stream = nil }
        boundMetadata()
    }

    /// Bounds the metadata of an ended task. After a success the snapshot has the metadata of the object instead.
    private func boundMetadata() {
        if case .ended(.succeeded) = machine.state {
            shown.metadata = nil
        } else if case .uploading(let settable, let md5Hash) = shown.metadata {
            shown.metadata = .uploading(settable.bounded, md5Hash: md5Hash)
        }
    }

    public func snapshot(for status: Status?) -> TaskSnapshot {
        var snapshot = shown
        (snapshot.status, snapshot.state) = (status ?? state.status, state(for: status))
        snapshot.progress = machine.progress
        if isStream, !snapshot.state.isFinished { snapshot.offset = stream?.offset }
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

    // MARK: - Controls

    public func post(_ control: ClientControl) { post(.requested(control)) }

    /// Opens the session of a task of an earlier process with these tokens.
    public func use(_ tokens: (any TokenSource)?, for control: ClientControl) {
        if case .deferred(let open) = sessionState { sessionState = .open(open(tokens), nil) }
    }

    public func endRest() -> Bool {
        guard machine.allows(.retry) else { return false }
        timer?.cancel()
        post(.retry)
        return true
    }

    private var recordForRetry: TaskRecord? { if case .ended(let again, _) = recording { again } else { nil } }
    public var mayRunAgain: Bool { recordForRetry != nil }

    public func runAgain(_ tokens: (any TokenSource)?, in transfers: Transfers) async throws -> TransferTask? {
        guard let record = recordForRetry, try await context.ends?.reopen(record) ?? true,
            let again = Strategy.again(record, in: transfers)
        else { return nil }
        _ = again.resume(tokens: tokens)
        return again
    }

    public func usesFiles(outside confinement: LocalConfinement) -> Bool {
        guard let request = (unfinishedRecord ?? recordForRetry)?.request else { return false }
        return !request.file.isEmpty && !request.isSpooled && request.confinement != confinement
    }

    public func notify(_ observer: Observer, _ event: Told<TaskSnapshot>) {
        observer.connection.notify(observer.handle, event)
    }

    public func untilRecorded() async { await recordWriter?.settled() }

    /// Returns when progress up to an offset that the engine has reached is recorded, or the task is paused or has
    /// ended. False if the progress could not be recorded.
    ///
    /// - Parameter again: records even without new progress, since the engine has lost bytes.
    @discardableResult
    func untilRecorded(upTo offset: Int64, again: Bool = false) async -> Bool {
        while machine.progress.completedUnitCount < offset, !isAtRest { await Loop.nextIteration() }
        guard let recordWriter else { return true }
        if again, let session { recordWriter.keep(machine.progress, session.bookmark) }
        await recordWriter.settled()
        return recordWriter.isUpToDate
    }

    // MARK: - The session

    var session: (any TransferSession<Strategy>)? {
        if case .open(let session, _) = sessionState { session } else { nil }
    }

    /// Frees the bytes of a paused upload that were spooled. The upload will continue like a task of an earlier
    /// process.
    private func releaseHeldBytes() {
        guard case .paused = machine.state, case .open(_, let held?) = sessionState,
            let (path, identity) = recordWriter?.source
        else { return }
        sessionState = .deferred { _ in held.reopen(path, identity) }
        held.giveBack()
    }

    /// Frees the session and the bytes of an ended task.
    func closeSession() {
        if case .open(_, let held?) = sessionState { held.giveBack() }
        sessionState = .closed
    }
}

extension TransferTask: LimiterWaiter {
    public nonisolated static var kind: String { Strategy.kind.rawValue }
    public static func tasks(of transfers: Transfers) -> TaskList<TransferTask> { Strategy.tasks(of: transfers) }

    func admit() { post(.admitted) }
}

extension TaskSnapshot {
    /// A snapshot with the members that no event changes.
    fileprivate init(of record: TaskRecord) {
        let isUpload = record.kind == .upload && record.copy == nil
        self.init(
            kind: record.kind, task: record.id, status: .resume, state: .queued, progress: record.progress,
            reference: record.reference,
            metadata: isUpload ? .uploading(record.metadata, md5Hash: record.md5Hash) : nil, endpoint: record.endpoint,
            origin: record.origin, copy: record.copy)
        key = record.key
    }
}
