import Synchronization

/// A count that any thread may increase, by one relaxed addition without a lock.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public var value: Int { count.load(ordering: .relaxed) }

    public func increment() { count.add(1, ordering: .relaxed) }
}
