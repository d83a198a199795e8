import Glibc

/// A moment in whole seconds, as HTTP writes it.
public struct HTTPDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let secondsSince1970: Int64

    public init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    public static var now: HTTPDate { HTTPDate(secondsSince1970: Int64(time(nil))) }

    public static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.secondsSince1970 < other.secondsSince1970 }

    static let dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// As IMF-fixdate, in which years have four digits: moments outside of 0001 to 9999 are moved to its ends.
    public var description: String {
        let moment = min(max(secondsSince1970, -62_135_596_800), 253_402_300_799)
        let days = floorDivide(moment, 86_400)
        let second = moment - days * 86_400
        let (year, month, day) = Self.civil(days)
        let weekday = Int(floorModulo(days + 4, 7))
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        let name = Self.dayNames[weekday].prefix(3)
        return
            "\(name), \(two(day)) \(Self.monthNames[Int(month) - 1]) \(two(year / 100))\(two(year % 100)) \(clock) GMT"
    }

    /// Nil where there is no such day or time. A leap second is the second after it.
    init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
        guard 1...9999 ~= year, 1...12 ~= month, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
        let days = Self.days(year, month, day)
        guard 1...31 ~= day, Self.civil(days) == (year, month, day) else { return nil }
        self.init(secondsSince1970: days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    /// Days since 1970 of a day in the Gregorian calendar; the year is taken to begin in March, so that it ends in February.
    static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * year + floorDivide(year, 4) - floorDivide(year, 100) + floorDivide(year, 400) + dayOfYear - 719_468
    }

    static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = days + 719_468
        let era = floorDivide(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

private func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    number / divisor - (number % divisor < 0 ? 1 : 0)
}

private func floorModulo(_ number: Int64, _ divisor: Int64) -> Int64 { number - floorDivide(number, divisor) * divisor }

private func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
