import Storage

extension Timestamp {
    /// Nil beyond what a timestamp holds.
    init?(secondsSince1970 seconds: Int64) {
        let (microseconds, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if isTooFar { return nil }
        self.init(microseconds: microseconds)
    }

    /// A moment as RFC 3339 writes it, with any offset; fractions of a second are left out.
    init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40, [UInt8(ascii: "T"), UInt8(ascii: "t"), 0x20].contains(bytes[10])
        else { return nil }
        func number(_ range: Range<Int>, _ allowed: ClosedRange<Int64>) -> Int64? {
            guard bytes[range].allSatisfy(Self.isDigit) else { return nil }
            return Int64(String(decoding: bytes[range], as: UTF8.self)).flatMap { allowed.contains($0) ? $0 : nil }
        }
        guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), let year = number(0..<4, 0...9999), let month = number(5..<7, 1...12),
            let day = number(8..<10, 1...31), let hour = number(11..<13, 0...23), let minute = number(14..<16, 0...59),
            let second = number(17..<19, 0...60), let offset = Self.offset(bytes[19...])
        else { return nil }
        let time = (hour * 60 + minute) * 60 + second - offset
        self.init(secondsSince1970: Self.days(year, month, day) * 86_400 + time)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// In seconds, of what follows the seconds.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        var rest = bytes
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop(while: isDigit) }
        if rest.elementsEqual("Z".utf8) || rest.elementsEqual("z".utf8) { return 0 }
        let parts = String(decoding: rest.dropFirst(), as: UTF8.self).split(separator: ":")
        guard let sign = rest.first, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(sign), parts.count == 2,
            let hours = Int64(parts[0]), let minutes = Int64(parts[1]), (0..<24).contains(hours),
            (0..<60).contains(minutes)
        else { return nil }
        return (sign == UInt8(ascii: "-") ? -60 : 60) * (hours * 60 + minutes)
    }

    /// Since 1970-01-01, in years that begin on the first of March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month > 2 ? year + 400 : year + 399
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468 - 146_097
    }

    /// Later by these seconds, of which more than ten years are not believed.
    func later(bySeconds seconds: Int64) -> Timestamp {
        let (sum, isTooFar) = microseconds.addingReportingOverflow(min(max(seconds, 0), 315_360_000) * 1_000_000)
        return Timestamp(microseconds: isTooFar ? .max : sum)
    }

    var wholeSeconds: Int64 { microseconds / 1_000_000 }
}
