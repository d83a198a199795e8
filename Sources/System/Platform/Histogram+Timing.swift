import Metrics

extension Histogram {
    /// Records a duration, or the longest that a sum has room for: a harness may advance its clock by any time.
    package func record(_ duration: Duration) {
        let (seconds, attoseconds) = min(duration, .seconds(1 << 26)).components
        record(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// The beginning of a duration in real time.
    package struct Start {
        fileprivate let time: Int64

        package init() { time = monotonicNow() }
    }

    package func record(since start: Start) { record(nanoseconds: monotonicNow() - start.time) }

    /// Records the duration of the body in real time, even if the body throws.
    package func time<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let start = monotonicNow()
        defer { record(nanoseconds: monotonicNow() - start) }
        return try body()
    }
}
