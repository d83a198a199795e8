/// A metric with its samples, one for each set of labels.
///
/// Labels have few values, which the program chooses; names of objects, clients and files are never labels.
public struct MetricFamily: Equatable, Sendable {
    public enum Kind: String, Sendable { case counter, gauge, histogram }

    public enum Value: Equatable, Sendable {
        case number(Double)
        case distribution(Distribution)
    }

    public struct Sample: Equatable, Sendable {
        public let labels: [Label]
        public let value: Value
    }

    public struct Label: Equatable, Sendable {
        public let name: String
        public let value: String
    }

    public let name: String
    public let help: String
    public let kind: Kind
    public let samples: [Sample]

    private init(_ name: String, _ help: String, _ kind: Kind, _ samples: [Sample]) {
        (self.name, self.help, self.kind, self.samples) = (name, help, kind, samples)
    }

    public static func counter(_ name: String, _ help: String, _ count: Int) -> MetricFamily {
        MetricFamily(name, help, .counter, [Sample(labels: [], value: .number(Double(count)))])
    }

    public static func gauge(_ name: String, _ help: String, _ value: Double) -> MetricFamily {
        MetricFamily(name, help, .gauge, [Sample(labels: [], value: .number(value))])
    }

    public static func histogram(_ name: String, _ help: String, _ histogram: Histogram) -> MetricFamily {
        MetricFamily(name, help, .histogram, [Sample(labels: [], value: .distribution(histogram.distribution))])
    }

    /// A family of histograms with one label: a sample for each of its values.
    public static func histograms(
        _ name: String, _ help: String, by label: String, _ histograms: [(value: String, histogram: Histogram)]
    ) -> MetricFamily {
        let samples = histograms.map { value, histogram in
            Sample(
                labels: [Label(name: label, value: value)], value: .distribution(histogram.distribution))
        }
        return MetricFamily(name, help, .histogram, samples)
    }

    /// A family of counters with one label: a sample for each of its values.
    public static func counters(
        _ name: String, _ help: String, by label: String, _ counts: [(value: String, count: Int)]
    ) -> MetricFamily {
        MetricFamily(name, help, .counter, counts.map { labelled([(label, $0.value)], $0.count) })
    }

    /// A family of counters with several labels: a sample for each set of values.
    public static func counters(
        _ name: String, _ help: String, _ samples: [(labels: [(String, String)], count: Int)]
    ) -> MetricFamily {
        MetricFamily(name, help, .counter, samples.map { labelled($0.labels, $0.count) })
    }

    /// A family of gauges (values that rise and fall) with one label.
    public static func gauges(
        _ name: String, _ help: String, _ samples: [(labels: [(String, String)], count: Int)]
    ) -> MetricFamily {
        MetricFamily(name, help, .gauge, samples.map { labelled($0.labels, $0.count) })
    }

    private static func labelled(_ labels: [(String, String)], _ count: Int) -> Sample {
        Sample(labels: labels.map { Label(name: $0.0, value: $0.1) }, value: .number(Double(count)))
    }
}
