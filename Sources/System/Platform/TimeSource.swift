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

extension TimeSource {
    /// A moment in the time zone of this process, as `2026-01-31 12:00:00`.
    public static func local(secondsSince1970 seconds: Int64) -> String {
        var (moment, parts) = (time_t(seconds), tm())
        localtime_r(&moment, &parts)
        func digits(_ number: Int32, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = [digits(parts.tm_year + 1900, 4), digits(parts.tm_mon + 1), digits(parts.tm_mday)]
        let time = [digits(parts.tm_hour), digits(parts.tm_min), digits(parts.tm_sec)]
        return date.joined(separator: "-") + " " + time.joined(separator: ":")
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
