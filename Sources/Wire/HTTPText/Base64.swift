import FoundationEssentials

/// What each character stands for; more than 63 for one that stands for nothing.
private let base64Values: [UInt32] = {
    var values = [UInt32](repeating: 1 << 31, count: 256)
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt32(value) }
    return values
}()

extension [UInt8] {
    /// Decodes the Base64 of RFC 4648, section 4. Nil unless `text` is the one way to write these bytes: `aGk=`, but neither
    /// `aGk==` nor `aGl=`.
    package init?(base64 text: String) {
        var text = text
        guard let bytes = text.withUTF8(Self.decoded) else { return nil }
        self = bytes
    }

    /// Without a copy: pieces of streams are decoded at the speed of the whole service.
    private static func decoded(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard !text.isEmpty else { return [] }
        let padding = text.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
        let count = text.count / 4 * 3 - padding
        var isSound = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { buffer, filled in
            base64Values.withUnsafeBufferPointer { isSound = decode(text, padding, $0, into: buffer) }
            filled = count
        }
        return isSound ? bytes : nil
    }

    /// False for other characters, and for bits after the last byte.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ padding: Int, _ values: UnsafeBufferPointer<UInt32>,
        into bytes: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        guard let source = text.baseAddress, let target = bytes.baseAddress else { return false }
        var all: UInt32 = 0
        var place = 0
        for start in stride(from: 0, to: text.count, by: 4) {
            let isPadded = padding > 0 && start + 4 == text.count
            let third = isPadded && padding == 2 ? 0 : values[Int(source[start + 2])]
            let fourth = isPadded ? 0 : values[Int(source[start + 3])]
            let (first, second) = (values[Int(source[start])], values[Int(source[start + 1])])
            all |= first | second | third | fourth
            let group = first << 18 | second << 12 | third << 6 | fourth
            if isPadded, group & (padding == 2 ? 0xFFFF : 0xFF) != 0 { return false }
            target[place] = UInt8(truncatingIfNeeded: group >> 16)
            target[place + 1] = UInt8(truncatingIfNeeded: group >> 8)
            target[place + 2] = UInt8(truncatingIfNeeded: group)
            place += 3
        }
        return all < 64
    }

    package var base64: String { Data(self).base64EncodedString() }

    /// In lower case, two digits a byte.
    package var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
