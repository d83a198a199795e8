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

/// Passes the bytes of a request to an upload, a window at a time: a body of any length takes the same memory.
@Loop final class UploadBody {
    /// The largest number of bytes that are stored without a file.
    static let small = 256 << 10
    private static let block = 1 << 20
    /// The largest number of bytes that one read adds to a block.
    private static let piece = 256 << 10

    private let source: any ByteSource
    private let engine: EmbeddedBackend
    /// The bytes that are read and not passed on yet.
    private var ahead: [UInt8] = []
    private var window: IncomingWindow?

    init(_ source: any ByteSource, _ engine: EmbeddedBackend) { (self.source, self.engine) = (source, engine) }

    /// The number of bytes that are passed on at once: few where memory is short.
    private var block: Int { source.mayKeep(Self.block + Self.piece) ? Self.block : 0 }

    /// Returns all bytes if they are few. Returns nil otherwise: the caller passes them on.
    func whole() async throws -> [UInt8]? {
        while ahead.count <= Self.small, ahead.isEmpty || source.mayKeep(min(ahead.count * 2, Self.small) + Self.piece)
        {
            let more = try await source.read(atMost: 64 << 10)
            if more.isEmpty { return ahead }
            ahead += more
        }
        return nil
    }

    /// Passes all bytes on, from an offset of the object. Returns the last answer. Of a body that breaks off, the bytes
    /// up to the last multiple of the granularity are passed on: a client continues at such offsets only. Of an upload
    /// that is complete, the bytes are compared with those of its object.
    ///
    /// - Parameter end: where the bytes must end; nil for anywhere. Throws 400 before it passes on those that do not.
    func send(
        to upload: IncomingUpload, from start: Int64, upTo end: Int64? = nil, isLast: Bool,
        _ expected: Checksums
    ) async throws -> IncomingUpload.Answer {
        var offset = start
        while true {
            let (piece, isEnd, failure): (IncomingBytes.Piece, Bool, (any Error)?)
            do {
                (piece, isEnd, failure) = try await next(from: offset)
            } catch HTTPRequestBody.Failure.refused(let flaw) {
                // The upload has wrong bytes.
                if offset > start { _ = try? await upload.task?.cancel() }
                throw HTTPRequestBody.Failure.refused(flaw)
            }
            if let failure {
                let kept = piece.prefix(upTo: SentRange.wholeGranules(of: piece.range.upperBound))
                if !kept.range.isEmpty { _ = try await upload.send(kept, isLast: false) }
                throw failure
            }
            if let end { try check(piece.range.upperBound, isEnd: isEnd, upTo: end) }
            let answer = try await upload.send(piece, isLast: isLast && isEnd, isEnd ? expected : .init())
            offset = piece.range.upperBound
            if case .ended(let stored) = answer {
                try await compare(piece, with: stored, isLast: isLast && isEnd)
                if !isEnd { try await compare(with: stored, from: offset, upTo: end, isLast: isLast) }
            }
            guard case .received = answer, !isEnd else { return answer }
        }
    }

    /// Compares all bytes with those of an object that is complete: a client may send them again. Throws 400 where they
    /// have no place in it, 409 where they are others, and 410 where the object is no longer there.
    func compare(with stored: ObjectMetadata, from start: Int64, upTo end: Int64? = nil, isLast: Bool) async throws {
        var offset = start
        while true {
            let (piece, isEnd, failure) = try await next(from: offset)
            if let failure { throw failure }
            offset = piece.range.upperBound
            if let end { try check(offset, isEnd: isEnd, upTo: end) }
            try await compare(piece, with: stored, isLast: isLast && isEnd)
            if isEnd { return }
        }
    }

    private func compare(_ piece: IncomingBytes.Piece, with stored: ObjectMetadata, isLast: Bool) async throws {
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

    /// The next bytes, whether they are the last of the body, and why there are no more. Throws where the body is not
    /// what its client says it is: its bytes are those of no object.
    private func next(from offset: Int64) async throws -> (IncomingBytes.Piece, isEnd: Bool, (any Error)?) {
        do {
            if let bytes = try await whole() {
                ahead = []
                return (IncomingBytes.Piece(bytes, at: offset), true, nil)
            }
        } catch let HTTPRequestBody.Failure.refused(flaw) {
            throw HTTPRequestBody.Failure.refused(flaw)
        } catch {
            return (IncomingBytes.Piece(ahead, at: offset), true, error)
        }
        let window = if let window { window } else { try await engine.makeWindow() }
        self.window = window
        // Each window but the last ends at a multiple of the granularity.
        let size = IncomingWindow.size - (offset - SentRange.wholeGranules(of: offset))
        var count: Int64 = 0
        func flush() async throws {
            try await window.write(ahead, at: count)
            count += Int64(ahead.count)
            ahead = []
        }
        do {
            while true {
                let room = Int(size - count) - ahead.count
                // A source may give more than is asked for.
                if room <= 0 || ahead.count >= block { try await flush() }
                // One more read shows whether the window has the end.
                let more = try await source.read(atMost: room <= 0 ? 1 : min(room, Self.piece))
                if more.isEmpty {
                    try await flush()
                    return (window.piece(count, from: offset), true, nil)
                }
                ahead += more
                if room <= 0 { return (window.piece(count, from: offset), false, nil) }
            }
        } catch let HTTPRequestBody.Failure.refused(flaw) {
            throw HTTPRequestBody.Failure.refused(flaw)
        } catch {
            try await flush()
            return (window.piece(count, from: offset), true, error)
        }
    }
}
