import JSONText

/// The id of a peer's request, as the bytes of the reply: `1` and `"1"` are two ids, and no digit is lost.
struct RequestID: Hashable, Sendable {
    let bytes: [UInt8]

    static let null = RequestID("null")

    /// Nil unless the value is a string, a whole number or null.
    init?(_ value: JSON) {
        switch value {
        case .null, .string: self.init(value.text)
        case .number(let number) where number.isWhole: self.init(number.literal)
        case .number, .bool, .array, .object: return nil
        }
    }

    private init(_ text: String) { bytes = Array(text.utf8) }
}
