import Platform
import Storage

/// Writes lines about tasks. Nil for a level that is not logged.
public struct TransferLog: Sendable {
    let info: (@Sendable (String) -> Void)?
    let debug: (@Sendable (String) -> Void)?

    /// - Parameters:
    ///   - info: the ends of tasks.
    ///   - debug: their retries.
    public init(info: (@Sendable (String) -> Void)? = nil, debug: (@Sendable (String) -> Void)? = nil) {
        (self.info, self.debug) = (info, debug)
    }
}

/// The tasks of one kind: all unfinished ones, and the newest finished ones.
@Loop public final class TaskList<Strategy: TransferStrategy> {
    let time: TimeSource
    let log: TransferLog
    private let finishedKept: Int
    private var ownMetrics = TransferMetrics()
    /// The list whose metrics count these tasks, too; nil for a list of its own.
    private let parent: TaskList?
    private(set) var tasks: [String: TransferTask<Strategy>] = [:]
    /// The unfinished tasks that have keys, by these.
    private var ids = ByteKeyedDictionary<String>()
    private var finished = Queue<String>()
    /// The number of unfinished tasks of other endpoints.
    private var unfinishedElsewhere = 0
    private var lastNumber: Int64 = 0
    private let ends: OutcomeRecorder?
    /// Tasks that are removed from the list, but not yet from the store.
    private var dropped: [String] = []

    /// The bytes of uploads from memory.
    private(set) var bytesInMemory = 0
    private let ended: @Loop (_ id: String) -> Void
    private let released: @Loop () -> Void

    /// `ended` is called when a task has ended, and `released` then, and when a task holds no bytes any more.
    init(
        _ time: TimeSource, _ log: TransferLog, finishedKept: Int, _ ends: OutcomeRecorder?,
        within parent: TaskList? = nil, ended: @escaping @Loop (_ id: String) -> Void = { _ in },
        released: @escaping @Loop () -> Void
    ) {
        (self.time, self.log, self.parent, self.ended) = (time, log, parent, ended)
        (self.finishedKept, self.ends, self.released) = (finishedKept, ends, released)
    }

    var metrics: TransferMetrics {
        get { parent?.metrics ?? ownMetrics }
        set { if let parent { parent.metrics = newValue } else { ownMetrics = newValue } }
    }

    /// The number of unfinished tasks of this endpoint.
    var unfinished: Int { tasks.count - finished.count - unfinishedElsewhere }

