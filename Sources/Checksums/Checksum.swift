import CChecksums

/// MD5 and CRC32C of bytes that come piece by piece.
package struct Checksum: Sendable {
    private var md5Context = checksums_md5()
    package private(set) var crc32c: UInt32 = 0

    package init() { checksums_md5_init(&md5Context) }

    /// Goes on where another one was. Nil for a state that no such number of bytes can give.
    package init?(md5State: [UInt8], crc32c: UInt32, after count: Int64) {
        guard md5State.count == MemoryLayout<checksums_md5>.size else { return nil }
        withUnsafeMutableBytes(of: &md5Context) { $0.copyBytes(from: md5State) }
        guard md5Context.length == UInt64(clamping: count) else { return nil }
        self.crc32c = crc32c
    }

    /// What the MD5 of more bytes needs to know of those before; good for this machine's kind alone.
    package var md5State: [UInt8] { withUnsafeBytes(of: md5Context) { Array($0) } }

    /// For a CRC alone.
    package init(crc32c: UInt32) {
        self.init()
        self.crc32c = crc32c
    }

    package init(of bytes: [UInt8]) {
        self.init()
        bytes.withUnsafeBytes {
            updateMD5($0)
            updateCRC($0)
        }
    }

    package mutating func updateMD5(_ bytes: UnsafeRawBufferPointer) {
        checksums_md5_update(&md5Context, bytes.baseAddress, bytes.count)
    }

    package mutating func updateCRC(_ bytes: UnsafeRawBufferPointer) {
        crc32c = checksums_crc32c(crc32c, bytes.baseAddress, bytes.count)
    }

    package var md5: [UInt8] {
        withUnsafePointer(to: md5Context) { context in
            [UInt8](unsafeUninitializedCapacity: 16) { digest, count in
                checksums_md5_digest(context, digest.baseAddress)
                count = 16
            }
        }
    }
}
