/// A number as its literal, which preserves numbers beyond every machine type.
///
/// Numbers are equal if their literals are: `1` and `1.0` differ.
public struct JSONNumber: Sendable, Hashable {
    /// The number in the notation of RFC 8259.
    public let literal: String

    /// `literal` must follow the grammar of RFC 8259.
    package init(literal: String) { self.literal = literal }

    public init(_ value: Int64) { literal = String(value) }

    /// The shortest literal that reads back as `value`; nil for a value that is not finite.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value.description
    }

    /// The value of a whole number: `1.0` and `1e3` are whole, as in JSON Schema. Nil for others, and beyond 64 bits.
    public var int64: Int64? {
        if let value = Int64(literal) { return value }
        let decimal = DecimalDigits(literal)
        guard decimal.isWhole, decimal.digits.count + decimal.exponent <= 19 else { return nil }
        let zeros = repeatElement(UInt8(ascii: "0"), count: decimal.exponent)
        return Int64(String(decoding: decimal.sign + decimal.digits + zeros, as: UTF8.self))
    }

    /// Whether the number has no fraction, in any notation and of any size.
    public var isWhole: Bool { Int64(literal) != nil || DecimalDigits(literal).isWhole }

    /// The nearest double; nil if that is infinite.
    public var double: Double? { Double(literal).flatMap { $0.isFinite ? $0 : nil } }
}

/// A number as ±`digits` × 10 ^ `exponent`. The digits neither begin nor end with a zero, unless the number is 0.
private struct DecimalDigits {
    let sign: [UInt8]
    let digits: [UInt8]
    let exponent: Int

    var isWhole: Bool { exponent >= 0 }

    init(_ literal: String) {
        let parts = literal.utf8.split { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = parts[0].split(separator: UInt8(ascii: "."))
        sign = literal.utf8.first == UInt8(ascii: "-") ? [UInt8(ascii: "-")] : []
        let all = mantissa.joined().dropFirst(sign.count).drop { $0 == UInt8(ascii: "0") }
        let zeros = all.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        guard zeros < all.count else {
            (digits, exponent) = ([UInt8(ascii: "0")], 0)
            return
        }
        digits = all.dropLast(zeros)
        // Exponents beyond 32 bits make no further difference.
        let text = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "0"
        let power = Int(Int32(text) ?? (text.hasPrefix("-") ? .min : .max))
        exponent = power - (mantissa.count > 1 ? mantissa[1].count : 0) + zeros
    }
}
