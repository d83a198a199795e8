import Checksums
import FoundationEssentials
import Storage

/// MD5 and CRC32C of bytes that come piece by piece.
struct Checksum: Sendable {
    private var md5Context = checksums_md5()
    private(set) var crc32c: UInt32 = 0

    init() { checksums_md5_init(&md5Context) }

    init(of bytes: [UInt8]) {
        self.init()
        bytes.withUnsafeBytes {
            updateMD5($0)
            updateCRC($0)
        }
    }

    mutating func updateMD5(_ bytes: UnsafeRawBufferPointer) {
        checksums_md5_update(&md5Context, bytes.baseAddress, bytes.count)
    }

    mutating func updateCRC(_ bytes: UnsafeRawBufferPointer) {
        crc32c = checksums_crc32c(crc32c, bytes.baseAddress, bytes.count)
    }

    var md5: [UInt8] {
        withUnsafePointer(to: md5Context) { context in
            [UInt8](unsafeUninitializedCapacity: 16) { digest, count in
                checksums_md5_digest(context, digest.baseAddress)
                count = 16
            }
        }
    }
}

extension Upload {
    /// Throws `nonMatchingChecksum` unless the bytes have the MD5 that they were to have.
    func checkMD5(_ md5: [UInt8]) throws(StorageError) {
        guard let expectedMD5, Data(base64Encoded: expectedMD5) != Data(md5) else { return }
        throw StorageError(
            .nonMatchingChecksum,
            "The bytes have the MD5 \(Data(md5).base64EncodedString()), but metadata.md5Hash says \(expectedMD5).")
    }
}
