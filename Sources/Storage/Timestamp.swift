/// A moment, in microseconds since 1970-01-01 UTC.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// RFC 3339, UTC, milliseconds: `2016-03-01T20:16:01.673Z`. Cut off, not rounded.
    public var rfc3339: String {
        let (days, timeOfDay) = microseconds.dividedByFloor(86_400_000_000)
        let (year, month, day) = Self.date(daysSince1970: days)
        let milliseconds = timeOfDay / 1000
        let seconds = milliseconds / 1000
        return year.padded(4) + "-" + month.padded(2) + "-" + day.padded(2) + "T"
            + (seconds / 3600).padded(2) + ":" + (seconds / 60 % 60).padded(2) + ":" + (seconds % 60).padded(2)
            + "." + (milliseconds % 1000).padded(3) + "Z"
    }

    /// The proleptic Gregorian calendar, counted in eras of 400 years that begin on the first of March.
    private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).dividedByFloor(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int64 {
    fileprivate func dividedByFloor(_ divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}
