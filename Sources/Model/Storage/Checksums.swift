import Checksums

/// The known checksums of some bytes: those of a stored object, of a file, or those that a client expects.
public struct Checksums: Equatable, Sendable {
    public enum Kind: String, Sendable { case crc32c = "CRC32C", md5 = "MD5", parts = "MD5 of the MD5s of their parts" }

    /// The MD5 of the MD5s of parts.
    package struct Parts: Equatable, Sendable {
        package var md5: [UInt8]
        /// The size of each part but the last, in bytes.
        package var size: Int64
        package var count: Int

        package init(md5: [UInt8], size: Int64, count: Int) { (self.md5, self.size, self.count) = (md5, size, count) }
    }

    /// Nil if unknown, like the other kinds.
    public var md5: [UInt8]?
    public var crc32c: UInt32?
    package var parts: Parts?

    public init(md5: [UInt8]? = nil, crc32c: UInt32? = nil) { (self.md5, self.crc32c) = (md5, crc32c) }

    package init(md5: [UInt8]? = nil, crc32c: UInt32? = nil, parts: Parts?) {
        (self.md5, self.crc32c, self.parts) = (md5, crc32c, parts)
    }

    /// The kinds of `wanted` of a checksum that was computed over them.
    package init(_ computed: Checksum, like wanted: Checksums) {
        self.init(
            md5: wanted.md5.map { _ in computed.md5 }, crc32c: wanted.crc32c.map { _ in computed.crc32c },
            parts: wanted.parts.map { wanted in
                let found = computed.parts ?? (md5: Checksum().md5, count: 0)
                return Parts(md5: found.md5, size: wanted.size, count: found.count)
            })
    }

    public var isEmpty: Bool { md5 == nil && crc32c == nil && parts == nil }

    /// The MD5 if it is known, else the CRC32C: proves that bytes are the same.
    package var strongest: Checksums { md5 == nil ? self : Checksums(md5: md5) }

    /// The CRC32C if it is known, else the MD5, else that of the parts: finds damage.
    package var fastest: Checksums {
        if crc32c != nil { return Checksums(crc32c: crc32c) }
        return md5 == nil ? self : Checksums(md5: md5)
    }

    /// The checksums, with unknown kinds taken from `other`.
    package func filled(from other: Checksums) -> Checksums {
        Checksums(md5: md5 ?? other.md5, crc32c: crc32c ?? other.crc32c, parts: parts ?? other.parts)
    }

    /// The first kind that both know, with different values. Nil if no value differs.
    package func difference(from other: Checksums) -> Kind? {
        if let crc32c, crc32c != other.crc32c ?? crc32c { return .crc32c }
        if let md5, md5 != other.md5 ?? md5 { return .md5 }
        if let parts, let others = other.parts, parts.size == others.size, parts != others { return .parts }
        return nil
    }

    /// Whether the bytes are the same, as far as a kind that both know says. Nil if both know none.
    package func agree(with other: Checksums) -> Bool? {
        if difference(from: other) != nil { return false }
        return md5 != nil && other.md5 != nil || crc32c != nil && other.crc32c != nil
            || parts != nil && parts == other.parts ? true : nil
    }

    /// How bytes differ whose checksums are `found`, as a sentence; nil if they do not.
    package func flaw(in found: Checksums) -> String? {
        difference(from: found).map { "their \($0.rawValue) is another" }
    }
}

extension Checksum {
    /// Adds bytes to the kinds of `wanted`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer, like wanted: Checksums) {
        if wanted.md5 != nil { updateMD5(bytes) }
        if wanted.crc32c != nil { updateCRC(bytes) }
        if let parts = wanted.parts { updateParts(bytes, of: parts.size) }
    }
}

extension Checksums {
    package static let ofNothing = Checksums(md5: Checksum().md5, crc32c: 0)
}
