import Platform
import Storage

/// The tasks of one kind: all unfinished ones, and the newest finished ones.
@Loop public final class TaskList<Strategy: TaskStrategy> {
    let time: TimeSource
    let log: TransferLog
    private let finishedKept: Int
    private let memory: TransferMemory
    private var ownMetrics = TransferMetrics()
    /// The list whose metrics count these tasks, too; nil for a list of its own.
    private let parent: TaskList?
    private var seen: [String: TransferTask<Strategy>] = [:]
    /// The tasks that nobody has looked at yet, as what makes them.
    private var unseen: [String: Maker] = [:]
    typealias Maker = @Loop (TaskList) -> TransferTask<Strategy>
    /// The unfinished tasks that have keys, by these.
    private var ids = ByteKeyedDictionary<String>()
    private var finished = Queue<String>()
    /// The tasks of earlier processes that have ended and are still only in the store, by their states.
    private var unread: [TaskState: Int] = [:]
    /// The tasks that were forgotten meanwhile.
    private var forgottenMeanwhile: Set<String> = []
    /// Called when tasks have to be forgotten that are still only in the store.
    var readsEnded: @Loop () -> Void = {}
    /// The number of unfinished tasks of other endpoints.
    private var unfinishedElsewhere = 0
    private var lastNumber: Int64 = 0
    private let ends: OutcomeRecorder?
    /// Tasks that are removed from the list, but not yet from the store.
    private var dropped: [String] = []

    private let ended: @Loop (_ id: String) -> Void
    private let released: @Loop () -> Void

    /// `released` and `ended` are called when a task has ended. A list within another one keeps no finished tasks.
    init(
        _ context: TransferContext, _ memory: TransferMemory, within parent: TaskList? = nil,
        released: @escaping @Loop () -> Void, ended: @escaping @Loop (_ id: String) -> Void = { _ in }
    ) {
        (time, log, ends) = (context.time, context.log, parent == nil ? context.ends : nil)
        finishedKept = parent == nil ? context.limits.finishedTasks : 0
        (self.memory, self.parent, self.released, self.ended) = (memory, parent, released, ended)
    }

    var metrics: TransferMetrics {
        get { parent?.metrics ?? ownMetrics }
        set { if let parent { parent.metrics = newValue } else { ownMetrics = newValue } }
    }

    var tasks: [String: TransferTask<Strategy>] {
        guard !unseen.isEmpty else { return seen }
        unseenEnded = 0
        for (id, make) in exchange(&unseen, with: [:]) {
            let task = make(self)
            seen[id] = task
            beginCounting(task)
        }
        return seen
    }

    func hasTask(_ id: String) -> Bool { seen[id] != nil || unseen[id] != nil }

    /// The number of unfinished tasks of this endpoint.
    var unfinished: Int { seen.count + unseen.count - finished.count - unfinishedElsewhere }

