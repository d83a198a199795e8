import FoundationEssentials

extension [UInt8] {
    /// Decodes the Base64 of RFC 4648, section 4. Nil unless `text` is the one way to write these bytes: `aGk=`, but neither
    /// `aGk==` nor `aGl=`.
    package init?(base64 text: String) {
        guard let bytes = Data(base64Encoded: text), text.utf8.count == (bytes.count + 2) / 3 * 4 else { return nil }
        let lastGroup = Data(bytes.suffix((bytes.count + 2) % 3 + 1)).base64EncodedString()
        guard text.utf8.suffix(4).elementsEqual(lastGroup.utf8) else { return nil }
        self.init(bytes)
    }

    package var base64: String { Data(self).base64EncodedString() }

    /// In lower case, two digits a byte.
    package var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

// Checksums as Google writes them.
extension [UInt8] {
    /// Nil unless the text is the Base64 of 16 bytes.
    package init?(md5 text: String) {
        self.init(base64: text)
        guard count == 16 else { return nil }
    }
}

/// A CRC32C is four bytes, the highest first.
extension UInt32 {
    /// Nil unless the text is the Base64 of four bytes.
    package init?(base64 text: String) {
        guard let bytes = [UInt8](base64: text), bytes.count == 4 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    package var base64: String { withUnsafeBytes(of: bigEndian) { Array($0) }.base64 }
}

extension HTTPHeaders {
    /// The entries of `x-goog-hash` over all its lines: `crc32c=…`, `md5=…`. The value of an entry without a sign of equality
    /// is nil.
    package var hashes: [(name: Substring, value: String?)] {
        list("x-goog-hash").map { entry in
            let sides = entry.split(separator: "=", maxSplits: 1)
            return (trimmed(sides.first ?? ""), sides.count == 2 ? String(trimmed(sides[1])) : nil)
        }
    }
}
