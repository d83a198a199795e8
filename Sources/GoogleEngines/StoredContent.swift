import Checksums
import HTTPClient
import HTTPText
import Storage

/// Which bytes a server has stored, so that what arrives can be verified. Told by the object's metadata, or by the head
/// of the answer that carries them.
struct StoredContent: Equatable, Sendable {
    let reference: Reference
    let generation: Int64
    /// In bytes.
    let size: Int64
    /// Either of the two may be unknown.
    let crc32c: UInt32?
    let md5: [UInt8]?
    let encoding: ContentEncoding

    init(_ object: ObjectMetadata) {
        (reference, generation, size) = (object.reference, object.generation, object.size)
        (crc32c, md5) = (object.crc32c, object.md5)
        encoding = ContentEncoding(object.settable.content[.contentEncoding])
    }

    /// Nil where the head does not say enough.
    init?(_ headers: HTTPHeaders, _ reference: Reference) {
        guard let generation = headers["x-goog-generation"].flatMap({ Int64($0) }),
            let size = headers["x-goog-stored-content-length"].flatMap({ Int64($0) }), size >= 0
        else { return nil }
        (self.reference, self.generation, self.size) = (reference, generation, size)
        (crc32c, md5) = (headers.storedCRC32C, headers.storedMD5)
        guard crc32c != nil || md5 != nil else { return nil }
        encoding = ContentEncoding(headers["x-goog-stored-content-encoding"])
    }

    /// Whether these are its bytes, which came behind that head.
    func holds(_ bytes: [UInt8], _ headers: HTTPHeaders) -> Bool {
        MediaHead(status: 200, headers: headers, of: self, from: 0) == .bytes(from: 0) && Int64(bytes.count) == size
            && flaw(in: bytes, headers) == nil
    }

    /// What the head says counts where no checksum is known.
    func flaw(in bytes: [UInt8], _ headers: HTTPHeaders) -> String? {
        var checksum = Checksum()
        if let crc32c = crc32c ?? headers.storedCRC32C {
            bytes.withUnsafeBytes { checksum.updateCRC($0) }
            return checksum.crc32c == crc32c ? nil : "their CRC32C is another"
        }
        guard let md5 = md5 ?? headers.storedMD5 else { return nil }
        bytes.withUnsafeBytes { checksum.updateMD5($0) }
        return checksum.md5 == md5 ? nil : "their MD5 is another"
    }
}

/// How bytes are encoded, stored or on their way; `identity` where nobody says.
struct ContentEncoding: Equatable, Sendable {
    private let text: String

    init(_ text: String?) { self.text = text.flatMap { $0.isEmpty ? nil : $0.lowercased() } ?? "identity" }

    var isGzip: Bool { text.contains("gzip") }
}
