/// Secrets that are known, as they are recognised in a text: by any piece that is long enough, in whatever case.
struct KnownSecrets {
    /// In bytes. A shorter secret is recognised as a whole.
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

    /// Where they stand in the source.
    func secrets(in text: DecodedText) -> [Range<Int>] {
        let bytes = piecesByLength.isEmpty ? [] : text.bytes.map(lowercased)
        return piecesByLength.flatMap { length, pieces in
            stride(from: 0, through: bytes.count - length, by: 1).map { $0..<$0 + length }
                .filter { pieces.contains(bytes[$0]) }.map(text.origin)
        }
    }
}
