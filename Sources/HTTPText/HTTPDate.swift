import Platform

/// An HTTP date, in whole seconds.
public struct HTTPDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let secondsSince1970: Int64

    public init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    public static var now: HTTPDate { HTTPDate(secondsSince1970: WallClock.microseconds / 1_000_000) }

    public static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.secondsSince1970 < other.secondsSince1970 }

    static let dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// An IMF-fixdate. Clamps to the years 0001 to 9999.
    public var description: String {
        let moment = min(max(secondsSince1970, -62_135_596_800), 253_402_300_799)
        let (days, second) = moment.dividedByFloor(86_400)
        let day = CalendarDay(daysSince1970: days)
        let weekday = Int((days + 4).dividedByFloor(7).remainder)
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        let name = Self.dayNames[weekday].prefix(3)
        return
            "\(name), \(two(day.day)) \(Self.monthNames[Int(day.month) - 1]) "
            + "\(two(day.year / 100))\(two(day.year % 100)) \(clock) GMT"
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

private func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
