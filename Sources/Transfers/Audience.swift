import Platform
import Storage

/// All observers of the service, counted.
@Loop
public final class Audience {
    let limits: TransferLimits
    fileprivate(set) var count = 0
    private var lastNumber = 0

    public nonisolated init(_ limits: TransferLimits = .init()) { self.limits = limits }

    fileprivate func newHandle() -> String {
        lastNumber += 1
        return "observer-\(lastNumber)"
    }
}

extension Listener {
    /// Keeps room for so many observers. Throws `quotaExceeded` where there is none.
    public func newHandles(_ number: Int) throws(StorageError) -> [String] {
        let limits = audience.limits
        guard observing.count + number <= limits.connectionObservers else {
            throw .noRoom(
                for: "observers of this connection", "--max-connection-observers", is: limits.connectionObservers)
        }
        guard audience.count + number <= limits.observers else {
            throw .noRoom(for: "observers", "--max-observers", is: limits.observers)
        }
        return (0..<number).map { _ in
            let handle = audience.newHandle()
            add(handle, nil)
            return handle
        }
    }

    /// Nil announces one to come.
    func add(_ handle: String, _ task: (any Observed)?) {
        guard isThere else { return }
        if observing.updateValue(task, forKey: handle) == nil { audience.count += 1 }
    }

    /// Gives the room back, whether there was an observer or only a handle.
    public func drop(_ handle: String) {
        if observing.removeValue(forKey: handle) != nil { audience.count -= 1 }
    }
}
