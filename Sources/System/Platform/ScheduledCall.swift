/// A call that is made later, unless it is cancelled before.
public struct ScheduledCall: Sendable {
    public let cancel: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// A clock that stores scheduled calls itself, and so can list everything that waits for it.
package protocol SchedulingClock: Clock<Duration> {
    @Loop func after(_ delay: Duration, _ work: @escaping @Loop () -> Void) -> ScheduledCall
}

extension TimeSource {
    /// Calls `work` after a delay.
    @Loop public func after(_ delay: Duration, _ work: @escaping @Loop () -> Void) -> ScheduledCall {
        if let clock = clock as? any SchedulingClock { return clock.after(delay, work) }
        let task = Task { [clock] in
            do { try await clock.sleep(for: delay) } catch { return }
            work()
        }
        return ScheduledCall { task.cancel() }
    }
}
