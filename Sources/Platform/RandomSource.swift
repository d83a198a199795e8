/// Where ids, tokens and the random parts of delays come from.
///
/// The program takes `secure` when it starts, and hands it on. Another source repeats a session exactly.
public struct RandomSource: Sendable {
    public static let secure = RandomSource { SecureRandom().next() }

    /// A random number: 64 bits.
    public let next: @Sendable () -> UInt64

    public init(_ next: @escaping @Sendable () -> UInt64) { self.next = next }

    /// A random UUID (version 4) in lower case: 122 random bits.
    public func uuid() -> String { Self.uuid(next(), next()) }

    static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        let digits = (hexadecimal(high & ~0xF000 | 0x4000) + hexadecimal(low & ~(0b11 << 62) | 0b10 << 62)).utf8
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { String(decoding: digits.dropFirst($0.lowerBound).prefix($0.count), as: UTF8.self) }
            .joined(separator: "-")
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
