import Checksums
import HTTPText
import Storage

/// The position in a listing. The next page begins behind the entry, even if entries are added or removed meanwhile.
struct PageToken {
    /// The bytes of the last object's name, or of the last prefix with its slash.
    let entry: [UInt8]

    init(after entry: [UInt8]) { self.entry = entry }

    /// Throws `invalidArgument` for a token of another listing. `filter`: what else tells listings apart.
    init(_ text: String, of reference: Reference, _ filter: [UInt8] = []) throws(StorageError) {
        guard let bytes = [UInt8](base64: text), bytes.count > 4,
            case let token = PageToken(after: Array(bytes.dropFirst(4))),
            token.text(for: reference, filter).utf8.elementsEqual(text.utf8)
        else { throw .invalidArgument("pageToken", "The page token was not given for a listing of \(reference.url).") }
        entry = token.entry
    }

    /// The entry after a checksum that binds it to the listing.
    func text(for reference: Reference, _ filter: [UInt8] = []) -> String {
        var checksum = Checksum()
        for bytes in [Array(reference.bucket.utf8), [0], reference.namesBelow, filter, [0], entry] {
            bytes.withUnsafeBytes { checksum.updateCRC($0) }
        }
        let head = (0..<4).map { UInt8(truncatingIfNeeded: checksum.crc32c >> (24 - 8 * $0)) }
        return (head + entry).base64
    }
}

extension Reference {
    /// The common prefix of all names below it.
    var namesBelow: [UInt8] { Array(prefix.utf8) }
}
