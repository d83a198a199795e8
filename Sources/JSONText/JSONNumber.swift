/// A number as its literal, so that one beyond every machine type still comes back as it was sent.
///
/// Equality is that of the literals: `1` and `1.0` differ.
public struct JSONNumber: Sendable, Hashable {
    /// The number as RFC 8259 writes it.
    public let literal: String

    /// Takes `literal` as it is; it has to follow the grammar of RFC 8259 already.
    package init(literal: String) {
        self.literal = literal
    }

    public init(_ value: Int64) {
        literal = String(value)
    }

    /// The shortest literal that reads back as `value`; nil where `value` is not finite.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value.description
    }

    /// The value of an integer literal; nil for one with a fraction or an exponent, and beyond 64 bits.
    public var int64: Int64? {
        Int64(literal)
    }

    /// The nearest double; nil where that is infinite.
    public var double: Double? {
        Double(literal).flatMap { $0.isFinite ? $0 : nil }
    }
}
