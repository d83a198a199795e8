import CSystem

/// The operations that a descriptor is ready for.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let readable = Readiness(rawValue: UInt32(CSYSTEM_READABLE))
    public static let writable = Readiness(rawValue: UInt32(CSYSTEM_WRITABLE))
    /// The other end is closed. Reported even without an interest in it.
    public static let hungUp = Readiness(rawValue: UInt32(CSYSTEM_HUNG_UP))
}

/// Calls a handler on the loop whenever a descriptor is ready, until it is cancelled.
@Loop
public final class DescriptorWatcher {
    let handler: @Loop (Readiness) -> Void
    private let descriptor: Int32
    private var tag: UInt64 = 0
    private var interest: Readiness

    /// Nil if the system cannot poll the descriptor: a regular file is always ready.
    public init?(_ descriptor: Int32, for interest: Readiness, _ handler: @escaping @Loop (Readiness) -> Void) {
        self.descriptor = descriptor
        self.interest = interest
        self.handler = handler
        tag = Poller.shared.add(self)
        if csystem_poller_add(Loop.shared.executor.poller, descriptor, interest.rawValue, tag) != 0 {
            Poller.shared.remove(tag)
            return nil
        }
    }

    public func change(to interest: Readiness) {
        guard interest != self.interest else { return }
        self.interest = interest
        csystem_poller_change(Loop.shared.executor.poller, descriptor, interest.rawValue, tag)
    }

    /// Stops watching. Must be called before the descriptor is closed.
    public func cancel() {
        csystem_poller_remove(Loop.shared.executor.poller, descriptor)
        Poller.shared.remove(tag)
    }
}
