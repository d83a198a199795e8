import CChecksums
import TestSupport
import Testing

@Suite(.watchdog) struct MD5Tests {
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    ])
    func `MD5 of the examples of RFC 1321 is correct`(text: String, digest: String) {
        let hex = md5([Array(text.utf8)]).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        #expect(hex.joined() == digest)
    }

    @Test(arguments: 0..<2 as Range<UInt64>) func `MD5 of pieces equals that of the whole`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        for count in 0...300 {
            let bytes = randomBytes(count, using: &random)
            #expect(md5(randomPieces(of: bytes, using: &random)) == md5([bytes]))
        }
    }

    @Test func `Reading an intermediate digest does not change the hash`() {
        let bytes = [UInt8](0..<200)
        var hash = checksums_md5()
        checksums_md5_init(&hash)
        for (index, byte) in bytes.enumerated() {
            #expect(digest(of: &hash) == md5([Array(bytes[..<index])]))
            withUnsafeBytes(of: byte) { checksums_md5_update(&hash, $0.baseAddress, 1) }
        }
        #expect(digest(of: &hash) == md5([bytes]))
    }

    @Test func `An empty piece does not change the digest`() {
        var hash = checksums_md5()
        checksums_md5_init(&hash)
        checksums_md5_update(&hash, nil, 0)
        #expect(digest(of: &hash) == md5([]))
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func `Streams that are hashed together are those that are hashed alone`(
        seed: UInt64
    ) {
        var random = SeededGenerator(state: seed)
        for count in 1...Int(CHECKSUMS_MD5_STREAMS) {
            var together = [checksums_md5](repeating: checksums_md5(), count: count)
            for index in 0..<count { checksums_md5_init(&together[index]) }
            var pieces = [[[UInt8]]](repeating: [], count: count)
            for _ in 0..<3 {
                let longest = [10, 70, 5000].randomElement(using: &random) ?? 0
                let next = (0..<count).map { _ in randomBytes(.random(in: 0...longest, using: &random), using: &random)
                }
                for index in 0..<count { pieces[index].append(next[index]) }
                let copies = next.map { bytes in
                    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
                    copy.copyBytes(from: bytes)
                    return copy
                }
                checksums_md5_update_many(
                    &together, copies.map { UnsafeRawPointer($0.baseAddress) }, next.map(\.count), Int32(count))
                copies.forEach { $0.deallocate() }
            }
            for index in 0..<count { #expect(digest(of: &together[index]) == md5(pieces[index])) }
        }
    }

    private func md5(_ pieces: [[UInt8]]) -> [UInt8] {
        var hash = checksums_md5()
        checksums_md5_init(&hash)
        for piece in pieces { checksums_md5_update(&hash, piece, piece.count) }
        return digest(of: &hash)
    }

    private func digest(of hash: inout checksums_md5) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 16)
        checksums_md5_digest(&hash, &digest)
        return digest
    }
}

func randomBytes(_ count: Int, using random: inout some RandomNumberGenerator) -> [UInt8] {
    (0..<count).map { _ in .random(in: 0...255, using: &random) }
}

func randomPieces(of bytes: [UInt8], using random: inout some RandomNumberGenerator) -> [[UInt8]] {
    var rest = bytes[...]
    var pieces: [[UInt8]] = []
    while !rest.isEmpty {
        let piece = rest.prefix(.random(in: 0...130, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}
