import Platform
import Storage

/// The tasks of one kind: all unfinished ones, and the newest finished ones.
@Loop public final class TaskList<Listed: StorageTask> {
    /// How many finished tasks a list keeps, and how the others are forgotten.
    struct Retention {
        /// The number of finished tasks that are kept.
        let kept: Int
        /// The number of tasks that are forgotten together.
        var atOnce = 1
        let forget: @Loop ([Dropped]) async -> Void
    }

    /// A task that leaves the list; nil if no request has read it.
    typealias Dropped = (id: String, task: Listed?)

    /// The metrics of the tasks, and of the transfers of folders.
    let metrics: TransferMetrics
    private let retention: Retention
    private(set) var tasks: [String: Listed] = [:]
    /// Work that is no task until a request reads the tasks.
    @Loop final class Unseen {
        /// Makes the task.
        fileprivate var make: @Loop () -> Listed

        fileprivate init(_ make: @escaping @Loop () -> Listed) { self.make = make }
    }

    /// Unseen work by the ids that the tasks get.
    private var unseen: [String: Unseen] = [:]
    /// The number of entries of `unseen` that have succeeded; the others run.
    private var unseenEnded = 0
    /// The ids of the unfinished tasks that have keys, by key.
    private var ids = ByteKeyedDictionary<String>()
    private var finished = Queue<String>()
    /// The numbers of tasks by state.
    private var counts: [TaskState: Int] = [:]
    /// The numbers of ended tasks of earlier processes that are only in the store, by state.
    private var unread: [TaskState: Int] = [:]
    /// The tasks that were forgotten before the ended tasks of earlier processes were read.
    private var forgottenMeanwhile: Set<String> = []
    /// Called when ended tasks must be forgotten that are only in the store.
    var readsEnded: @Loop () -> Void = {}
    /// The number of unfinished tasks of other endpoints.
    private var unfinishedElsewhere = 0
    private var lastNumber: Int64 = 0
    /// Tasks that were removed from the list, and are not yet removed from the store.
    private var dropped: [Dropped] = []
    private let ended: @Loop (Listed) -> Void

    /// `ended` is called when a task has ended.
    init(_ retention: Retention, _ metrics: TransferMetrics = .init(), ended: @escaping @Loop (Listed) -> Void) {
        (self.retention, self.metrics, self.ended) = (retention, metrics, ended)
    }

    /// The number of unfinished tasks of this endpoint.
    var unfinished: Int { tasks.count + unseen.count - finished.count - unfinishedElsewhere }

    /// All tasks, in the order of their creation.
    public var all: [Listed] {
        seeAll()
        return tasks.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
    }

    /// The number of tasks in the state.
    func count(of state: TaskState) -> Int {
        let unseen = state == .running ? unseen.count - unseenEnded : state == .success ? unseenEnded : 0
        return (counts[state] ?? 0) + (unread[state] ?? 0) + unseen
    }

    /// Counts a listed task in its present state.
    ///
    /// - Parameter leaves: the task leaves the list, and counts no more.
    func count(_ task: Listed, leaves: Bool = false) {
        let state = leaves ? nil : task.state
        guard let counted = task.control.counted, counted != state else { return }
        counts[counted, default: 0] -= 1
        if let state { counts[state, default: 0] += 1 }
        task.control.counted = state
    }

    /// Throws `invalidArgument` for an id that is unknown, of another kind, or of a task that was dropped.
    public func task(_ id: String) throws(StorageError) -> Listed {
        see(id)
        guard let task = tasks[id] else {
            throw .noTask(id, Listed.kind)
        }
        return task
    }

    /// The unfinished task of this endpoint with a key.
    func unfinishedTask(withKey key: String) -> Listed? { ids[key].flatMap { tasks[$0] } }

    /// An unfinished task of this endpoint with an object.
    func unfinishedTask(at reference: Reference) -> Listed? {
        guard unfinished > 0 else { return nil }
        return tasks.values.first { !$0.state.isFinished && $0.endpoint == nil && $0.reference == reference }
    }

    func newNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    func add(_ task: Listed) {
        lastNumber = max(lastNumber, task.number)
        if let old = tasks[task.id] { count(old, leaves: true) }
        list(task)
        if task.endpoint != nil { unfinishedElsewhere += 1 }
        if task.hasEnded { finish(task) } else { noteKey(of: task) }
    }

    private func list(_ task: Listed) {
        tasks[task.id] = task
        counts[task.state, default: 0] += 1
        task.control.counted = task.state
    }

    private func noteKey(of task: Listed) {
        if let key = task.key, task.endpoint == nil { ids[key] = task.id }
    }

    func has(_ id: String) -> Bool { tasks[id] != nil || unseen[id] != nil }

