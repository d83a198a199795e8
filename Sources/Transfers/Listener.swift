import EventLoop
import Storage

/// One who observes tasks: a connection. What it hears goes through its closure, in order.
@Loop
public final class Listener {
    public typealias Hear = @Loop (_ handle: String, _ snapshot: TaskSnapshot) -> Void

    let hear: Hear
    var observing: [String: UploadTask] = [:]
    private var hasLeft = false

    public init(_ hear: @escaping Hear) { self.hear = hear }

    /// False where this listener has no such observer, or has it no more.
    public func removeObserver(_ handle: String) -> Bool {
        guard let task = observing.removeValue(forKey: handle) else { return false }
        task.forget { $0.handle == handle }
        return true
    }

    /// Removes its observers of a task; others' stay. Returns how many there were.
    public func removeAllObservers(of task: UploadTask, for status: Status? = nil) -> Int {
        task.forget { $0.listener === self && (status == nil || $0.status == status) }
    }

    /// Nothing is heard any more.
    public func leave() {
        hasLeft = true
        for handle in Array(observing.keys) { _ = removeObserver(handle) }
    }

    var isThere: Bool { !hasLeft }
}

/// One who waits for one kind of event of one task.
struct Observer {
    var handle: String
    var status: Status
    var listener: Listener
}
