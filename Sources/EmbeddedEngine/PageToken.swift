import Checksums
import FoundationEssentials
import Storage

/// Where a page of a listing ended: the next one begins behind that entry, whatever comes and goes meanwhile.
struct PageToken {
    /// The name of the last object, or the last prefix with its slash, as bytes.
    let entry: [UInt8]

    init(after entry: [UInt8]) { self.entry = entry }

    /// Throws `invalidArgument` unless this engine gave the token for a page of the same listing.
    init(_ text: String, of reference: Reference) throws(StorageError) {
        guard let bytes = Data(base64Encoded: text), bytes.count > 4,
            case let token = PageToken(after: Array(bytes.dropFirst(4))),
            token.text(for: reference).utf8.elementsEqual(text.utf8)
        else {
            throw .invalidArgument("pageToken", "The page token was not given for a listing of \(reference.url).")
        }
        entry = token.entry
    }

    /// The entry behind a checksum that ties it to what is listed.
    func text(for reference: Reference) -> String {
        var checksum = Checksum()
        for bytes in [Array(reference.bucket.utf8), [0], reference.namesBelow, [0], entry] {
            bytes.withUnsafeBytes { checksum.updateCRC($0) }
        }
        let head = (0..<4).map { UInt8(truncatingIfNeeded: checksum.crc32c >> (24 - 8 * $0)) }
        return Data(head + entry).base64EncodedString()
    }

    /// The least name that can come behind the entry; behind a prefix that is behind all names that have it. `below` is
    /// what all names begin with that are listed: a name that is just that is an object.
    func next(below: [UInt8]) -> [UInt8] {
        let isPrefix = entry.last == UInt8(ascii: "/") && entry.count > below.count
        return isPrefix ? entry.dropLast() + [UInt8(ascii: "/") + 1] : entry + [0]
    }
}

extension Reference {
    /// What all names below it begin with.
    var namesBelow: [UInt8] { Array(prefix.utf8) }
}
