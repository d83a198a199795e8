import Platform

extension Timestamp {
    /// The system time. Rules take the time as an argument instead.
    public static var now: Timestamp { Timestamp(microseconds: WallClock.microseconds) }
}

/// The clock for delays and deadlines, and the wall-clock time. Tests pass their own.
public struct TimeSource: Sendable {
    public let clock: any Clock<Duration>
    public let now: @Sendable () -> Timestamp

    public init(clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Timestamp = { .now }) {
        self.clock = clock
        self.now = now
    }
}
