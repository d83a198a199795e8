import Metrics

extension Histogram {
    /// Records how long the body takes, in real time, even if it throws.
    package func time<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let start = monotonicNow()
        defer { record(nanoseconds: monotonicNow() - start) }
        return try body()
    }
}