    /// In the order of their creation.
    public var all: [TransferTask<Strategy>] { tasks.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) } }

    /// The number of tasks in each state.
    private(set) var countsByState: [TaskState: Int] = [:]

    func count(of state: TaskState) -> Int { countsByState[state] ?? 0 }

    /// Counts a listed task in its present state, or a task that leaves the list no more.
    func count(_ task: TransferTask<Strategy>, leaves: Bool = false) {
        let state = leaves ? nil : task.state
        guard let counted = task.countedState, counted != state else { return }
        countsByState[counted, default: 0] -= 1
        if let state { countsByState[state, default: 0] += 1 }
        task.countedState = state
    }

    /// Throws `invalidArgument` for an id that is unknown, of another kind, or was known too long ago.
    public func task(_ id: String) throws(StorageError) -> TransferTask<Strategy> {
        guard let task = tasks[id] else {
            throw .invalidArgument("task", "There is no \(Strategy.kind) task \"\(id)\", or it ended long ago.")
        }
        return task
    }

    /// The unfinished task of this endpoint that has a key.
    func unfinishedTask(withKey key: String) -> TransferTask<Strategy>? { ids[key].flatMap { tasks[$0] } }

    func newNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    @discardableResult func make(
        _ record: TaskRecord, _ machine: TaskMachine<Strategy>, _ sessionState: SessionState<Strategy>,
        _ limiter: ConcurrencyLimiter, _ recordWriter: TaskRecordWriter? = nil, holding held: HeldBytes<Strategy>? = nil
    ) -> TransferTask<Strategy> {
        lastNumber = max(lastNumber, record.number)
        let task = TransferTask(record, machine, sessionState, limiter, recordWriter, holding: held, in: self)
        bytesInMemory += held?.count ?? 0
        if let old = tasks.updateValue(task, forKey: task.id) { count(old, leaves: true) }
        countsByState[task.state, default: 0] += 1
        task.countedState = task.state
        if task.endpoint != nil { unfinishedElsewhere += 1 }
        if task.state.isFinished {
            finish(task)
        } else if let key = task.key, task.endpoint == nil {
            ids[key] = task.id
        }
        return task
    }

    /// Forgets a finished task; returns false for an unfinished one.
    public func forget(_ task: TransferTask<Strategy>) async -> Bool {
        guard finished.removeFirst(where: { $0 == task.id }) else { return false }
        tasks[task.id] = nil
        count(task, leaves: true)
        await ends?.forget([task.id])
        return true
    }

    /// Takes a finished task off those that are forgotten one day; false for one that is not listed as finished.
    func reopen(_ task: TransferTask<Strategy>) -> Bool {
        tasks[task.id] === task && finished.removeFirst { $0 == task.id }
    }

    /// No task runs, except streams: those wait for their clients, who may be gone.
    var areAtRest: Bool { !tasks.values.contains { !$0.isAtRest && $0.origin != .stream } }

    /// Pauses all tasks that can still be paused; queued ones first, so that none of them starts.
    func suspend() async throws {
        let all = Array(all.reversed())
        for task in all { _ = task.beginPause() }
        for task in all { try await task.settle() }
    }

    /// Ends all tasks with `cancelled`; queued ones first, so that none of them starts.
    func cancelAll() async {
        let all = Array(all.reversed())
        for task in all { _ = task.beginCancel() }
        for task in all { try? await task.settle() }
    }

    /// Removes the partial downloads of unfinished tasks.
    func discardUnrecordedSessions() {
        for task in tasks.values where !task.state.isFinished { task.discardUnrecordedSession() }
    }

    func release(_ bytes: Int) {
        bytesInMemory -= bytes
        released()
    }

    func finish(_ task: TransferTask<Strategy>) {
        finished.append(task.id)
        ended(task.id)
        if let key = task.key, ids[key] == task.id { ids[key] = nil }
        if task.endpoint != nil { unfinishedElsewhere -= 1 }
        defer { released() }
        guard finished.count > finishedKept, let oldest = finished.popFirst() else { return }
        let gone = tasks.removeValue(forKey: oldest)
        if let gone { count(gone, leaves: true) }
        // A record of another endpoint stays for the service there.
        guard gone?.endpoint == nil else { return }
        dropped.append(oldest)
        guard dropped.count >= 64 else { return }
        let some = dropped
        dropped = []
        Loop.task { [ends] in await ends?.forget(some) }
    }
}

/// A strategy that has a list of tasks.
@Loop public protocol ListedStrategy: TransferStrategy {
    static func tasks(of transfers: Transfers) -> TaskList<Self>
    /// Makes a paused task of one that has failed, in its place.
    static func again(_ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in transfers: Transfers)
        -> TransferTask<Self>?
}

extension UploadStrategy: ListedStrategy {
    public static func tasks(of transfers: Transfers) -> TaskList<UploadStrategy> { transfers.uploads }

    public static func again(
        _ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in transfers: Transfers
    ) -> UploadTask? {
        transfers.restore(record, request, bookmark)
    }
}

extension DownloadStrategy: ListedStrategy {
    public static func tasks(of transfers: Transfers) -> TaskList<DownloadStrategy> { transfers.downloads }

    public static func again(
        _ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in transfers: Transfers
    ) -> DownloadTask? {
        transfers.restore(record, request, bookmark, isRestored: false)
    }
}
