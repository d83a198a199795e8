import Platform
import Synchronization

/// The bytes of an upload whose client sends them in requests of its own. At any time those of one request are there.
public final class IncomingBytes: Sendable {
    /// The bytes of one request, in memory or in a file.
    public struct Piece: Sendable {
        /// Where they are in the object.
        public let range: Range<Int64>
        /// Fills the buffer with the bytes at an offset of the object. May block.
        public typealias Read =
            @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws(StorageError) -> Void

        fileprivate let read: Read

        /// Fills a buffer from an offset of the object on; both must be within the range. May block.
        package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
            try read(buffer, offset)
        }

        public init(_ range: Range<Int64>, read: @escaping Read) { (self.range, self.read) = (range, read) }

        /// The bytes before an offset of the object.
        package func prefix(upTo end: Int64) -> Piece {
            Piece(range.lowerBound..<min(max(end, range.lowerBound), range.upperBound), read: read)
        }

        /// So many bytes from `start` on. No object reaches as far as the last integer: a client may say so all the same.
        public init(_ count: Int64, from start: Int64, read: @escaping Read) {
            self.init(start..<start.addingSaturated(count), read: read)
        }

        /// Of bytes in memory.
        public init(_ bytes: [UInt8], at offset: Int64) {
            self.init(Int64(bytes.count), from: offset) { buffer, place in
                bytes.withUnsafeBytes { all in
                    buffer.copyMemory(from: .init(rebasing: all.dropFirst(Int(place - offset)).prefix(buffer.count)))
                }
            }
        }
    }

    /// The checksums that all bytes must have. Nil where the client has sent none.
    public struct Expected: Equatable, Sendable {
        public var md5: [UInt8]?
        public var crc32c: UInt32?

        public init(md5: [UInt8]? = nil, crc32c: UInt32? = nil) { (self.md5, self.crc32c) = (md5, crc32c) }
    }

    private struct State {
        var piece: Piece?
        var size: Int64?
        var expected = Expected()
        /// What is known of all bytes while no piece is there.
        var whole: Whole

        struct Whole {
            var size: Int64?
            var expected = Expected()
        }

        init(_ whole: Whole) { (self.whole, size, expected) = (whole, whole.size, whole.expected) }
    }

    private let state: Mutex<State>
    /// In bytes; nil where the client sends the size with the last of them.
    public let announced: Int64?

    /// `size` is nil where the client sends it later.
    public init(size: Int64?) {
        announced = size
        state = Mutex(State(State.Whole(size: size)))
    }

    /// Nil while it is unknown.
    public var size: Int64? { state.withLock { $0.size } }

    public var expected: Expected { state.withLock { $0.expected } }

    /// `isLast`: the object ends with this piece. Otherwise it has no size yet, even if all announced bytes are there:
    /// its client has not ended it.
    package func offer(_ piece: Piece, isLast: Bool, _ expected: Expected) {
        state.withLock { state in
            (state.piece, state.size) = (piece, isLast ? piece.range.upperBound : nil)
            state.expected = expected
        }
    }

    /// The client may send the same bytes again, or others.
    package func withdraw() { state.withLock { $0 = State($0.whole) } }

    /// The object has this size and these checksums, whether its last piece is there or not. Nil: its client goes on.
    package func end(at size: Int64?, _ expected: Expected = .init()) {
        state.withLock { state in
            state.whole = State.Whole(size: size ?? announced, expected: expected)
            if state.piece == nil { state = State(state.whole) }
        }
    }

    /// Where the piece is that is there.
    package var range: Range<Int64>? { state.withLock { $0.piece?.range } }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        let end = offset.addingSaturated(Int64(buffer.count))
        guard let piece = state.withLock({ $0.piece }), piece.range.lowerBound <= offset, end <= piece.range.upperBound
        else { throw StorageError(.internalError, "The bytes \(offset) to \(end) have not arrived.") }
        try piece.read(buffer, offset)
    }
}
