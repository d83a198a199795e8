// Checksums in Google's notation.
extension [UInt8] {
    /// Nil unless the text is the Base64 of 16 bytes.
    package init?(md5 text: String) {
        self.init(base64: text)
        guard count == 16 else { return nil }
    }
}

/// A CRC32C is four bytes, the most significant one first.
extension UInt32 {
    /// Nil unless the text is the Base64 of four bytes.
    package init?(base64 text: String) {
        guard let bytes = [UInt8](base64: text), bytes.count == 4 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    package var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

    package var base64: String { bytes.base64 }
}

extension HTTPHeaders {
    /// The entries of `x-goog-hash` over all its lines: `crc32c=…`, `md5=…`. The value of an entry without an equals
    /// sign is nil.
    package var hashes: [(name: Substring, value: String?)] {
        list("x-goog-hash").map { entry in
            let sides = entry.split(separator: "=", maxSplits: 1)
            return (trimmed(sides.first ?? ""), sides.count == 2 ? String(trimmed(sides[1])) : nil)
        }
    }
}
