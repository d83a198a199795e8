import Synchronization

/// A distribution of durations, which any thread may record by two relaxed additions without a lock.
public final class Histogram: Sendable {
    /// The upper bounds of the first fifteen buckets, in nanoseconds. The sixteenth has no bound.
    public struct Bounds: Sendable {
        fileprivate let nanoseconds: [Int64]

        /// From 0.1 ms to 5 s.
        public static let steps = Bounds(
            nanoseconds: [
                100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
                100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
            ])

        /// From 1 ms to four hours.
        public static let transfers = Bounds(
            nanoseconds: [
                1_000_000, 10_000_000, 50_000_000, 100_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
                5_000_000_000,
                10_000_000_000, 30_000_000_000, 60_000_000_000, 300_000_000_000, 900_000_000_000, 3_600_000_000_000,
                14_400_000_000_000,
            ])
    }

    private let bounds: [Int64]
    private let counts = InlineArray<16, Atomic<Int>> { _ in Atomic(0) }
    private let nanoseconds = Atomic<Int64>(0)

    public init(_ bounds: Bounds = .steps) { self.bounds = bounds.nanoseconds }

    public func record(nanoseconds duration: Int64) {
        let bucket = bounds.firstIndex { duration <= $0 } ?? bounds.count
        counts[bucket].add(1, ordering: .relaxed)
        nanoseconds.wrappingAdd(max(0, duration), ordering: .relaxed)
    }

    /// The recorded durations, in seconds.
    public var distribution: Distribution {
        var sum = 0
        let buckets = bounds.indices.map { index in
            sum += counts[index].load(ordering: .relaxed)
            return Distribution.Bucket(bound: Double(bounds[index]) / 1e9, count: sum)
        }
        let count = sum + counts[bounds.count].load(ordering: .relaxed)
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
