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
        var text = text
        return text.withUTF8 { text in
            guard text.count == 36, text[14] == UInt8(ascii: "8") else { return nil }
            var number: Int64 = 0
            for digit in text[24...] {
                switch digit {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | Int64(digit - UInt8(ascii: "0"))
                case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | Int64(digit - UInt8(ascii: "a") + 10)
                default: return nil
                }
            }
            return number
        }
    }

    private static let numberBits: UInt64 = 1 << 48 - 1

    static func uuid(_ high: UInt64, _ low: UInt64, version: UInt64 = 4) -> String {
        let (high, low) = (high & ~0xF000 | version << 12, low & ~(0b11 << 62) | 0b10 << 62)
        return String(unsafeUninitializedCapacity: 36) { text in
            func write(_ number: UInt64, before end: Int, digits: Int) {
                var (rest, place) = (number, end)
                while place > end - digits {
                    place -= 1
                    let value = UInt8(truncatingIfNeeded: rest & 0xF)
                    text[place] = value &+ UInt8(ascii: "0") &+ (value > 9 ? 39 : 0)
                    rest >>= 4
                }
            }
            write(high >> 32, before: 8, digits: 8)
            write(high >> 16, before: 13, digits: 4)
            write(high, before: 18, digits: 4)
            write(low >> 48, before: 23, digits: 4)
            write(low, before: 36, digits: 12)
            for place in [8, 13, 18, 23] { text[place] = UInt8(ascii: "-") }
            return 36
        }
    }
}
