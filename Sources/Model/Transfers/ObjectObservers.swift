import Platform
import Storage
import Synchronization

/// The observers of objects of all connections of a space.
@Loop final class ObjectObservers {
    private struct Observer {
        var reference: Reference
        var connection: ConnectionObservers
    }

    private struct Pending {
        /// The changes that the loop has not handled.
        var changes: [ObjectChange] = []
        var isDelivering = false
    }

    /// The number of observers that are notified before other work of the loop runs.
    private static let toldAtOnce = 256
    /// While more changes wait, no other work of the loop runs, so that clients cannot make more changes.
    private static let mostWaiting = 1000

    private let feed: ChangeFeed?
    private let engine: EngineKind
    private var observers = ObservedPlaces<Observer>()
    private nonisolated let pending = Mutex(Pending())
    private var told = 0

    init(of engine: EngineProperties) { (feed, self.engine) = (engine.changes, engine.kind) }

    /// Throws `invalidArgument` for an engine that publishes no changes.
    func add(_ reference: Reference, _ handle: String, _ connection: ConnectionObservers) throws(StorageError) {
        guard let feed else {
            throw StorageError(
                .invalidArgument,
                "The engine \(engine.rawValue) does not report changes; reference/list shows the current objects.")
        }
        if observers.isEmpty { feed.listen { [weak self] in self?.take($0) } }
        observers.add(Observer(reference: reference, connection: connection), handle, at: reference)
    }

    /// False if this connection has no observer with this handle.
    func remove(_ handle: String, of connection: ConnectionObservers) -> Bool {
        guard observers[handle]?.connection === connection else { return false }
        observers.remove(handle)
        if observers.isEmpty { feed?.listen(nil) }
        return true
    }

    func removeAll(of connection: ConnectionObservers) {
        guard !observers.isEmpty else { return }
        observers.remove { $0.connection === connection }
        if observers.isEmpty { feed?.listen(nil) }
    }

    private nonisolated func take(_ changes: [ObjectChange]) {
        let isFirst = pending.withLock { pending in
            pending.changes += changes
            return !exchange(&pending.isDelivering, with: true)
        }
        if isFirst { Loop.task { await self.deliver() } }
    }

    private func deliver() async {
        while case let changes = nextChanges(), !changes.isEmpty {
            for change in changes { await deliver(Told(change)) }
        }
    }

    /// Takes the pending changes. If there are none, the delivery ends, and the next change begins another one.
    private func nextChanges() -> [ObjectChange] {
        pending.withLock { pending in
            pending.isDelivering = !pending.changes.isEmpty
            return exchange(&pending.changes, with: [])
        }
    }

    private func deliver(_ change: Told<ObjectChange>) async {
        for group in observers.groups(at: change.snapshot.reference) {
            // An observer may have been removed while other work of the loop ran.
            for (handle, observer) in group where observers.has(handle) {
                observer.connection.tell(handle, observer.reference, change)
                told += 1
                guard told.isMultiple(of: Self.toldAtOnce) else { continue }
                if pending.withLock({ $0.changes.count < Self.mostWaiting }) { await Loop.nextIteration() }
            }
        }
    }
}

/// Values by the place that they observe. The cost of a lookup does not depend on the number of values.
struct ObservedPlaces<Value> {
    typealias Group = [String: Value]

    /// The bucket, a zero, and the prefix of all names below a reference.
    private typealias Place = [UInt8]

    private var groups: [Place: Group] = [:]
    /// The number of places for each length of their prefixes.
    private var lengths: [Int: Int] = [:]
    private var references: [String: Reference] = [:]

    var isEmpty: Bool { references.isEmpty }

    func has(_ handle: String) -> Bool { references[handle] != nil }

    subscript(handle: String) -> Value? { references[handle].flatMap { groups[Self.place(of: $0)]?[handle] } }

    private static func place(of reference: Reference) -> Place {
        place(in: reference.bucket, reference.prefix.utf8)
    }

    private static func place(in bucket: String, _ prefix: some Collection<UInt8>) -> Place {
        Array(bucket.utf8) + [0] + prefix
    }

    mutating func add(_ value: Value, _ handle: String, at reference: Reference) {
        let place = Self.place(of: reference)
        if groups[place] == nil { lengths[reference.prefix.utf8.count, default: 0] += 1 }
        groups[place, default: [:]][handle] = value
        references[handle] = reference
    }

    mutating func remove(_ handle: String) {
        guard let reference = references.removeValue(forKey: handle) else { return }
        let (place, length) = (Self.place(of: reference), reference.prefix.utf8.count)
        groups[place]?[handle] = nil
        guard groups[place]?.isEmpty == true else { return }
        groups[place] = nil
        lengths[length, default: 0] -= 1
        if lengths[length] == 0 { lengths[length] = nil }
    }

    mutating func remove(where matches: (Value) -> Bool) {
        for handle in references.keys where self[handle].map(matches) == true { remove(handle) }
    }

    /// The observers of an object: of the object itself, of the folders above it, and of its bucket.
    func groups(at reference: Reference) -> [Group] {
        let name = Array(reference.object.utf8)
        let ends = [0] + name.indices.filter { name[$0] == UInt8(ascii: "/") }.map { $0 + 1 }
        var found = ends.filter { lengths[$0] != nil }
            .compactMap { groups[Self.place(in: reference.bucket, name[..<$0])] }
        if name.last != UInt8(ascii: "/"), !name.isEmpty, let named = groups[Self.place(of: reference)] {
            // The place of `a` also has the observers of the object `a/`.
            found.append(named.filter { references[$0.key]?.object.hasSameBytes(as: reference.object) == true })
        }
        return found
    }
}
