import Platform

/// An HTTP date, in whole seconds.
package struct HTTPDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let secondsSince1970: Int64

    package init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    package static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.secondsSince1970 < other.secondsSince1970 }

    static let dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The date as an IMF-fixdate, clamped to the years 0001 to 9999.
    package var description: String {
        let moment = min(max(secondsSince1970, -62_135_596_800), 253_402_300_799)
        let (days, second) = moment.dividedByFloor(86_400)
        let day = CalendarDay(daysSince1970: days)
        let weekday = Int((days + 4).dividedByFloor(7).remainder)
        var text = Array("Sun, 00 Jan 0000 00:00:00 GMT".utf8)
        func put(_ name: String, at start: Int) {
            for (index, byte) in name.utf8.prefix(3).enumerated() { text[start + index] = byte }
        }
        func put(_ number: Int64, at start: Int) {
            text[start] = UInt8(ascii: "0") + UInt8(number / 10)
            text[start + 1] = UInt8(ascii: "0") + UInt8(number % 10)
        }
        put(Self.dayNames[weekday], at: 0)
        put(day.day, at: 5)
        put(Self.monthNames[Int(day.month) - 1], at: 8)
        put(day.year / 100, at: 12)
        put(day.year % 100, at: 14)
        put(second / 3600, at: 17)
        put(second / 60 % 60, at: 20)
        put(second % 60, at: 23)
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for an invalid day or time. A leap second becomes the next second.
    init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
        guard 1...9999 ~= year, 1...12 ~= month, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
        let date = CalendarDay(year: year, month: month, day: day)
        let days = date.daysSince1970
        guard 1...31 ~= day, CalendarDay(daysSince1970: days) == date else { return nil }
        self.init(secondsSince1970: days * 86_400 + hour * 3600 + minute * 60 + second)
    }
}

extension TimeSource {
    package var httpDate: HTTPDate { HTTPDate(secondsSince1970: microseconds() / 1_000_000) }
}

extension HTTPDate {
    /// The three formats of RFC 9110, in the notation of strptime.
    private static let formats = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]

    /// Parses the three formats of RFC 9110.
    ///
    /// A two-digit year is read as at most 50 years after `now`, which by default gives the years 1977 to 2076.
    package init?(_ text: some StringProtocol, now: HTTPDate = HTTPDate(secondsSince1970: 1_767_225_600)) {
        let text = Substring(text).utf8
        for format in Self.formats {
            guard let date = Self.parse(text, format, now) else { continue }
            self = date
            return
        }
        return nil
    }

    private static func parse(_ text: Substring.UTF8View, _ format: String, _ now: HTTPDate) -> HTTPDate? {
        var (rest, format) = (text, format.utf8.makeIterator())
        var fields: [UInt8: Int64] = [:]
        while let byte = format.next() {
            guard byte == UInt8(ascii: "%"), let field = format.next() else {
                guard rest.popFirst() == byte else { return nil }
                continue
            }
            guard let value = take(field, of: &rest, now) else { return nil }
            fields[field] = value
        }
        func value(_ names: String) -> Int64 { names.utf8.lazy.compactMap { fields[$0] }.first ?? 0 }
        guard rest.isEmpty else { return nil }
        return HTTPDate(
            year: value("Yy"), month: value("b"), day: value("de"), hour: value("H"), minute: value("M"),
            second: value("S"))
    }

    /// Reads one field; nil if it is malformed.
    private static func take(_ field: UInt8, of rest: inout Substring.UTF8View, _ now: HTTPDate) -> Int64? {
        switch field {
        case UInt8(ascii: "a"): return take(dayNames.map { $0.prefix(3) }, of: &rest)
        case UInt8(ascii: "A"): return take(dayNames.map { $0[...] }, of: &rest)
        case UInt8(ascii: "b"): return take(monthNames.map { $0[...] }, of: &rest).map { $0 + 1 }
        case UInt8(ascii: "Y"): return number(4, of: &rest)
        case UInt8(ascii: "e") where rest.first == UInt8(ascii: " "):
            rest.removeFirst()
            return number(1, of: &rest)
        case UInt8(ascii: "y"):
            let thisYear = CalendarDay(daysSince1970: now.secondsSince1970 / 86_400).year
            let year = number(2, of: &rest).map { thisYear - thisYear % 100 + $0 }
            return year.map { $0 > thisYear + 50 ? $0 - 100 : $0 }
        default: return number(2, of: &rest)
        }
    }

    /// The index of the name at the beginning of the rest.
    private static func take(_ names: [Substring], of rest: inout Substring.UTF8View) -> Int64? {
        guard let index = names.firstIndex(where: { rest.starts(with: $0.utf8) }) else { return nil }
        rest.removeFirst(names[index].utf8.count)
        return Int64(index)
    }

    /// Reads a number of exactly `count` digits.
    private static func number(_ count: Int, of rest: inout Substring.UTF8View) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        rest.removeFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}
