import CChecksums

/// Incremental MD5 and CRC32C.
package struct Checksum: Sendable {
    private var md5Context = checksums_md5()
    package private(set) var crc32c: UInt32 = 0

    /// The MD5 of the MD5s of parts; nil unless `updateParts` was called.
    private var composed: ComposedMD5?

    package init() { checksums_md5_init(&md5Context) }

    /// Restores a state; nil for a state that contradicts the number of bytes.
    package init?(md5State: [UInt8], crc32c: UInt32, after count: Int64) {
        guard md5State.count == MemoryLayout<checksums_md5>.size else { return nil }
        withUnsafeMutableBytes(of: &md5Context) { $0.copyBytes(from: md5State) }
        guard md5Context.length == UInt64(clamping: count) else { return nil }
        self.crc32c = crc32c
    }

    /// The internal state of the MD5, valid only on this architecture.
    package var md5State: [UInt8] { withUnsafeBytes(of: md5Context) { Array($0) } }

    /// Restores a CRC32C without an MD5.
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

    /// The maximum number of streams that are hashed together.
    package static let mostStreams = Int(CHECKSUMS_MD5_STREAMS)

    /// Hashes the bytes of several streams together, which for three or more is faster than one after the other.
    ///
    /// - Precondition: `streams` and `bytes` have the same number of elements, at most `mostStreams`.
    package static func updateMD5(of streams: inout [Checksum], _ bytes: [UnsafeRawBufferPointer]) {
        precondition(streams.count == bytes.count && streams.count <= mostStreams)
        var contexts = streams.map(\.md5Context)
        checksums_md5_update_many(&contexts, bytes.map(\.baseAddress), bytes.map(\.count), Int32(streams.count))
        for index in streams.indices { streams[index].md5Context = contexts[index] }
    }

    /// Adds bytes to the MD5 of the MD5s of parts of this size. Every call must name the same size.
    package mutating func updateParts(_ bytes: UnsafeRawBufferPointer, of size: Int64) {
        if composed == nil {
            composed = ComposedMD5(size)
        } else if !isKnownUniquelyReferenced(&composed), let other = composed {
            composed = ComposedMD5(copying: other)
        }
        composed?.update(bytes)
    }

    /// The MD5 of the MD5s of the parts, and the number of parts; nil before `updateParts`.
    package var parts: (md5: [UInt8], count: Int)? { composed?.digest }

    package mutating func updateCRC(_ bytes: UnsafeRawBufferPointer) {
        crc32c = checksums_crc32c(crc32c, bytes.baseAddress, bytes.count)
    }

    /// Combines the CRC32C `first` of some bytes with the CRC32C `second` of the `count` bytes that follow them.
    package static func crc32c(_ first: UInt32, followedBy second: UInt32, _ count: Int64) -> UInt32 {
        // Appending n bytes multiplies a CRC by x to the power of 8n.
        var (shift, power, rest): (UInt32, UInt32, Int64) = (1 << 31, 1 << 23, max(0, count))
        while rest > 0 {
            if rest & 1 == 1 { shift = product(shift, power) }
            power = product(power, power)
            rest >>= 1
        }
        return product(shift, first) ^ second
    }

    /// The product of two polynomials with reflected bits, modulo the polynomial of CRC32C.
    private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
        var (product, b): (UInt32, UInt32) = (0, b)
        for bit in (0..<32).reversed() {
            if a >> UInt32(bit) & 1 == 1 { product ^= b }
            b = b & 1 == 1 ? b >> 1 ^ 0x82F6_3B78 : b >> 1
        }
        return product
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

/// The MD5 of the MD5s of the parts of a stream, as Amazon S3 tags objects that were uploaded in parts.
///
/// Sound: `Checksum` changes only an instance that no copy of it shares.
private final class ComposedMD5: @unchecked Sendable {
    private let partSize: Int64
    private var left: Int64
    private var part = Checksum()
    private var whole = Checksum()
    private var count = 0

    init(_ partSize: Int64) { (self.partSize, left) = (partSize, partSize) }

    init(copying other: ComposedMD5) {
        (partSize, left, count) = (other.partSize, other.left, other.count)
        (part, whole) = (other.part, other.whole)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(min(left, Int64(rest.count)))))
            part.updateMD5(piece)
            left -= Int64(piece.count)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            if left == 0 { endPart() }
        }
    }

    private func endPart() {
        part.md5.withUnsafeBytes { whole.updateMD5($0) }
        (part, left, count) = (Checksum(), partSize, count + 1)
    }

    /// Does not end the last part: more bytes may follow.
    var digest: (md5: [UInt8], count: Int) {
        guard left < partSize else { return (whole.md5, count) }
        let ended = ComposedMD5(copying: self)
        ended.endPart()
        return (ended.whole.md5, ended.count)
    }
}
