import Platform
import Storage

/// The tasks over folders: all unfinished ones, and the newest finished ones.
@Loop public final class FolderList {
    /// The most finished tasks that are kept, whatever the limit is: their plans are on the disk.
    private static let mostFinished = 100

    private let finishedKept: Int
    let time: TimeSource
    let log: TransferLog
    private(set) var tasks: [String: FolderTask] = [:]
    /// The unfinished tasks that have keys, by these.
    private var ids = ByteKeyedDictionary<String>()
    private var finished = Queue<String>()
    private var lastNumber: Int64 = 0

    init(_ time: TimeSource, _ log: TransferLog, finishedKept: Int) {
        (self.time, self.log, self.finishedKept) = (time, log, min(finishedKept, Self.mostFinished))
    }

    /// In the order of their creation.
    public var all: [FolderTask] { tasks.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) } }

    /// The number of unfinished tasks of this endpoint.
    var unfinished: Int { tasks.values.count { !$0.state.isFinished && $0.endpoint == nil } }

    func count(of state: TaskState) -> Int { tasks.values.count { $0.state == state } }

    var areAtRest: Bool { tasks.values.allSatisfy { $0.state.isFinished || $0.state == .paused } }

    /// Engine requests that no transfer makes: lists and deletions.
    public var operations: Int { tasks.values.reduce(0) { $0 + $1.operations } }

    /// Nothing but transfers and requests to the engine happens to any task.
    var areIdle: Bool { tasks.values.allSatisfy(\.isIdle) }

    func task(_ id: String) throws(StorageError) -> FolderTask {
        guard let task = tasks[id] else {
            throw .invalidArgument("task", "There is no folder task \"\(id)\", or it ended long ago.")
        }
        return task
    }

    /// The unfinished task of this endpoint that has a key.
    func unfinishedTask(withKey key: String) -> FolderTask? { ids[key].flatMap { tasks[$0] } }

    func newNumber() -> Int64 {
        lastNumber += 1
        return lastNumber
    }

    func add(_ task: FolderTask) {
        lastNumber = max(lastNumber, task.number)
        tasks[task.id] = task
        if task.state.isFinished { finish(task) } else { noteKey(task) }
    }

    private func noteKey(_ task: FolderTask) {
        if let key = task.request.key, task.endpoint == nil { ids[key] = task.id }
    }

    func finish(_ task: FolderTask) {
        finished.append(task.id)
        if let key = task.request.key, ids[key] == task.id { ids[key] = nil }
        guard finished.count > finishedKept, let oldest = finished.popFirst() else { return }
        guard let task = tasks.removeValue(forKey: oldest) else { return }
        Loop.task { await task.remove() }
    }

    /// A finished task is about to go on. False where it is none.
    func reopen(_ task: FolderTask) -> Bool {
        guard finished.removeFirst(where: { $0 == task.id }) else { return false }
        noteKey(task)
        return true
    }

    /// Forgets a finished task; returns false for an unfinished one.
    func forget(_ task: FolderTask) async -> Bool {
        guard finished.removeFirst(where: { $0 == task.id }) else { return false }
        tasks[task.id] = nil
        await task.remove()
        return true
    }

    func suspend() async throws {
        for task in all { _ = try await task.pause() }
    }

    func cancelAll() async {
        for task in all { _ = try? await task.cancel(tokens: nil) }
    }
}
