import Platform
import Storage

/// The observers of one connection. Its closures receive the events, in order.
@Loop public final class ConnectionObservers {
    public typealias Notify = @Loop (_ handle: String, _ event: Told<TaskSnapshot>) -> Void

    public typealias NotifyFolder = @Loop (_ handle: String, _ event: Told<FolderSnapshot>) -> Void

    /// - Parameter observed: the reference that the observer was added for.
    public typealias Tell = @Loop (_ handle: String, _ observed: Reference, _ change: Told<ObjectChange>) -> Void

    let notify: Notify
    let notifyFolder: NotifyFolder
    let tell: Tell
    let registry: ObserverRegistry
    /// The observed tasks by handle; nil for a reserved handle.
    var observing: [String: (any StorageTask)?] = [:]
    private(set) var isThere = true

    public init(
        of registry: ObserverRegistry = ObserverRegistry(), tell: @escaping Tell = { _, _, _ in },
        folder: @escaping NotifyFolder = { _, _ in }, _ notify: @escaping Notify
    ) {
        (self.registry, self.tell, self.notifyFolder, self.notify) = (registry, tell, folder, notify)
    }

    public var isEmpty: Bool { observing.isEmpty }

    /// Removes an observer of a task of this kind. False if the connection has none with this handle.
    public func removeObserver<Task: StorageTask>(_ handle: String, of kind: Task.Type) -> Bool {
        guard let task = observing[handle] as? Task else { return false }
        return task.forget { $0.handle == handle } > 0
    }

    /// Removes this connection's observers of a task. Returns their number.
    public func removeAllObservers(of task: some StorageTask, for status: Status? = nil) -> Int {
        task.forget { $0.connection === self && (status == nil || $0.status == status) }
    }

    public func leave() {
        isThere = false
        for task in observing.values.compactMap(\.self) { task.forget { $0.connection === self } }
        for handle in Array(observing.keys) { drop(handle) }
    }
}

/// An observer of one kind of event of one task.
public struct Observer {
    var handle: String
    var status: Status
    var connection: ConnectionObservers
}

/// The snapshot of an event, or a change, that several observers receive.
@Loop public final class Told<Snapshot> {
    public let snapshot: Snapshot
    /// The text for the first observer, which the others receive, too.
    public var encoded: [UInt8]?

    init(_ snapshot: Snapshot) { self.snapshot = snapshot }
}

extension StorageTask {
    /// Adds an observer. If the status fits the present state, the observer receives an event at once. A task that has
    /// ended keeps no observer.
    public func observe(_ status: Status, handle: String, _ connection: ConnectionObservers) {
        guard connection.isThere else { return }
        let observer = Observer(handle: handle, status: status, connection: connection)
        if !state.isFinished {
            control.observers.append(observer)
            connection.add(handle, self)
        } else {
            connection.drop(handle)
        }
        if state.fits(status) { notify(observer, Told(snapshot(for: status))) }
    }

    func publish(_ status: Status) {
        guard control.observers.contains(where: { $0.status == status }) else { return }
        let event = Told(snapshot(for: status))
        for observer in control.observers where observer.status == status { notify(observer, event) }
    }

    /// Removes the observers that match. Returns their number.
    @discardableResult func forget(where matches: (Observer) -> Bool) -> Int {
        if control.observers.isEmpty { return 0 }
        let gone = control.observers.filter(matches)
        if !gone.isEmpty { control.observers.removeAll(where: matches) }
        for observer in gone { observer.connection.drop(observer.handle) }
        return gone.count
    }
}

/// Counts the observers of all connections.
@Loop public final class ObserverRegistry {
    let limits: TransferLimits
    fileprivate(set) var count = 0
    private var lastNumber = 0

    public nonisolated init(_ limits: TransferLimits = .init()) { self.limits = limits }

    fileprivate func newHandle() -> String {
        lastNumber += 1
        return "observer-\(lastNumber)"
    }
}

extension ConnectionObservers {
    /// Reserves handles for observers. Throws `quotaExceeded` beyond `--max-observers` and
    /// `--max-connection-observers`.
    public func newHandles(_ number: Int) throws(StorageError) -> [String] {
        let limits = registry.limits
        guard observing.count + number <= limits.connectionObservers else {
            throw .noRoom(
                for: "observers of this connection", "--max-connection-observers", is: limits.connectionObservers)
        }
        guard registry.count + number <= limits.observers else {
            throw .noRoom(for: "observers", "--max-observers", is: limits.observers)
        }
        return (0..<number).map { _ in
            let handle = registry.newHandle()
            add(handle, nil)
            return handle
        }
    }

    /// Assigns a handle to a task; with nil reserves the handle.
    func add(_ handle: String, _ task: (any StorageTask)?) {
        guard isThere else { return }
        if observing.updateValue(task, forKey: handle) == nil { registry.count += 1 }
    }

    /// Removes an observer, or a reserved handle.
    public func drop(_ handle: String) { if observing.removeValue(forKey: handle) != nil { registry.count -= 1 } }
}
