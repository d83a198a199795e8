import EmbeddedEngine
import HTTPServer
import Platform
import Storage
import Transfers

/// Bytes that arrive: a body, or a part of one.
@Loop protocol ByteSource: AnyObject {
    /// Returns at most `count` bytes, and none at the end. Throws when the client has disconnected.
    func read(atMost count: Int) async throws -> [UInt8]
    /// Whether this number of bytes may be in memory at once. A few may in any case.
    func mayKeep(_ bytes: Int) -> Bool
}

@Loop final class NoBytes: ByteSource {
    func read(atMost count: Int) -> [UInt8] { [] }
    func mayKeep(_ bytes: Int) -> Bool { true }
}

/// Passes the bytes of a request on, a block at a time: a body of any length takes the same memory. The engine writes a
/// block while the next bytes arrive in the socket; they are read when it has written the block.
@Loop final class UploadBody {
    /// The bytes of a request that an upload keeps if its body breaks off or is wrong.
    enum Kept {
        /// The bytes up to the last multiple of the granularity: a client of a session continues at such offsets only.
        case wholeGranules
        /// None, since the end of the body shows whether its bytes are right.
        case none
    }

    /// The maximum length of a block, in bytes.
    private static let block = 1 << 20
    /// The largest number of bytes that one read adds to a block.
    private static let piece = 256 << 10
    /// The largest number of bytes that one read returns where memory may be short.
    private static let small = 64 << 10

    private let source: any ByteSource
    /// The bytes that are read and not passed on yet.
    private(set) var ahead: [UInt8] = []
    /// The block that `whole` has read.
    private var first: [UInt8]?

    init(_ source: any ByteSource) { self.source = source }

    /// Returns all bytes if one block contains them. Returns nil otherwise: the caller passes them on.
    func whole() async throws -> [UInt8]? {
        let (bytes, isEnd) = try await next()
        if isEnd { return bytes }
        first = bytes
        return nil
    }

    /// The next block, and whether it is the last one, which alone may be empty. Other blocks end at multiples of the
    /// granularity where memory allows. After an error `ahead` has the bytes that were read before.
    ///
    /// - Parameter offset: the offset of the block in the object.
    func next(from offset: Int64 = 0) async throws -> (bytes: [UInt8], isEnd: Bool) {
        if let first = exchange(&first, with: nil) { return (first, false) }
        var bytes = exchange(&ahead, with: [])
        do {
            while true {
                // One more read shows whether the block is the last one.
                let isFull = !bytes.isEmpty && !mayAdd(to: bytes.count)
                let limit = isFull || bytes.isEmpty ? Self.small : min(Self.piece, Self.block - bytes.count)
                let more = try await source.read(atMost: limit)
                if more.isEmpty { return (bytes, true) }
                if isFull { return (cut(&bytes, at: offset, before: more), false) }
                add(more, to: &bytes)
            }
        } catch {
            ahead = bytes
            throw error
        }
    }

    private func mayAdd(to count: Int) -> Bool {
        count < Self.block && source.mayKeep(min(count * 2, Self.block) + Self.piece)
    }

    private func add(_ more: [UInt8], to bytes: inout [UInt8]) {
        if bytes.isEmpty { return bytes = more }
        if bytes.capacity < bytes.count + more.count, bytes.count >= Self.piece { bytes.reserveCapacity(Self.block) }
        bytes += more
    }

