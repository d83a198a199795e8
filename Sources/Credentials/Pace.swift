import Storage

/// What the time is, how to let it pass, and how much of it others may take.
public struct Pace: Sendable {
    /// The time of day.
    public var now: @Sendable () -> Timestamp
    /// For what is measured and waited for.
    public var clock: any Clock<Duration>
    /// For a token from a server, all attempts and the rests between them.
    var serverLimit: Duration = .seconds(10)
    /// The same for the metadata server: it is near, or there is none.
    var machineLimit: Duration = .seconds(3)

    public init(now: @escaping @Sendable () -> Timestamp, clock: any Clock<Duration> = ContinuousClock()) {
        self.now = now
        self.clock = clock
    }

    /// Tells how long ago it was made.
    func stopwatch() -> () -> Duration { Self.stopwatch(on: clock) }

    private static func stopwatch<C: Clock>(on clock: C) -> () -> Duration where C.Duration == Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
