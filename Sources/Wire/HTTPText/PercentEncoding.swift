extension String {
    /// Percent-encoded for a path segment or a query value: all characters except unreserved ones.
    package var escaped: String { escaped(keepsSlashes: false) }

    /// Percent-encoded for a path if slashes are kept, else for a segment.
    package func escaped(keepsSlashes: Bool) -> String {
        func isKept(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
            default: byte == 0x2F && keepsSlashes
            }
        }
        if utf8.allSatisfy(isKept) { return self }
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes.append(0x25)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Decodes percent-encoding. Nil for an invalid escape or invalid UTF-8. A plus is a space only in queries.
@inlinable package func percentDecoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    guard text.utf8.contains(where: { $0 == 0x25 || plusIsSpace && $0 == 0x2B }) else { return String(text) }
    return percentDecodedBytes(text.utf8, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
}

/// Decodes percent-encoding to bytes. Nil for an invalid escape.
@inlinable package func percentDecodedBytes(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
        if byte == 0x25 {
            guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
            bytes.append(high << 4 | low)
        } else {
            bytes.append(plusIsSpace && byte == 0x2B ? 0x20 : byte)
        }
    }
    return bytes
}

@inlinable package func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
}
