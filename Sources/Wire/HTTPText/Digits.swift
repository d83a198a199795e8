// Numbers in headers and queries. Signs, blanks and leading zeros are refused, since another reader could understand
// another number.
extension Int64 {
    /// Nil for anything but digits, and for a number that is too large.
    package init?(digits text: some StringProtocol) {
        guard Self.isNumber(text), let value = Int64(text) else { return nil }
        self = value
    }

    /// Nil for anything but digits. A number that is too large becomes the maximum.
    package init?(clampingDigits text: some StringProtocol) {
        guard Self.isNumber(text) else { return nil }
        self = Int64(text) ?? .max
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, bytes.allSatisfy({ 0x30...0x39 ~= $0 }) else { return false }
        return first != 0x30 || bytes.count == 1
    }
}
