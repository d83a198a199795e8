import JSONText

/// The id of a peer's request as JSON text: `1` and `"1"` differ, and no digit is lost.
struct RequestID: Equatable, Sendable {
    let text: String

    static let null = RequestID("null")

    /// Nil unless the value is a string, a whole number or null.
    init?(_ value: JSON) {
        switch value {
        case .null, .string: self.init(value.text)
        case .number(let number) where number.isWhole: self.init(number.literal)
        case .number, .bool, .array, .object: return nil
        }
    }

    init(_ call: PlainCall) {
        text = String(unsafeUninitializedCapacity: call.id.count) { $0.initialize(fromContentsOf: call.id) }
    }

    private init(_ text: String) { self.text = text }

    /// Compares the bytes, which `String` does not do.
    static func == (a: RequestID, b: RequestID) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
}
