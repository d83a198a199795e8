import Metrics
import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct MetricsTests {
    @Test func `A histogram counts each value in all buckets that it fits`() {
        let histogram = Histogram()
        for value in [-5, 100_000, 100_001, 3_000_000, 9_000_000_000] as [Int64] {
            histogram.record(nanoseconds: value)
        }
        let distribution = histogram.distribution
        #expect(distribution.buckets.prefix(2).map(\.count) == [2, 3])
        #expect(distribution.buckets.first { $0.bound == 0.005 }?.count == 4)
        #expect(distribution.buckets.last?.count == 4 && distribution.count == 5)
        #expect(distribution.sum == 9.003200001)
    }

    @Test func `A histogram of transfers has buckets up to hours`() {
        let histogram = Histogram(.transfers)
        for duration in [.milliseconds(1), .seconds(3600), .seconds(3601), .seconds(Int64.max)] as [Duration] {
            histogram.record(duration)
        }
        let distribution = histogram.distribution
        #expect(distribution.buckets.first?.count == 1 && distribution.buckets.last?.bound == 14_400)
        #expect(distribution.buckets.first { $0.bound == 3600 }?.count == 2)
        #expect(distribution.buckets.last?.count == 3 && distribution.count == 4 && distribution.sum > 7201)
    }

    @Test func `A histogram times a body, even if it throws`() {
        struct Failure: Error {}
        let histogram = Histogram()
        #expect(histogram.time { 5 } == 5)
        #expect(throws: Failure.self) { try histogram.time { throw Failure() } }
        #expect(histogram.distribution.count == 2 && histogram.distribution.sum > 0)
    }

    @Test func `Counts from several threads are all included`() async {
        let (counter, histogram) = (Counter(), Histogram())
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        histogram.record(nanoseconds: 1)
                    }
                }
            }
        }
        #expect(counter.value == 4000 && histogram.distribution.count == 4000)
    }

    @Test func `The text format escapes special characters in labels and help`() {
        let families: [MetricFamily] = [
            .counters("a_total", "One\nof \\ and \".", by: "label", [(value: "x\"y\\z\n", count: 3)]),
            .gauge("b", "Half.", 0.5),
        ]
        #expect(
            PrometheusText.text(of: families) == #"""
                # HELP a_total One\nof \\ and ".
                # TYPE a_total counter
                a_total{label="x\"y\\z\n"} 3
                # HELP b Half.
                # TYPE b gauge
                b 0.5

                """#)
    }
}
