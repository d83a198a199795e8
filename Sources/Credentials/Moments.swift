import Storage

extension Timestamp {
    /// Nil beyond what a timestamp holds.
    init?(secondsSince1970 seconds: Int64) {
        let (microseconds, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if isTooFar { return nil }
        self.init(microseconds: microseconds)
    }

    /// Later by these seconds, of which more than ten years are not believed.
    func later(bySeconds seconds: Int64) -> Timestamp {
        let (sum, isTooFar) = microseconds.addingReportingOverflow(min(max(seconds, 0), 315_360_000) * 1_000_000)
        return Timestamp(microseconds: isTooFar ? .max : sum)
    }

    var wholeSeconds: Int64 { microseconds / 1_000_000 }
}
