import Metrics

extension Histogram {
    /// Records the duration of the body in real time, even if the body throws.
    package func time<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let start = monotonicNow()
        defer { record(nanoseconds: monotonicNow() - start) }
        return try body()
    }
}
