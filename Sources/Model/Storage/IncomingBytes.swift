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
