import Platform
import Checksums
import Storage

/// The known properties of stored bytes that verify a download: from the object's metadata, or from a response header.
struct StoredContent: Equatable, Sendable {
    let reference: Reference
    let generation: Int64
    let size: Int64
    let checksums: Checksums
    let encoding: ContentEncoding

    init(_ object: ObjectMetadata) {
        (reference, generation, size) = (object.reference, object.generation, object.size)
        checksums = object.checksums
        encoding = ContentEncoding(object.settable.content[.contentEncoding])
    }

    /// Nil if the header does not identify the object.
    init?(_ described: MediaDescription, _ reference: Reference) {
        guard let generation = described.generation, let size = described.size, size >= 0,
            !described.checksums.isEmpty
        else { return nil }
        (self.reference, self.generation, self.size) = (reference, generation, size)
        (checksums, encoding) = (described.checksums, described.encoding)
    }

    /// Whether the bytes of a complete response are the stored ones.
    func holds(_ bytes: [UInt8], _ described: MediaDescription) -> Bool {
        !described.isOther(than: self) && Int64(bytes.count) == size && flaw(in: bytes, described) == nil
    }

    /// How the bytes differ from the stored ones; nil if they do not. Uses the response's checksums if none are known.
    func flaw(in bytes: [UInt8], _ described: MediaDescription) -> String? {
        let expected = checksums.filled(from: described.checksums).fastest
        var checksum = Checksum()
        bytes.withUnsafeBytes { checksum.update($0, like: expected) }
        return expected.flaw(in: Checksums(checksum, like: expected))
    }
}

/// The properties of the stored object in a response header. Nil if unknown.
struct MediaDescription: Equatable, Sendable {
    var generation: Int64?
    var size: Int64?
    var encoding = ContentEncoding(nil)
    var checksums = Checksums()

    func isOther(than content: StoredContent) -> Bool {
        if let generation { return generation != content.generation }
        return checksums.difference(from: content.checksums) != nil
    }
}

extension MediaDescription {
    init(_ object: ObjectMetadata) {
        self.init(
            generation: object.generation, size: object.size,
            encoding: ContentEncoding(object.settable.content[.contentEncoding]), checksums: object.checksums)
    }
}

/// A content encoding; the default is `identity`.
struct ContentEncoding: Equatable, Sendable {
    private let text: String

    init(_ text: String?) { self.text = text.flatMap { $0.isEmpty ? nil : $0.lowercased() } ?? "identity" }

    var isGzip: Bool { text.has("gzip") }
}
