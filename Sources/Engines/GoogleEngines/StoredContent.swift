import Platform
import Checksums
import Storage

/// The known properties of stored bytes that verify a download: from the object's metadata, or from a response header.
struct StoredContent: Equatable, Sendable {
    let reference: Reference
    let generation: Int64
    let size: Int64
    /// Nil if unknown, like `md5`.
    let crc32c: UInt32?
    let md5: [UInt8]?
    let encoding: ContentEncoding

    init(_ object: ObjectMetadata) {
        (reference, generation, size) = (object.reference, object.generation, object.size)
        (crc32c, md5) = (object.crc32c, object.md5)
        encoding = ContentEncoding(object.settable.content[.contentEncoding])
    }

    /// Nil if the header does not identify the object.
    init?(_ described: MediaDescription, _ reference: Reference) {
        guard let generation = described.generation, let size = described.size, size >= 0,
            described.crc32c != nil || described.md5 != nil
        else { return nil }
        (self.reference, self.generation, self.size) = (reference, generation, size)
        (crc32c, md5, encoding) = (described.crc32c, described.md5, described.encoding)
    }

    /// Whether the bytes of a complete response are the stored ones.
    func holds(_ bytes: [UInt8], _ described: MediaDescription) -> Bool {
        !described.isOther(than: self) && Int64(bytes.count) == size && flaw(in: bytes, described) == nil
    }

    /// How the bytes differ from the stored ones; nil if they do not. Uses the response's checksums if none are known.
    func flaw(in bytes: [UInt8], _ described: MediaDescription) -> String? {
        var checksum = Checksum()
        if let crc32c = crc32c ?? described.crc32c {
            bytes.withUnsafeBytes { checksum.updateCRC($0) }
            return checksum.crc32c == crc32c ? nil : "their CRC32C is another"
        }
        guard let md5 = md5 ?? described.md5 else { return nil }
        bytes.withUnsafeBytes { checksum.updateMD5($0) }
        return checksum.md5 == md5 ? nil : "their MD5 is another"
    }
}

/// The properties of the stored object in a response header. Nil if unknown.
struct MediaDescription: Equatable, Sendable {
    var generation: Int64?
    var size: Int64?
    var encoding = ContentEncoding(nil)
    var crc32c: UInt32?
    var md5: [UInt8]?

    func isOther(than content: StoredContent) -> Bool {
        if let generation { return generation != content.generation }
        if let crc32c, let ours = content.crc32c { return crc32c != ours }
        if let md5, let ours = content.md5 { return md5 != ours }
        return false
    }
}

/// A content encoding; the default is `identity`.
struct ContentEncoding: Equatable, Sendable {
    private let text: String

    init(_ text: String?) { self.text = text.flatMap { $0.isEmpty ? nil : $0.lowercased() } ?? "identity" }

    var isGzip: Bool { text.has("gzip") }
}
