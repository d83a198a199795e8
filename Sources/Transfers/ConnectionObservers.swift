import Platform
import Storage

/// The observers of one connection. Their events go to its closure, in order.
@Loop
public final class ConnectionObservers {
    public typealias Notify = @Loop (_ handle: String, _ snapshot: TaskSnapshot) -> Void

    let notify: Notify
    let registry: ObserverRegistry
    /// The observed tasks by handle; nil where the handle is reserved.
    var observing: [String: (any Observed)?] = [:]
    private var hasLeft = false

    public init(of registry: ObserverRegistry = ObserverRegistry(), _ notify: @escaping Notify) {
        self.registry = registry
        self.notify = notify
    }

    /// False where this connection has no such observer of such a task, or has it no more.
    public func removeObserver<Strategy: TransferStrategy>(_ handle: String, of kind: Strategy.Type) -> Bool {
        guard let task = observing[handle] as? TransferTask<Strategy> else { return false }
        return task.forget { $0.handle == handle } > 0
    }

    /// Removes this connection's observers of a task. Returns how many there were.
    public func removeAllObservers<Strategy>(of task: TransferTask<Strategy>, for status: Status? = nil) -> Int {
        task.forget { $0.connection === self && (status == nil || $0.status == status) }
    }

    /// The connection has ended: removes all observers.
    public func leave() {
        hasLeft = true
        for task in observing.values.compactMap(\.self) { task.forget { $0.connection === self } }
        for handle in Array(observing.keys) { drop(handle) }
    }

    var isThere: Bool { !hasLeft }
}

/// An observer of one kind of event of one task.
struct Observer {
    var handle: String
    var status: Status
    var connection: ConnectionObservers
}

/// A task, whatever its strategy.
@Loop
protocol Observed: AnyObject {
    /// Removes observers. Returns how many there were.
    @discardableResult func forget(where matches: (Observer) -> Bool) -> Int
}
