import Glibc

/// The time of day, and the clock for delays and deadlines.
///
/// The program takes `system` when it starts, and passes it to everything that needs the time. Tests pass their own.
public struct TimeSource: Sendable {
    /// A clock that, unlike the time of day, never goes back.
    public let clock: any Clock<Duration>
    /// The time of day in microseconds since 1970.
    package let microseconds: @Sendable () -> Int64

    public static let system = TimeSource(clock: ContinuousClock())

    public init(clock: any Clock<Duration>) { self.init(clock: clock, microseconds: microsecondsNow) }

    package init(clock: any Clock<Duration>, microseconds: @escaping @Sendable () -> Int64) {
        self.clock = clock
        self.microseconds = microseconds
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that measures the time since this call.
    package func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}

@Sendable private func microsecondsNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
}

/// Nanoseconds of a clock that never goes back and stops while the machine sleeps. Used for the limits of libcurl,
/// which counts real time.
package func monotonicNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
