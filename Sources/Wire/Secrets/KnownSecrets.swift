/// Finds known secrets in a text by any piece that is long enough, in any case: unencoded, in hex and in Base64.
struct KnownSecrets {
    private var plain = Pieces()
    private var encoded = Pieces()

    init(_ secrets: [String]) {
        for secret in secrets where !secret.isEmpty {
            for reading in DecodedText.readings(of: secret) {
                plain.insert(reading.bytes.map(lowercased))
                for text in EncodedSecret.texts(of: reading.bytes) { encoded.insert(text) }
            }
        }
    }

    /// The ranges in the source. Of an encoded secret the whole encoded text is included.
    func secrets(in text: DecodedText) -> [Range<Int>] {
        let found = plain.ranges(in: text.bytes, lowercased)
        let digits = encoded.ranges(in: text.bytes, EncodedSecret.digit)
        return (found + digits.map { EncodedSecret.run(around: $0, in: text.bytes) }).map(text.origin)
    }
}

/// Pieces of texts, by their lengths.
private struct Pieces {
    /// The length of a piece in bytes. A shorter text is searched as a whole.
    private static let length = 12

    private var byLength: [Int: Set<ArraySlice<UInt8>>] = [:]

    mutating func insert(_ text: [UInt8]) {
        let length = min(Self.length, text.count)
        for start in 0...(text.count - length) { byLength[length, default: []].insert(text[start..<start + length]) }
    }

    func ranges(in bytes: [UInt8], _ fold: (UInt8) -> UInt8) -> [Range<Int>] {
        let bytes = byLength.isEmpty ? [] : bytes.map(fold)
        return byLength.flatMap { length, pieces in
            stride(from: 0, through: bytes.count - length, by: 1).map { $0..<$0 + length }
                .filter { pieces.contains(bytes[$0]) }
        }
    }
}

/// The form of a secret in hex and in Base64, in lower case.
private enum EncodedSecret {
    /// In bytes: the digits of a shorter secret occur in other texts by chance.
    private static let shortest = 6

    static func texts(of secret: [UInt8]) -> [[UInt8]] {
        secret.count < shortest ? [] : [hex(secret)] + (0..<3).map { base64(secret, after: $0) }
    }

    /// The digit in lower case, and in the common alphabet of Base64.
    static func digit(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: lowercased(byte)
        }
    }

    /// The whole encoded text around these digits.
    static func run(around range: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start > 0, isDigit(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, isDigit(bytes[end]) { end += 1 }
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        return start..<end
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch digit(byte) {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }

    private static func hex(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// The Base64 digits of a secret that depend neither on what follows it nor on the `count` bytes before it.
    private static func base64(_ secret: [UInt8], after count: Int) -> [UInt8] {
        let digits = Array("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bytes = [UInt8](repeating: 0, count: count) + secret
        let own = (count * 8 + 5) / 6..<bytes.count * 8 / 6
        return own.map { index in
            let (byte, shift) = (index * 6 / 8, index * 6 % 8)
            let pair = UInt16(bytes[byte]) << 8 | (byte + 1 < bytes.count ? UInt16(bytes[byte + 1]) : 0)
            return digits[Int(pair >> (10 - UInt16(shift)) & 63)]
        }
    }
}

extension String {
    /// Whether a param, header or member of this name contains a secret, in any encoding of the name.
    package var isSecretName: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].isSecretName } }

    /// Whether the text contains a word that names secrets.
    package var mentionsSecrets: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].mentionsSecrets } }
}

extension ArraySlice<UInt8> {
    var isSecretName: Bool {
        let letters = letters
        let isPageToken = Self.pageTokens.contains { letters.suffix($0.count).elementsEqual($0) }
        return !isPageToken && (mentionsSecrets || Self.names.contains { letters.elementsEqual($0) })
    }

    /// The ends of names of page tokens, which are no secrets.
    private static let pageTokens = ["pagetoken", "continuationtoken"].map { Array($0.utf8) }
    /// Whole names. `Credential` contains the ID of an access key.
    private static let names = ["sig", "credential", "xamzcredential"].map { Array($0.utf8) }

    private static let words = [
        "token", "secret", "password", "passwd", "authorization", "signature", "uploadid", "privatekey", "apikey",
        "appcheck", "assertion", "cookie", "accesskey",
    ].map { Array($0.utf8) }

    var mentionsSecrets: Bool {
        let letters = letters
        return letters.indices.contains { start in
            Self.words.contains { $0[0] == letters[start] && letters[start...].starts(with: $0) }
        }
    }

    /// The name in lower case, without separators of words.
    private var letters: [UInt8] { map(lowercased).filter { !"_-.".utf8.contains($0) } }
}
