/// Finds known secrets in a text by any piece that is long enough, in any case.
struct KnownSecrets {
    /// In bytes. A shorter secret is found as a whole.
    private static let pieceLength = 12

    private var piecesByLength: [Int: Set<ArraySlice<UInt8>>] = [:]

    init(_ secrets: [String]) {
        for secret in secrets where !secret.isEmpty {
            for reading in DecodedText.readings(of: secret) { insert(reading.bytes.map(lowercased)) }
        }
    }

    private mutating func insert(_ secret: [UInt8]) {
        let length = min(Self.pieceLength, secret.count)
        for start in 0...(secret.count - length) {
            piecesByLength[length, default: []].insert(secret[start..<start + length])
        }
    }

    /// The ranges in the source.
    func secrets(in text: DecodedText) -> [Range<Int>] {
        let bytes = piecesByLength.isEmpty ? [] : text.bytes.map(lowercased)
        return piecesByLength.flatMap { length, pieces in
            stride(from: 0, through: bytes.count - length, by: 1).map { $0..<$0 + length }
                .filter { pieces.contains(bytes[$0]) }.map(text.origin)
        }
    }
}

extension String {
    /// Says whether a param, header or member of this name holds a secret, in any encoding of the name.
    public var isSecretName: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].isSecretName } }

    /// Says whether the text contains a word that names secrets.
    public var mentionsSecrets: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].mentionsSecrets } }
}

extension ArraySlice<UInt8> {
    var isSecretName: Bool {
        // A page token is no secret.
        let isPageToken = letters.suffix(9).elementsEqual("pagetoken".utf8)
        return !isPageToken && (mentionsSecrets || letters.elementsEqual("sig".utf8))
    }

    private static let words = [
        "token", "secret", "password", "passwd", "authorization", "signature", "uploadid", "privatekey", "apikey",
        "appcheck", "assertion", "cookie",
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
