import Platform
import Storage

/// Bounds how many tasks run at the same time. The others wait in a queue.
@Loop final class ConcurrencyLimiter {
    var limit: Int { didSet { admit() } }
    private var running: Set<String> = []
    private var queue = Queue<any LimiterWaiter>()
    private let released: @Loop () -> Void

    init(limit: Int, released: @escaping @Loop () -> Void) { (self.limit, self.released) = (limit, released) }

    func acquire(_ task: any LimiterWaiter) {
        queue.append(task)
        admit()
    }

    /// Admits work that is no task, unless the limit is reached. The caller must call `leave` afterwards.
    func enter(_ id: String) -> Bool {
        guard running.count < limit, queue.isEmpty else { return false }
        running.insert(id)
        return true
    }

    /// Ends work that `enter` has admitted.
    func leave(_ id: String) {
        running.remove(id)
        admit()
        released()
    }

    /// Ends the turn of a running task, or removes a waiting task from the queue.
    func release(_ task: any LimiterWaiter) {
        defer { released() }
        if running.remove(task.id) == nil {
            guard queue.removeFirst(where: { $0 === task }) else { return }
        }
        admit()
    }

    private func admit() {
        while running.count < limit, let task = queue.popFirst() {
            running.insert(task.id)
            task.admit()
        }
    }
}

@Loop protocol LimiterWaiter: AnyObject {
    var id: String { get }
    func admit()
}
