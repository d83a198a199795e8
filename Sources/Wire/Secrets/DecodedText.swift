/// A decoding of a text in which each byte has its origin in the text.
struct DecodedText {
    enum Encoding: CaseIterable {
        case url, json, html

        var mark: UInt8 {
            switch self {
            case .url: UInt8(ascii: "%")
            case .json: UInt8(ascii: "\\")
            case .html: UInt8(ascii: "&")
            }
        }
    }

    let source: [UInt8]
    private(set) var bytes: [UInt8]
    /// The offset of each byte in the source; nil if the text equals the source.
    private var starts: [Int]?
    /// Nothing is left to decode.
    private(set) var isFullyDecoded = false

    /// The maximum number of readings; a text with more is hidden as a whole.
    static let mostReadings = 32

    /// All readings of a text: unchanged, and decoded repeatedly in any order.
    static func readings(of text: String) -> [DecodedText] {
        var (readings, seen, next) = ([DecodedText(text)], Set<[UInt8]>(), 0)
        while next < readings.count, readings.count < mostReadings {
            let decoded = Encoding.allCases.compactMap { readings[next].decoded($0) }
            readings[next].isFullyDecoded = decoded.isEmpty
            readings += decoded.filter { seen.insert($0.bytes).inserted }
            next += 1
        }
        return readings
    }

    private init(_ text: String) {
        source = Array(text.utf8)
        bytes = source
    }

    /// The part of the source that these bytes come from.
    func origin(of range: Range<Int>) -> Range<Int> { start(of: range.lowerBound)..<start(of: range.upperBound) }

    /// Whether a byte is percent-encoded in the source; in a URL it is then no delimiter.
    func isPercentEncoded(_ index: Int) -> Bool { starts != nil && source[start(of: index)] == Encoding.url.mark }

    private func start(of index: Int) -> Int {
        guard let starts else { return index }
        return index < starts.count ? starts[index] : source.count
    }

    /// Nil if there is nothing to decode.
    private func decoded(_ encoding: Encoding) -> DecodedText? {
        guard bytes.contains(encoding.mark) else { return nil }
        var (decoded, starts, index) = ([UInt8](), [Int](), 0)
        while index < bytes.count {
            let escape = bytes[index] == encoding.mark ? Escape(bytes[index...], encoding) : nil
            let meaning = escape?.meaning ?? [bytes[index]]
            decoded += meaning
            starts += Array(repeating: start(of: index), count: meaning.count)
            index += escape?.length ?? 1
        }
        guard decoded.count < bytes.count else { return nil }
        var text = self
        (text.bytes, text.starts) = (decoded, starts)
        return text
    }
}

/// An escape of a URL, of JSON or of HTML, and the UTF-8 that it encodes. Every escape is longer than its result.
private struct Escape {
    let meaning: [UInt8]
    let length: Int

    /// Nil unless the bytes begin with an escape.
    init?(_ bytes: ArraySlice<UInt8>, _ encoding: DecodedText.Encoding) {
        let escape: Escape? =
            switch encoding {
            case .url: Self.number(bytes, after: 1, digits: 2).map { Escape([UInt8($0)], 3) }
            case .json: Self.json(bytes)
            case .html: Self.html(bytes)
            }
        guard let escape else { return nil }
        self = escape
    }

    private init(_ meaning: [UInt8], _ length: Int) { (self.meaning, self.length) = (meaning, length) }

    private init(_ code: UInt32, _ length: Int) {
        self.init(Array(String(Unicode.Scalar(code) ?? "\u{FFFD}").utf8), length)
    }

    private static func json(_ bytes: ArraySlice<UInt8>) -> Escape? {
        switch bytes.dropFirst().first {
        case UInt8(ascii: "u"): utf16(bytes)
        case UInt8(ascii: "x"): number(bytes, after: 2, digits: 2).map { Escape($0, 4) }
        case let byte? where "\"\\/'".utf8.contains(byte): Escape([byte], 2)
        case let byte? where "bfnrt".utf8.contains(byte): Escape([0x20], 2)
        default: nil
        }
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>) -> Escape? {
        guard let unit = number(bytes, after: 2, digits: 4) else { return nil }
        let rest = bytes.dropFirst(6)
        if (0xD800..<0xDC00).contains(unit), rest.starts(with: "\\u".utf8),
            let low = number(rest, after: 2, digits: 4), (0xDC00..<0xE000).contains(low)
        {
            return Escape(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00), 12)
        }
        return Escape(unit, 6)
    }

    private static func html(_ bytes: ArraySlice<UInt8>) -> Escape? {
        for (name, meaning) in [("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">")]
        where bytes.prefix(name.utf8.count).elementsEqual(name.utf8, by: { lowercased($0) == $1 }) {
            return Escape(Array(meaning.utf8), name.utf8.count)
        }
        guard bytes.dropFirst().first == UInt8(ascii: "#") else { return nil }
        let isHex = lowercased(bytes.dropFirst(2).first ?? 0) == UInt8(ascii: "x")
        let start = isHex ? 3 : 2
        let digits = bytes.dropFirst(start).prefix(8).prefix { hexDigit($0).map { isHex || $0 < 10 } ?? false }
        guard let code = UInt32(String(decoding: digits, as: UTF8.self), radix: isHex ? 16 : 10) else { return nil }
        // Browsers accept an escape without a semicolon.
        let hasEnd = bytes.dropFirst(start + digits.count).first == UInt8(ascii: ";")
        return Escape(code, start + digits.count + (hasEnd ? 1 : 0))
    }

    /// The value of exactly `count` hexadecimal digits.
    private static func number(_ bytes: ArraySlice<UInt8>, after start: Int, digits count: Int) -> UInt32? {
        let digits = bytes.dropFirst(start).prefix(count)
        guard digits.count == count else { return nil }
        var number: UInt32 = 0
        for digit in digits {
            guard let value = hexDigit(digit) else { return nil }
            number = number << 4 | UInt32(value)
        }
        return number
    }
}

func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch lowercased(byte) {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: lowercased(byte) - 0x57
    default: nil
    }
}
