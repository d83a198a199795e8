import Checksums
import HTTPText
import Storage

/// The position in a listing. The next page begins after the entry, even if entries are added or removed meanwhile.
struct PageToken {
    /// The bytes of the last object's or bucket's name, or of the last prefix with its slash.
    let entry: [UInt8]

    init(after entry: [UInt8]) { self.entry = entry }

    /// Throws `invalidArgument` for a token of another listing. `filter` contains further params that distinguish
    /// listings.
    init(_ text: String, of reference: Reference, _ filter: [UInt8] = []) throws(StorageError) {
        guard let token = PageToken(text, boundTo: Self.listing(of: reference, filter)) else {
            throw .invalidArgument("pageToken", "The page token was not given for a listing of \(reference.url).")
        }
        self = token
    }

    /// Throws `invalidArgument` for a token of anything but a list of the buckets with this prefix.
    init(_ text: String, ofBucketsWith prefix: String) throws(StorageError) {
        guard let token = PageToken(text, boundTo: Self.buckets(prefix)) else {
            throw .invalidArgument("pageToken", "The page token was not given for this list of buckets.")
        }
        self = token
    }

    private init?(_ text: String, boundTo listing: [[UInt8]]) {
        guard let bytes = [UInt8](base64: text), bytes.count > 4,
            case let token = PageToken(after: Array(bytes.dropFirst(4))),
            token.text(boundTo: listing).utf8.elementsEqual(text.utf8)
        else { return nil }
        self = token
    }

    func text(for reference: Reference, _ filter: [UInt8] = []) -> String {
        text(boundTo: Self.listing(of: reference, filter))
    }

    func text(forBucketsWith prefix: String) -> String { text(boundTo: Self.buckets(prefix)) }

    private static func listing(of reference: Reference, _ filter: [UInt8]) -> [[UInt8]] {
        [Array(reference.bucket.utf8), [0], reference.namesBelow, filter, [0]]
    }

    /// Identifies a list of buckets: no bucket has an empty name.
    private static func buckets(_ prefix: String) -> [[UInt8]] { [[0], Array(prefix.utf8), [0]] }

    /// The entry, preceded by a checksum that binds it to the listing.
    private func text(boundTo listing: [[UInt8]]) -> String {
        var checksum = Checksum()
        for bytes in listing + [entry] { bytes.withUnsafeBytes { checksum.updateCRC($0) } }
        let head = (0..<4).map { UInt8(truncatingIfNeeded: checksum.crc32c >> (24 - 8 * $0)) }
        return (head + entry).base64
    }
}

extension Reference {
    /// The common prefix of all names below the reference.
    var namesBelow: [UInt8] { Array(prefix.utf8) }
}
