import Synchronization

/// A distribution of durations, which any thread may record by two relaxed additions without a lock.
public final class Histogram: Sendable {
    /// The upper bounds of the buckets, in nanoseconds. The last bucket has no bound.
    private static let bounds: [Int64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
    ]

    private let counts = InlineArray<16, Atomic<Int>> { _ in Atomic(0) }
    private let nanoseconds = Atomic<Int64>(0)

    public init() {}

    public func record(nanoseconds duration: Int64) {
        let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        counts[bucket].add(1, ordering: .relaxed)
        nanoseconds.add(max(0, duration), ordering: .relaxed)
    }

    /// The recorded durations, in seconds.
    public var distribution: Distribution {
        var sum = 0
        let buckets = Self.bounds.indices.map { index in
            sum += counts[index].load(ordering: .relaxed)
            return Distribution.Bucket(bound: Double(Self.bounds[index]) / 1e9, count: sum)
        }
        let count = sum + counts[Self.bounds.count].load(ordering: .relaxed)
        return Distribution(
            buckets: buckets, count: count, sum: Double(nanoseconds.load(ordering: .relaxed)) / 1e9)
    }
}

/// For each bound the number of values up to it, among `count` values.
public struct Distribution: Equatable, Sendable {
    public struct Bucket: Equatable, Sendable {
        public let bound: Double
        /// The number of values in this bucket and in lower ones.
        public let count: Int
    }

    public let buckets: [Bucket]
    public let count: Int
    public let sum: Double
}
