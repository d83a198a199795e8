import Platform

/// The input for one step of an upload whose client sends the bytes in several requests: the bytes of one request, and
/// the size and the checksums of the object as far as the client has sent them.
public struct IncomingBytes: Sendable {
    /// Bytes of one request, in memory or in a file.
    public struct Piece: Sendable {
        /// The range in the object.
        public let range: Range<Int64>
        /// More bytes of the request follow, and the upload may have to drop these if they do not come.
        public var isProvisional = false
        /// Fills the buffer with the bytes at an offset of the object. May block.
        public typealias Read =
            @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws(StorageError) -> Void

        fileprivate let read: Read

        /// Fills a buffer with the bytes from an offset of the object; both must lie within the range. May block.
        package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
            try read(buffer, offset)
        }

        public init(_ range: Range<Int64>, read: @escaping Read) { (self.range, self.read) = (range, read) }

        /// The bytes before an offset of the object.
        package func prefix(upTo end: Int64) -> Piece {
            Piece(range.lowerBound..<min(max(end, range.lowerBound), range.upperBound), read: read)
        }

        /// `count` bytes from `start` on. The end saturates, since a client may send any integer.
        public init(_ count: Int64, from start: Int64, read: @escaping Read) {
            self.init(start..<start.addingSaturated(count), read: read)
        }

        /// A piece of bytes in memory.
        public init(_ bytes: [UInt8], at offset: Int64) {
            self.init(Int64(bytes.count), from: offset) { buffer, place in
                bytes.withUnsafeBytes { all in
                    buffer.copyMemory(from: .init(rebasing: all.dropFirst(Int(place - offset)).prefix(buffer.count)))
                }
            }
        }
    }

    /// The size of the object in bytes; nil while it is unknown.
    public var size: Int64?
    /// The checksums of the whole object that the client has sent.
    public var expected = Checksums()
    /// The bytes of the request that a step serves.
    package var piece: Piece?
    /// The engine drops provisional bytes before it answers what it has.
    package var dropsProvisional = false

    /// - Parameter size: nil if the client sends it with the last bytes.
    public init(size: Int64?) { self.size = size }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        let end = offset.addingSaturated(Int64(buffer.count))
        guard let piece, piece.range.lowerBound <= offset, end <= piece.range.upperBound else {
            throw StorageError(.internalError, "The bytes \(offset) to \(end) have not arrived.")
        }
        try piece.read(buffer, offset)
    }
}

extension IncomingBytes.Piece {
    /// The offset of the first byte that `read` does not return for its place; nil if all bytes are the same. Blocks.
    package func firstDifference(
        from read: (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws(StorageError) -> Void
    ) throws(StorageError) -> Int64? {
        let block = 256 << 10
        var (one, other) = ([UInt8](repeating: 0, count: block), [UInt8](repeating: 0, count: block))
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(Int64(block), range.upperBound - offset))
            try one.filling(count) { buffer throws(StorageError) in try fill(buffer, at: offset) }
            try other.filling(count) { buffer throws(StorageError) in try read(buffer, offset) }
            if one.prefix(count) != other.prefix(count) {
                return zip(one, other).enumerated().first { $1.0 != $1.1 }.map { offset + Int64($0.offset) }
            }
            offset += Int64(count)
        }
        return nil
    }
}

extension [UInt8] {
    /// Fills the first `count` bytes.
    fileprivate mutating func filling(
        _ count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        let filled = withUnsafeMutableBytes { bytes in
            Result { () throws(StorageError) in try fill(.init(rebasing: bytes.prefix(count))) }
        }
        try filled.get()
    }
}
