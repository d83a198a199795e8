import EventLoop
import Storage

/// The tasks of one kind: those under way, and the newest of those that have ended.
@Loop
public final class TaskList<Course: TaskCourse> {
    private let time: TimeKeeping
    private var tasks: [String: TransferTask<Course>] = [:]
    private var finished: [String] = []
    private var lastNumber = 0

    init(_ time: TimeKeeping) { self.time = time }

    /// In the order of their creation.
    public var all: [TransferTask<Course>] { tasks.values.sorted { $0.number < $1.number } }

    /// Throws `invalidArgument` for an id that is unknown, of another kind, or was known too long ago.
    public func task(_ id: String) throws(StorageError) -> TransferTask<Course> {
        guard let task = tasks[id] else {
            throw .invalidArgument("task", "There is no \(Course.kind) task \"\(id)\", or it ended long ago.")
        }
        return task
    }

    func make(_ plan: TransferPlan<Course>) -> TransferTask<Course> {
        lastNumber += 1
        let task = TransferTask(plan, number: lastNumber, time: time) { [weak self] in self?.finish($0) }
        tasks[task.id] = task
        return task
    }

    /// None of them runs or waits for a place: what is left is paused or has ended.
    var areAtRest: Bool { !tasks.values.contains { $0.state == .running || $0.state == .queued } }

    /// Pauses all that run, as far as they still can be paused; those in line first, so that none of them gets a place.
    func suspend() async throws {
        for task in all.reversed() { _ = try await task.pause() }
    }

    /// What has arrived for tasks that have not ended is not wanted any more.
    func letGo() {
        for task in tasks.values where !task.state.isFinished { task.letGo() }
    }

    private func finish(_ task: TransferTask<Course>) {
        finished.append(task.id)
        if finished.count > Transfers.finishedTasksKept { tasks[finished.removeFirst()] = nil }
    }
}

/// A course whose tasks a service keeps.
@Loop
public protocol TransferCourse: TaskCourse {
    static func tasks(of transfers: Transfers) -> TaskList<Self>
}

extension UploadCourse: TransferCourse {
    public static func tasks(of transfers: Transfers) -> TaskList<UploadCourse> { transfers.uploads }
}

extension DownloadCourse: TransferCourse {
    public static func tasks(of transfers: Transfers) -> TaskList<DownloadCourse> { transfers.downloads }
}
