/// The text exposition format of Prometheus, version 0.0.4.
public enum PrometheusText {
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    public static func text(of families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples { write(sample, of: family.name, to: &text) }
        }
        return text
    }

    private static func write(_ sample: MetricFamily.Sample, of name: String, to text: inout String) {
        switch sample.value {
        case .number(let value): text += line(name, sample.labels, value)
        case .distribution(let distribution):
            for bucket in distribution.buckets {
                let bound = MetricFamily.Label(name: "le", value: number(bucket.bound))
                text += line("\(name)_bucket", sample.labels + [bound], Double(bucket.count))
            }
            let rest = MetricFamily.Label(name: "le", value: "+Inf")
            text += line("\(name)_bucket", sample.labels + [rest], Double(distribution.count))
            text += line("\(name)_sum", sample.labels, distribution.sum)
            text += line("\(name)_count", sample.labels, Double(distribution.count))
        }
    }

    private static func line(_ name: String, _ labels: [MetricFamily.Label], _ value: Double) -> String {
        let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
        return "\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(number(value))\n"
    }

    /// Writes whole numbers without a fraction.
    private static func number(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