    /// Adds running work of this endpoint that has no key.
    func add(unseen id: String, _ make: @escaping @Loop () -> Listed) -> Unseen {
        let work = Unseen(make)
        unseen[id] = work
        return work
    }

    /// Records that unseen work has succeeded.
    ///
    /// - Parameter make: makes the ended task.
    func end(_ work: Unseen?, _ id: String, _ make: @escaping @Loop () -> Listed) {
        work?.make = make
        unseenEnded += 1
        noteFinished(id)
    }

    /// Lists unseen work as a task.
    private func see(_ id: String) {
        guard let task = unseen.removeValue(forKey: id)?.make() else { return }
        if task.hasEnded { unseenEnded -= 1 }
        list(task)
    }

    /// Lists all unseen work as tasks.
    func seeAll() { for id in Array(unseen.keys) { see(id) } }

    /// Forgets a finished task; returns false for an unfinished one.
    public func forget(_ task: Listed) async -> Bool {
        guard finished.removeFirst(where: { $0 == task.id }) else { return false }
        tasks[task.id] = nil
        count(task, leaves: true)
        if hasUnread { forgottenMeanwhile.insert(task.id) }
        await retention.forget([(task.id, task)])
        return true
    }

    /// Removes a task that runs again from the finished ones. False if the task is not one of them.
    func reopen(_ task: Listed) -> Bool {
        guard tasks[task.id] === task, finished.removeFirst(where: { $0 == task.id }) else { return false }
        noteKey(of: task)
        return true
    }

    /// Whether no task runs, except streams.
    var areAtRest: Bool { unseen.count == unseenEnded && !tasks.values.contains { !$0.isAtRest && !$0.isStream } }

    /// Pauses all tasks that can be paused. Pauses queued tasks first, so that none of them starts.
    func suspend() async throws {
        let all = Array(all.reversed())
        for task in all { _ = task.beginPause() }
        for task in all { try await task.settle() }
    }

    /// Cancels all tasks. Cancels queued tasks first, so that none of them starts.
    func cancelAll() async {
        let all = Array(all.reversed())
        for task in all { _ = task.beginCancel() }
        for task in all { try? await task.settle() }
    }

    func finish(_ task: Listed) {
        if let key = task.key, ids[key] == task.id { ids[key] = nil }
        if task.endpoint != nil { unfinishedElsewhere -= 1 }
        noteFinished(task.id)
        ended(task)
    }

    // MARK: - Ended tasks of earlier processes

    /// Whether ended tasks of earlier processes are only in the store.
    var hasUnread: Bool { !unread.isEmpty }

    /// Whether more tasks have ended than the list keeps.
    var hasTooMany: Bool { finished.count + unreadCount > retention.kept }

    private var unreadCount: Int { unread.values.reduce(0, +) }

    /// Records the numbers of ended tasks of earlier processes, which `add(unread:_:)` adds later.
    func leaveUnread(_ counts: [TaskState: Int], after number: Int64) {
        unread = counts.filter { $0.value > 0 }
        lastNumber = max(lastNumber, number)
    }

    /// Adds the tasks that were only in the store, in the order of their ends. Tasks that ended in this process follow.
    func add(unread records: [TaskRecord], _ make: @Loop (TaskRecord) -> Void) {
        var since = exchange(&finished, with: Queue())
        let forgotten = exchange(&forgottenMeanwhile, with: [])
        unread = [:]
        for record in records where !has(record.id) && !forgotten.contains(record.id) { make(record) }
        while let id = since.popFirst() { noteFinished(id) }
    }

    private static var readAtMost: Int { 64 }

    private func noteFinished(_ id: String) {
        finished.append(id)
        // Ended tasks that are only in the store are the oldest. They are read before others are dropped.
        if hasUnread {
            if finished.count > retention.kept || finished.count + unreadCount >= retention.kept + Self.readAtMost {
                readsEnded()
            }
            return
        }
        guard finished.count > retention.kept, let oldest = finished.popFirst() else { return }
        if unseen.removeValue(forKey: oldest) != nil { unseenEnded -= 1 }
        let gone = tasks.removeValue(forKey: oldest)
        if let gone { count(gone, leaves: true) }
        // The record of another endpoint is for a service that uses that endpoint.
        guard gone?.endpoint == nil else { return }
        dropped.append((oldest, gone))
        guard dropped.count >= retention.atOnce else { return }
        let some = exchange(&dropped, with: [])
        Loop.task { [retention] in await retention.forget(some) }
    }
}

extension StorageError {
    /// The error for an unknown task.
    package static func noTask(_ id: String, _ kind: String) -> StorageError {
        .invalidArgument("task", "There is no \(kind) task \"\(id)\", or it ended long ago.")
    }
}
