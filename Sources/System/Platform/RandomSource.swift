import Synchronization

/// The source of ids, tokens and the random parts of delays.
///
/// The program takes `secure` when it starts, and passes it on. Another source can repeat a session exactly.
public struct RandomSource: Sendable {
    public static let secure = RandomSource(drawingAheadFrom: SecureRandom())

    /// A random number: 64 bits.
    public let next: @Sendable () -> UInt64

    public init(_ next: @escaping @Sendable () -> UInt64) { self.next = next }

    /// Draws many numbers at once, since a call of the system costs more than a number.
    init(drawingAheadFrom random: SecureRandom) {
        let drawn = Mutex<[UInt64]>([])
        next = {
            drawn.withLock { drawn in
                if drawn.isEmpty { drawn = random.numbers(32) }
                return drawn.removeLast()
            }
        }
    }

    /// A random UUID (version 4) in lower case: 122 random bits.
    public func uuid() -> String { Self.uuid(next(), next()) }

    /// A UUID (version 8) in lower case that ends with the low 48 bits of a number, after 74 random bits.
    public func uuid(withNumber number: Int64) -> String {
        let number = UInt64(bitPattern: number) & Self.numberBits
        return Self.uuid(next(), next() & ~Self.numberBits | number, version: 8)
    }

    /// The number at the end of a UUID that was made with one; nil for any other text.
    public static func number(inUUID text: String) -> Int64? {
        let text = text.utf8
        guard text.count == 36, text.dropFirst(14).first == UInt8(ascii: "8") else { return nil }
        return Int64(String(Substring(text.suffix(12))), radix: 16)
    }

    private static let numberBits: UInt64 = 1 << 48 - 1

    static func uuid(_ high: UInt64, _ low: UInt64, version: UInt64 = 4) -> String {
        let (high, low) = (high & ~0xF000 | version << 12, low & ~(0b11 << 62) | 0b10 << 62)
        return String(unsafeUninitializedCapacity: 36) { text in
            var count = 0
            for digit in 0..<32 {
                if [8, 12, 16, 20].contains(digit) {
                    text[count] = UInt8(ascii: "-")
                    count += 1
                }
                let value = UInt8(truncatingIfNeeded: (digit < 16 ? high : low) >> UInt64(60 - digit % 16 * 4)) & 0xF
                text[count] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                count += 1
            }
            return count
        }
    }
}
