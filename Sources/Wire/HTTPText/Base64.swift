import CScan

extension [UInt8] {
    /// Decodes the Base64 of RFC 4648, section 4. Nil unless `text` is the canonical encoding of its bytes: `aGk=` is,
    /// `aGk==` and `aGl=` are not.
    package init?(base64 text: String) {
        var text = text
        guard let bytes = text.withUTF8(Self.decoded) else { return nil }
        self = bytes
    }

    /// Decodes without a copy, since pieces of streams are decoded at the speed of the whole service.
    private static func decoded(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let characters = text.baseAddress else { return [] }
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { buffer, filled in
            if let base = buffer.baseAddress { length = cscan_base64_decode(characters, text.count, base) }
            filled = Swift.max(length, 0)
        }
        return length < 0 || text.count % 4 > 0 ? nil : bytes
    }

    package var base64: String { withUnsafeBytes(\.base64) }

    /// Two lower-case digits for each byte.
    package var hexadecimal: String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x57 }
        return String(unsafeUninitializedCapacity: count * 2) { text in
            for (index, byte) in enumerated() {
                (text[index * 2], text[index * 2 + 1]) = (digit(byte >> 4), digit(byte & 15))
            }
            return count * 2
        }
    }
}

extension UnsafeRawBufferPointer {
    package var base64: String { String(unsafeUninitializedCapacity: base64Count, initializingUTF8With: writeBase64) }

    /// The characters as bytes.
    package var base64Bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: base64Count) { buffer, filled in filled = writeBase64(to: buffer) }
    }

    private var base64Count: Int { (count + 2) / 3 * 4 }

    private func writeBase64(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        guard count > 0, let base = buffer.baseAddress else { return 0 }
        cscan_base64_encode(baseAddress, count, base)
        return base64Count
    }
}
