import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

/// Bytes of an object that are copied into a part of another one.
@Loop final class CopiedBytes: ByteSource {
    private let piece: IncomingBytes.Piece
    private let engine: EmbeddedBackend
    /// The body of the request, whose memory the copied bytes count against.
    private let body: HTTPRequestBody
    private var remaining: Range<Int64>

    /// - Parameter range: a range within the bytes.
    init(_ bytes: StoredBytes, _ range: Range<Int64>, _ engine: EmbeddedBackend, for body: HTTPRequestBody) {
        (piece, self.engine, self.body) = (bytes.piece, engine, body)
        remaining = range
    }

    func mayKeep(_ bytes: Int) -> Bool { body.mayKeep(bytes) }

    func read(atMost limit: Int) async throws -> [UInt8] {
        let (offset, count) = (remaining.lowerBound, Int(min(Int64(limit), Int64(remaining.count))))
        guard count > 0 else { return [] }
        remaining = offset + Int64(count)..<remaining.upperBound
        return try await engine.files.run { [piece] in
            Result { () throws(StorageError) in
                var bytes = [UInt8](repeating: 0, count: count)
                let filled = bytes.withUnsafeMutableBytes { buffer in
                    Result { () throws(StorageError) in try piece.fill(buffer, at: offset) }
                }
                try filled.get()
                return bytes
            }
        }.get()
    }
}

extension ObjectParts {
    /// The bytes of the object that a part is copied from, or of its range that the request names. All bytes of the
    /// object are verified first: a range has no checksum of its own.
    func copiedBytes(of source: Reference) async throws -> CopiedBytes {
        try await request.checkIsEmpty("A copy takes its bytes from its source; the body must be empty.")
        let conditions = try await service.sourceConditions(request, of: source)
        try await service.admit(.getData, source)
        return try await service.readingStored {
            let (bytes, objects) = try await service.engine.bytes(of: [source])
            try conditions.check(objects[0].version, at: source)
            let range = try range(within: bytes.piece.range)
            try await service.engine.verify(bytes)
            return CopiedBytes(bytes, range, service.engine, for: request.body)
        }
    }

    /// The range that the header names, such as `bytes=0-99`. Throws 400 for a range that is not within the object.
    private func range(within all: Range<Int64>) throws(GatewayError) -> Range<Int64> {
        guard let text = request.header("x-amz-copy-source-range"), !text.isEmpty else { return all }
        let ends =
            text.hasPrefix("bytes=") ? text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false) : []
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last,
            last < all.upperBound
        else { throw .badRequest("x-amz-copy-source-range is no range of the source: \(text)") }
        return first..<last + 1
    }
}
