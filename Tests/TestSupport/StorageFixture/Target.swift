/// What a request's first line asks for, every part of it decoded once.
struct Target: Sendable {
    var segments: [String] = []
    var query: [String: String] = [:]

    /// Nil where an escape is broken, or stands for what is not UTF-8.
    init?(_ raw: String) {
        let halves = raw.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        for segment in (halves.first ?? "").split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let segment = Self.decoded(segment) else { return nil }
            segments.append(segment)
        }
        for pair in (halves.dropFirst().first ?? "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = Self.decoded(sides[0], plusIsSpace: true),
                let value = Self.decoded(sides.dropFirst().first ?? "", plusIsSpace: true)
            else { return nil }
            query[key] = value
        }
    }

    private static func decoded(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension String {
    /// Everything but the unreserved characters of RFC 3986 as escapes.
    var percentEncoded: String {
        utf8.reduce(into: "") { text, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(UnicodeScalar(byte))
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
