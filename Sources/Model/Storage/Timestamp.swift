import HTTPText
import Platform

/// A moment, in microseconds since 1970-01-01 UTC.
public struct Timestamp: Hashable, Comparable, Codable, Sendable {
    public var microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// Adds a duration, rounded down to microseconds; saturates.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (later, overflow2) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        let (sum, overflow3) = microseconds.addingReportingOverflow(later)
        guard overflow || overflow2 || overflow3 else { return Timestamp(microseconds: sum) }
        return Timestamp(microseconds: duration < .zero ? .min : .max)
    }

    /// The range of RFC 3339, the years 0000 to 9999, in microseconds.
    private static let writable: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999

    /// RFC 3339 in UTC with milliseconds: `2016-03-01T20:16:01.673Z`. Truncates, and clamps moments outside the range.
    public var rfc3339: String {
        let moment = min(max(microseconds, Self.writable.lowerBound), Self.writable.upperBound)
        let (days, timeOfDay) = moment.dividedByFloor(86_400_000_000)
        let day = CalendarDay(daysSince1970: days)
        let milliseconds = timeOfDay / 1000
        let seconds = milliseconds / 1000
        return String(unsafeUninitializedCapacity: 24) { text in
            var end = 0
            func write(_ value: Int64, width: Int, _ mark: Unicode.Scalar) {
                var (rest, place) = (UInt(value), end + width)
                text[place] = UInt8(ascii: mark)
                while place > end {
                    place -= 1
                    text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                end += width + 1
            }
            write(day.year, width: 4, "-")
            write(day.month, width: 2, "-")
            write(day.day, width: 2, "T")
            write(seconds / 3600, width: 2, ":")
            write(seconds / 60 % 60, width: 2, ":")
            write(seconds % 60, width: 2, ".")
            write(milliseconds % 1000, width: 3, "Z")
            return end
        }
    }

    /// RFC 3339 in UTC with microseconds, if the moment has some.
    package var exactRFC3339: String {
        let rest = microseconds.dividedByFloor(1000).1
        guard rest > 0 else { return rfc3339 }
        let digits = "\(rest)"
        return "\(rfc3339.dropLast())\(String(repeating: "0", count: 3 - digits.utf8.count))\(digits)Z"
    }

    /// Accepts any offset from UTC and any number of decimals; nil for other texts.
    public init?(rfc3339 text: String) {
        var rest = Substring(text).utf8
        func digits(_ count: Int) -> Int64? {
            let part = rest.prefix(count)
            guard part.count == count, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return part.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        func skip(_ marks: String) -> UInt8? {
            rest.first.flatMap { marks.utf8.contains($0) ? rest.removeFirst() : nil }
        }
        guard let year = digits(4), skip("-") != nil, let month = digits(2), skip("-") != nil, let day = digits(2),
            skip("Tt ") != nil, let hour = digits(2), skip(":") != nil, let minute = digits(2), skip(":") != nil,
            let second = digits(2), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if skip(".") != nil {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            rest = rest.dropFirst(digits.count)
            for place in 0..<6 {
                fraction =
                    fraction * 10 + (place < digits.count ? Int64(digits.dropFirst(place).first ?? 0x30) - 0x30 : 0)
            }
        }
        var offset: Int64 = 0
        guard let zone = skip("Zz+-") else { return nil }
        if zone == UInt8(ascii: "+") || zone == UInt8(ascii: "-") {
            guard let hours = digits(2), skip(":") != nil, let minutes = digits(2) else { return nil }
            offset = (hours * 60 + minutes) * (zone == UInt8(ascii: "-") ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }
        let days = CalendarDay(year: year, month: month, day: day).daysSince1970
        // A day that its month does not have falls into the next month.
        guard CalendarDay(daysSince1970: days).month == month else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        microseconds = seconds * 1_000_000 + fraction
    }
}

extension TimeSource {
    /// The time of day.
    @Sendable public func now() -> Timestamp { Timestamp(microseconds: microseconds()) }

    public init(clock: any Clock<Duration>, now: @escaping @Sendable () -> Timestamp) {
        self.init(clock: clock) { now().microseconds }
    }
}