    /// Returns the bytes up to the last multiple of the granularity, or all of them if there is none.
    private func cut(_ bytes: inout [UInt8], at offset: Int64, before more: [UInt8]) -> [UInt8] {
        let end = offset.addingSaturated(Int64(bytes.count))
        let count = Int(clamping: SentRange.wholeGranules(of: end) - offset)
        guard count > 0, count < bytes.count else {
            ahead = more
            return bytes
        }
        ahead = bytes[count...] + more
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Passes all bytes on, from an offset of the object. Returns the last answer. Of an upload that is complete, the
    /// bytes are compared with those of its object.
    ///
    /// - Parameter end: where the bytes must end; nil for anywhere. Throws 400 before it passes on those that do not.
    func send(
        to upload: IncomingUpload, at engine: EmbeddedBackend, from start: Int64, upTo end: Int64? = nil, isLast: Bool,
        keeping kept: Kept, _ expected: Checksums = .init()
    ) async throws -> IncomingUpload.Answer {
        try await upload.sendingPieces(from: start) { sender in
            try await send(
                to: upload, at: engine, from: start, upTo: end, isLast: isLast, keeping: kept, expected, as: sender)
        }
    }

    private func send(
        to upload: IncomingUpload, at engine: EmbeddedBackend, from start: Int64, upTo end: Int64?, isLast: Bool,
        keeping kept: Kept, _ expected: Checksums, as sender: Int
    ) async throws -> IncomingUpload.Answer {
        var (offset, hasKept) = (start, false)
        while true {
            let (bytes, isEnd): ([UInt8], Bool)
            do { (bytes, isEnd) = try await next(from: offset) } catch HTTPRequestBody.Failure.refused(let flaw) {
                try await upload.dropProvisional(of: sender)
                // The upload has wrong bytes that it cannot drop.
                if hasKept { _ = try? await upload.task?.cancel() }
                throw HTTPRequestBody.Failure.refused(flaw)
            } catch {
                let rest = IncomingBytes.Piece(ahead, at: offset)
                let whole = rest.prefix(upTo: kept == .none ? 0 : SentRange.wholeGranules(of: rest.range.upperBound))
                if !whole.range.isEmpty { _ = try await upload.send(whole, isLast: false, by: sender) }
                try await upload.dropProvisional(of: sender)
                throw error
            }
            var piece = IncomingBytes.Piece(bytes, at: offset)
            offset = piece.range.upperBound
            piece.isProvisional = !isEnd && (kept == .none || offset != SentRange.wholeGranules(of: offset))
            hasKept = hasKept || !piece.isProvisional
            if let end { try check(offset, isEnd: isEnd, upTo: end) }
            let answer = try await upload.send(
                piece, isLast: isLast && isEnd, isEnd ? expected : .init(), by: sender)
            if case .ended(let stored) = answer {
                try await compare(piece, with: stored, at: engine, isLast: isLast && isEnd)
                if !isEnd { try await compare(with: stored, at: engine, from: offset, upTo: end, isLast: isLast) }
            }
            guard case .received = answer, !isEnd else { return answer }
        }
    }

    /// Compares all bytes with those of an object that is complete: a client may send them again. Throws 400 where they
    /// have no place in it, 409 where they are others, and 410 where the object is no longer there.
    func compare(
        with stored: ObjectMetadata, at engine: EmbeddedBackend, from start: Int64, upTo end: Int64? = nil, isLast: Bool
    ) async throws {
        var offset = start
        while true {
            let (bytes, isEnd) = try await next(from: offset)
            let piece = IncomingBytes.Piece(bytes, at: offset)
            offset = piece.range.upperBound
            if let end { try check(offset, isEnd: isEnd, upTo: end) }
            try await compare(piece, with: stored, at: engine, isLast: isLast && isEnd)
            if isEnd { return }
        }
    }

    private func compare(
        _ piece: IncomingBytes.Piece, with stored: ObjectMetadata, at engine: EmbeddedBackend, isLast: Bool
    ) async throws {
        let end = piece.range.upperBound
        guard isLast ? end == stored.size : end <= stored.size else {
            throw GatewayError.badRequest("The bytes end at \(end), but the upload is complete with \(stored.size).")
        }
        if piece.range.isEmpty { return }
        guard let isSame = try await engine.has(piece, stored) else {
            throw GatewayError(
                410, "The upload is complete, and its object is no longer there to compare the bytes with.")
        }
        guard isSame else { throw GatewayError(409, "The upload is complete, and its object has other bytes.") }
    }

    private func check(_ offset: Int64, isEnd: Bool, upTo end: Int64) throws(GatewayError) {
        guard isEnd ? offset != end : offset > end else { return }
        throw .badRequest("The bytes of the body end at \(offset), but its Content-Range says \(end).")
    }
}
