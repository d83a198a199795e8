import Platform
import Storage
import Synchronization

/// The observers of objects, of all connections of a space.
@Loop final class ObjectObservers {
    private struct Observer {
        var reference: Reference
        var connection: ConnectionObservers
    }

    private let feed: ChangeFeed?
    private let engine: EngineKind
    private var observers: [String: Observer] = [:]
    /// The changes that the loop has not handled.
    private nonisolated let pending = Mutex<[ObjectChange]>([])

    init(of backend: any Backend) { (feed, engine) = (backend.changes, backend.kind) }

    /// Throws `invalidArgument` for an engine that does not hear of changes.
    func add(_ reference: Reference, _ handle: String, _ connection: ConnectionObservers) throws(StorageError) {
        guard let feed else {
            throw StorageError(
                .invalidArgument,
                "The engine \(engine.rawValue) does not hear of changes; reference/list shows what is there.")
        }
        if observers.isEmpty { feed.listen { [weak self] in self?.take($0) } }
        observers[handle] = Observer(reference: reference, connection: connection)
    }

    /// False where this connection has no such observer.
    func remove(_ handle: String, of connection: ConnectionObservers) -> Bool {
        guard observers[handle]?.connection === connection else { return false }
        observers[handle] = nil
        if observers.isEmpty { feed?.listen(nil) }
        return true
    }

    func removeAll(of connection: ConnectionObservers) {
        guard !observers.isEmpty else { return }
        observers = observers.filter { $0.value.connection !== connection }
        if observers.isEmpty { feed?.listen(nil) }
    }

    private nonisolated func take(_ changes: [ObjectChange]) {
        let isFirst = pending.withLock { pending in
            defer { pending += changes }
            return pending.isEmpty
        }
        if isFirst { Task { @Loop in deliver() } }
    }

    private func deliver() {
        for change in pending.withLock({ exchange(&$0, with: []) }) {
            for (handle, observer) in observers where observer.reference.isAtOrAbove(change.reference) {
                observer.connection.tell(handle, observer.reference, change)
            }
        }
    }
}

extension Reference {
    /// Itself, an object below it, or of a bucket any object in it.
    fileprivate func isAtOrAbove(_ other: Reference) -> Bool {
        guard bucket.hasSameBytes(as: other.bucket) else { return false }
        return object.hasSameBytes(as: other.object) || other.object.utf8.starts(with: prefix.utf8)
    }
}

extension Transfers {
    /// Adds an observer of the objects at and below a reference. Returns its handle.
    ///
    /// Throws `invalidArgument` for an engine that does not hear of changes, and `quotaExceeded` beyond the bounds of
    /// observers.
    public func observe(_ reference: Reference, _ connection: ConnectionObservers) throws(StorageError) -> String {
        let handle = try connection.newHandles(1)[0]
        do throws(StorageError) { try objects.add(reference, handle, connection) } catch {
            connection.drop(handle)
            throw error
        }
        return handle
    }

    /// False where this connection has no such observer of objects.
    public func removeObserver(_ handle: String, _ connection: ConnectionObservers) -> Bool {
        guard objects.remove(handle, of: connection) else { return false }
        connection.drop(handle)
        return true
    }

    /// The connection has ended, or has moved to another space.
    public func removeObservers(of connection: ConnectionObservers) {
        objects.removeAll(of: connection)
        connection.leave()
    }
}
