import JSONText

/// The id a peer chose for a request, as it will be echoed: `1` and `"1"` are two ids, and no digit is lost.
struct RequestID: Hashable, Sendable {
    let text: String

    static let null = RequestID(text: "null")

    /// Nil unless the value is a string, an integer or null.
    init?(_ value: JSON) {
        switch value {
        case .null, .string: text = value.text
        case .number(let number) where number.isIntegerLiteral: text = number.literal
        case .number, .bool, .array, .object: return nil
        }
    }

    private init(text: String) { self.text = text }
}

extension JSONNumber {
    fileprivate var isIntegerLiteral: Bool {
        int64 != nil
            || !literal.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
    }
}