    /// In the order of their creation.
    public var all: [TransferTask<Strategy>] { tasks.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) } }

    private var seenCounts: [TaskState: Int] = [:]
    /// How many of the tasks that nobody has looked at have succeeded; the others run.
    private var unseenEnded = 0

    /// The number of tasks in the state.
    func count(of state: TaskState) -> Int {
        let unseen = state == .running ? unseen.count - unseenEnded : state == .success ? unseenEnded : 0
        return (seenCounts[state] ?? 0) + unseen + (unread[state] ?? 0)
    }

    /// Counts a listed task in its present state, or a task that leaves the list no more.
    func count(_ task: TransferTask<Strategy>, leaves: Bool = false) {
        let state = leaves ? nil : task.state
        guard let counted = task.countedState, counted != state else { return }
        seenCounts[counted, default: 0] -= 1
        if let state { seenCounts[state, default: 0] += 1 }
        task.countedState = state
    }

    private func beginCounting(_ task: TransferTask<Strategy>) {
        seenCounts[task.state, default: 0] += 1
        task.countedState = task.state
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
        memory.take(held?.count ?? 0)
        if let old = seen.updateValue(task, forKey: task.id) { count(old, leaves: true) }
        beginCounting(task)
        if task.endpoint != nil { unfinishedElsewhere += 1 }
        if task.state.isFinished {
            finish(task)
        } else if let key = task.key, task.endpoint == nil {
            ids[key] = task.id
        }
        return task
    }

    /// A task of this endpoint that runs, without a key. It holds so many bytes.
    func add(unseen id: String, holding bytes: Int, _ make: @escaping Maker) {
        memory.take(bytes)
        unseen[id] = make
    }

    /// Such a task has succeeded, and nobody has looked at it: `make` makes the task that has ended.
    func end(
        unseen id: String, of size: Int64, holding bytes: Int, after elapsed: () -> Duration,
        _ make: @escaping Maker
    ) {
        unseen[id] = make
        unseenEnded += 1
        metrics.add(size)
        metrics.ended(.success)
        log.info?("\(Strategy.kind) \(id) succeeded after \(elapsed()): \(size) bytes")
        memory.giveBack(bytes)
        noteFinished(id)
    }

    /// Forgets a finished task; returns false for an unfinished one.
    public func forget(_ task: TransferTask<Strategy>) async -> Bool {
        guard finished.removeFirst(where: { $0 == task.id }) else { return false }
        seen[task.id] = nil
        count(task, leaves: true)
        if hasUnread { forgottenMeanwhile.insert(task.id) }
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

    func release(_ bytes: Int) { memory.giveBack(bytes) }

    func finish(_ task: TransferTask<Strategy>) {
        ended(task.id)
        if let key = task.key, ids[key] == task.id { ids[key] = nil }
        if task.endpoint != nil { unfinishedElsewhere -= 1 }
        noteFinished(task.id)
    }

    // MARK: - Tasks that have ended before

    /// Some tasks of earlier processes are still only in the store.
    var hasUnread: Bool { !unread.isEmpty }

    /// More tasks have ended than are kept.
    var hasTooMany: Bool { finished.count + unreadCount > finishedKept }

    private var unreadCount: Int { unread.values.reduce(0, +) }

    /// So many tasks of earlier processes have ended, in these states; `add` adds them later.
    func leaveUnread(_ counts: [TaskState: Int], after number: Int64) {
        unread = counts.filter { $0.value > 0 }
        lastNumber = max(lastNumber, number)
    }

    /// Adds the tasks that were only in the store, in the order of their ends, before those that have ended since.
    func add(unread records: [TaskRecord], _ make: @Loop (TaskRecord) -> Void) {
        var since = exchange(&finished, with: Queue())
        let forgotten = exchange(&forgottenMeanwhile, with: [])
        unread = [:]
        for record in records where !hasTask(record.id) && !forgotten.contains(record.id) { make(record) }
        while let id = since.popFirst() { noteFinished(id) }
    }

    private static var droppedAtOnce: Int { 64 }

    private func noteFinished(_ id: String) {
        finished.append(id)
        defer { released() }
        // The oldest are in the store. Now and then they go.
        if hasUnread {
            if finished.count > finishedKept || finished.count + unreadCount >= finishedKept + Self.droppedAtOnce {
                readsEnded()
            }
            return
        }
        guard finished.count > finishedKept, let oldest = finished.popFirst() else { return }
        if unseen.removeValue(forKey: oldest) != nil { unseenEnded -= 1 }
        let gone = seen.removeValue(forKey: oldest)
        if let gone { count(gone, leaves: true) }
        // A record of another endpoint stays for the service there.
        guard gone?.endpoint == nil else { return }
        dropped.append(oldest)
        guard dropped.count >= Self.droppedAtOnce else { return }
        let some = dropped
        dropped = []
        Loop.task { [ends] in await ends?.forget(some) }
    }
}
