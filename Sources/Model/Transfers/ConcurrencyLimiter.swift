import Platform
import Storage

/// Bounds how many tasks run at the same time. The others wait in a queue.
@Loop final class ConcurrencyLimiter {
    var limit: Int { didSet { admit() } }
    /// The maximum number of tasks that run or finish. At most `limit` of them finish, and none if it is zero.
    var most = 0
    private var running: Set<String> = []
    private var finishing: Set<String> = []
    /// The amount of running work that is no task.
    private var entered = 0
    private var queue = Queue<any LimiterWaiter>()
    private let released: @Loop () -> Void

    init(limit: Int, released: @escaping @Loop () -> Void) { (self.limit, self.released) = (limit, released) }

    func acquire(_ task: any LimiterWaiter) {
        queue.append(task)
        admit()
    }

    /// Admits work that is no task, unless the limit is reached. The caller must call `leave` afterwards.
    func enter() -> Bool {
        guard hasRoom, queue.isEmpty else { return false }
        entered += 1
        return true
    }

    /// Ends work that `enter` has admitted.
    func leave() {
        entered -= 1
        admit()
        released()
    }

    /// Work that `enter` has admitted has become a task, which runs.
    func becomesTask(_ id: String) {
        entered -= 1
        running.insert(id)
    }

    /// Lets the next task run while a running one only waits for the disk.
    func finish(_ task: any LimiterWaiter) {
        guard finishing.count < min(limit, most - limit), running.remove(task.id) != nil else { return }
        finishing.insert(task.id)
        admit()
    }

    /// A finishing task transfers again, even if the limit is reached.
    func run(_ task: any LimiterWaiter) {
        if finishing.remove(task.id) != nil { running.insert(task.id) }
    }

    private var hasRoom: Bool {
        let count = running.count + entered
        return count < limit && (finishing.isEmpty || count + finishing.count < most)
    }

    /// Ends the turn of a running task, or removes a waiting task from the queue.
    func release(_ task: any LimiterWaiter) {
        defer { released() }
        if running.remove(task.id) == nil, finishing.remove(task.id) == nil {
            guard queue.removeFirst(where: { $0 === task }) else { return }
        }
        admit()
    }

    private func admit() {
        while hasRoom, let task = queue.popFirst() {
            running.insert(task.id)
            task.admit()
        }
    }
}

@Loop protocol LimiterWaiter: AnyObject {
    var id: String { get }
    func admit()
}
