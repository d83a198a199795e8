extension HTTPDate {
    /// Parses the three formats of RFC 9110.
    ///
    /// A two-digit year is at most 50 years after `now`.
    public init?(_ text: some StringProtocol, now: HTTPDate = .now) {
        var words = Words(text)
        guard let name = words.letters() else { return nil }
        let short = Self.dayNames.contains { $0.prefix(3) == name }
        let date: HTTPDate?
        if words.take(", ") {
            date = short ? Self.fixed(&words) : Self.dayNames.contains(name) ? Self.dashed(&words, now) : nil
        } else {
            date = short && words.take(" ") ? Self.asctime(&words) : nil
        }
        guard let date, words.isAtEnd else { return nil }
        self = date
    }

    /// `06 Nov 1994 08:49:37 GMT`
    private static func fixed(_ words: inout Words) -> HTTPDate? {
        guard let day = words.number(2), words.take(" "), let month = words.month(), words.take(" "),
            let year = words.number(4), words.take(" "), let clock = words.clock(), words.take(" GMT")
        else { return nil }
        return HTTPDate(year: year, month: month, day: day, hour: clock.0, minute: clock.1, second: clock.2)
    }

    /// `06-Nov-94 08:49:37 GMT`
    private static func dashed(_ words: inout Words, _ now: HTTPDate) -> HTTPDate? {
        guard let day = words.number(2), words.take("-"), let month = words.month(), words.take("-"),
            let twoDigits = words.number(2), words.take(" "), let clock = words.clock(), words.take(" GMT")
        else { return nil }
        let thisYear = CalendarDay(daysSince1970: now.secondsSince1970 / 86_400).year
        var year = thisYear - thisYear % 100 + twoDigits
        if year > thisYear + 50 { year -= 100 }
        return HTTPDate(year: year, month: month, day: day, hour: clock.0, minute: clock.1, second: clock.2)
    }

    /// `Nov  6 08:49:37 1994`
    private static func asctime(_ words: inout Words) -> HTTPDate? {
        guard let month = words.month(), words.take(" "),
            let day = words.take(" ") ? words.number(1) : words.number(2), words.take(" "),
            let clock = words.clock(), words.take(" "), let year = words.number(4)
        else { return nil }
        return HTTPDate(year: year, month: month, day: day, hour: clock.0, minute: clock.1, second: clock.2)
    }
}

/// A scanner for dates.
private struct Words {
    private var rest: Substring.UTF8View

    init(_ text: some StringProtocol) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { expected in
            guard rest.starts(with: expected) else { return false }
            rest = rest.dropFirst(expected.count)
            return true
        }
    }

    mutating func letters() -> String? {
        let word = rest.prefix { 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 }
        rest = rest.dropFirst(word.count)
        return word.isEmpty ? nil : String(Substring(word))
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    mutating func month() -> Int64? {
        letters().flatMap { HTTPDate.monthNames.firstIndex(of: $0) }.map { Int64($0) + 1 }
    }

    mutating func clock() -> (Int64, Int64, Int64)? {
        guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2) else {
            return nil
        }
        return (hour, minute, second)
    }
}
