import Platform
import Storage

/// Counts the observers of all connections.
@Loop
public final class ObserverRegistry {
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
    /// Reserves so many observers. Throws `quotaExceeded` beyond `--max-observers` and `--max-connection-observers`.
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

    /// A handle without a task is reserved.
    func add(_ handle: String, _ task: (any Observed)?) {
        guard isThere else { return }
        if observing.updateValue(task, forKey: handle) == nil { registry.count += 1 }
    }

    /// Removes an observer, or a reserved handle.
    public func drop(_ handle: String) {
        if observing.removeValue(forKey: handle) != nil { registry.count -= 1 }
    }
}
