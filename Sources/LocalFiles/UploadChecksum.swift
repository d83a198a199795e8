import FoundationEssentials
import Storage

extension Upload {
    /// Throws `nonMatchingChecksum` unless the MD5 is the expected one.
    package func checkMD5(_ md5: [UInt8]) throws(StorageError) {
        guard let expectedMD5, Data(base64Encoded: expectedMD5) != Data(md5) else { return }
        throw StorageError(
            .nonMatchingChecksum,
            "The bytes have the MD5 \(Data(md5).base64EncodedString()), but metadata.md5Hash says \(expectedMD5).")
    }
}
