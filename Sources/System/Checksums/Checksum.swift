import CChecksums

/// Incremental MD5 and CRC32C.
package struct Checksum: Sendable {
    private var md5Context = checksums_md5()
    package private(set) var crc32c: UInt32 = 0

    package init() { checksums_md5_init(&md5Context) }

    /// Restores a state. Returns nil for a state that does not fit the number of bytes.
    package init?(md5State: [UInt8], crc32c: UInt32, after count: Int64) {
        guard md5State.count == MemoryLayout<checksums_md5>.size else { return nil }
        withUnsafeMutableBytes(of: &md5Context) { $0.copyBytes(from: md5State) }
        guard md5Context.length == UInt64(clamping: count) else { return nil }
        self.crc32c = crc32c
    }

    /// The internal state of the MD5, valid on this architecture only.
    package var md5State: [UInt8] { withUnsafeBytes(of: md5Context) { Array($0) } }

    /// Restores a CRC only.
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

    /// The most streams that are hashed at the same time.
    package static let mostStreams = Int(CHECKSUMS_MD5_STREAMS)

    /// Hashes the bytes of several streams at the same time; three or more take less time than one after the other.
    ///
    /// - Precondition: there are as many as bytes, and at most `mostStreams`.
    package static func updateMD5(of streams: inout [Checksum], _ bytes: [UnsafeRawBufferPointer]) {
        precondition(streams.count == bytes.count && streams.count <= mostStreams)
        var contexts = streams.map(\.md5Context)
        checksums_md5_update_many(&contexts, bytes.map(\.baseAddress), bytes.map(\.count), Int32(streams.count))
        for index in streams.indices { streams[index].md5Context = contexts[index] }
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
