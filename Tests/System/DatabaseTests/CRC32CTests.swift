import CChecksums
import Checksums
import TestSupport
import Testing

@Suite(.watchdog) struct CRC32CTests {
    @Test func `CRC32C of no bytes and of the check string is correct`() {
        #expect(checksums_crc32c(0, "123456789", 9) == 0xE306_9283)
        #expect(checksums_crc32c_portable(0, "123456789", 9) == 0xE306_9283)
        #expect(checksums_crc32c(0, nil, 0) == 0)
        #expect(checksums_crc32c(0xE306_9283, nil, 0) == 0xE306_9283)
    }

    @Test(
        arguments: [
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            ([UInt8](0..<32), 0x46DD_794E),
        ] as [([UInt8], UInt32)])
    func `CRC32C of the examples of RFC 3720 is correct`(bytes: [UInt8], crc: UInt32) {
        #expect(checksums_crc32c(0, bytes, bytes.count) == crc)
    }

    @Test(arguments: 0..<2 as Range<UInt64>) func `CRC32C of pieces equals that of the whole`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        for count in 0...300 {
            let bytes = randomBytes(count, using: &random)
            let pieces = randomPieces(of: bytes, using: &random)
            let chained = pieces.reduce(0) { checksums_crc32c($0, $1, $1.count) }
            #expect(chained == checksums_crc32c(0, bytes, bytes.count))
        }
    }

    @Test(arguments: 0..<2 as Range<UInt64>) func `CRC32Cs of pieces make that of the whole`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        for count in [0, 1, 2, 255, 256, 5000, 100_000] {
            let bytes = randomBytes(count, using: &random)
            let made = randomPieces(of: bytes, using: &random).reduce(0) { crc, piece in
                Checksum.crc32c(crc, followedBy: checksums_crc32c(0, piece, piece.count), Int64(piece.count))
            }
            #expect(made == checksums_crc32c(0, bytes, bytes.count))
        }
        // The number of bytes may be that of any object.
        let zeros = checksums_crc32c(0, [0, 0, 0, 0], 4)
        #expect(Checksum.crc32c(zeros, followedBy: 0, .max) != Checksum.crc32c(zeros, followedBy: 0, .max - 1))
    }

    @Test(arguments: 0..<2 as Range<UInt64>)
    func `The fast and the portable CRC32C agree at any length and address`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        let bytes = randomBytes(20_000, using: &random)
        let lengths = Array(0...300) + (0..<100).map { _ in Int.random(in: 300...19_000, using: &random) }
        bytes.withUnsafeBytes { buffer in
            for length in lengths + [3071, 3072, 3073, 6144, 9223] {
                let start = Int.random(in: 0..<16, using: &random)
                let part = UnsafeRawBufferPointer(rebasing: buffer[start..<start + length])
                let initial = UInt32.random(in: 0 ... .max, using: &random)
                let fast = checksums_crc32c(initial, part.baseAddress, length)
                #expect(
                    fast == checksums_crc32c_portable(initial, part.baseAddress, length), "\(length) from \(start)")
            }
        }
    }
}
