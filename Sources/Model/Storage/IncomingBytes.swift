import Platform
import Synchronization

/// The bytes of an upload whose client sends them in several requests. It holds the bytes of one request at a time.
public final class IncomingBytes: Sendable {
    /// The bytes of one request, in memory or in a file.
    public struct Piece: Sendable {
        /// The range in the object.
        public let range: Range<Int64>
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

    private struct State {
        var piece: Piece?
        var size: Int64?
        var expected = Checksums()
        /// The size and the checksums of the object that hold while there is no piece.
        var whole: Whole

        struct Whole {
            var size: Int64?
            var expected = Checksums()
        }

        init(_ whole: Whole) { (self.whole, size, expected) = (whole, whole.size, whole.expected) }
    }

    private let state: Mutex<State>
    /// In bytes; nil if the client sends the size with the last bytes.
    public let announced: Int64?

    /// `size` is nil if the client sends it later.
    public init(size: Int64?) {
        announced = size
        state = Mutex(State(State.Whole(size: size)))
    }

    /// The size of the object; nil while it is unknown.
    public var size: Int64? { state.withLock { $0.size } }

    /// The checksums of the whole object that the client has sent.
    public var expected: Checksums { state.withLock { $0.expected } }

    /// `isLast`: the object ends with this piece. Otherwise its size stays unknown, even after all announced bytes,
    /// until the client ends it.
    package func offer(_ piece: Piece, isLast: Bool, _ expected: Checksums) {
        state.withLock { state in
            (state.piece, state.size) = (piece, isLast ? piece.range.upperBound : nil)
            state.expected = expected
        }
    }

    /// Removes the piece. The client may send the same bytes again, or others.
    package func withdraw() { state.withLock { $0 = State($0.whole) } }

    /// Sets the size and the checksums of the object, with or without its last piece. Nil: the client has not ended it.
    package func end(at size: Int64?, _ expected: Checksums = .init()) {
        state.withLock { state in
            state.whole = State.Whole(size: size ?? announced, expected: expected)
            if state.piece == nil { state = State(state.whole) }
        }
    }

    /// The range of the present piece.
    package var range: Range<Int64>? { state.withLock { $0.piece?.range } }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        let end = offset.addingSaturated(Int64(buffer.count))
        guard let piece = state.withLock({ $0.piece }), piece.range.lowerBound <= offset, end <= piece.range.upperBound
        else { throw StorageError(.internalError, "The bytes \(offset) to \(end) have not arrived.") }
        try piece.read(buffer, offset)
    }
}
