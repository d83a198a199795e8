import Platform
import Storage

/// One who observes tasks: a connection. What it hears goes through its closure, in order.
@Loop
public final class Listener {
    public typealias Hear = @Loop (_ handle: String, _ snapshot: TaskSnapshot) -> Void

    let hear: Hear
    let audience: Audience
    /// By their handles; nil where the observer is still to come.
    var observing: [String: (any Observed)?] = [:]
    private var hasLeft = false

    public init(of audience: Audience = Audience(), _ hear: @escaping Hear) {
        self.audience = audience
        self.hear = hear
    }

    /// False where this listener has no such observer of such a task, or has it no more.
    public func removeObserver<Course: TaskCourse>(_ handle: String, of kind: Course.Type) -> Bool {
        guard let task = observing[handle] as? TransferTask<Course> else { return false }
        return task.forget { $0.handle == handle } > 0
    }

    /// Removes its observers of a task; others' stay. Returns how many there were.
    public func removeAllObservers<Course>(of task: TransferTask<Course>, for status: Status? = nil) -> Int {
        task.forget { $0.listener === self && (status == nil || $0.status == status) }
    }

    /// Nothing is heard any more.
    public func leave() {
        hasLeft = true
        for task in observing.values.compactMap(\.self) { task.forget { $0.listener === self } }
        for handle in Array(observing.keys) { drop(handle) }
    }

    var isThere: Bool { !hasLeft }
}

/// One who waits for one kind of event of one task.
struct Observer {
    var handle: String
    var status: Status
    var listener: Listener
}

/// What can be observed: a task, whichever way its bytes go.
@Loop
protocol Observed: AnyObject {
    /// Returns how many observers there were of that sort.
    @discardableResult func forget(where matches: (Observer) -> Bool) -> Int
}
