import ClientMemory
import HTTPText
import Platform

/// The body of a request, read piece by piece.
///
/// The server reads from the socket only while a read waits, so a slow handler slows the client down, and a body of any
/// size takes the memory of one read, or 64 KiB. Only one read at a time; none after the handler has answered.
@Loop
package final class HTTPRequestBody {
    package enum Failure: Error, Equatable {
        /// The client has disconnected, or the handler has answered already.
        case disconnected
        /// The client has sent nothing for the stall time, or too little for too long.
        case stalled
        /// All clients together have too much in memory, and the request or the answer waited too long.
        case noRoom
        /// The chunked coding is broken.
        case malformed
        /// The body is larger than `readAll` allows.
        case tooLarge
        /// A sentence that says why the body is not what it should be: the flaw that `inspect` has found, no gzip, or
        /// malformed parts.
        case refused(String)

        /// A status for the answer. After any failure but `tooLarge`, `noRoom` and `refused` the connection ends with
        /// it.
        package var status: Int {
            switch self {
            case .disconnected, .malformed, .refused: 400
            case .stalled: 408
            case .tooLarge: 413
            case .noRoom: 503
            }
        }
    }

    /// The length in bytes; nil for a chunked or an unpacked body.
    package nonisolated let length: Int64?
    private let incoming: IncomingBody?
    private var bytes: ArraySlice<UInt8> = []
    /// The gzip body that this body unpacks.
    private var packed: (body: HTTPRequestBody, inflater: Inflater)?
    /// Gets all bytes that are read, in order, and none at the end. It may then return a sentence that says what is
    /// wrong.
    package var inspect: (([UInt8]) -> String?)?

    /// Whether the request declares checksums of the body, which `inspect` compares.
    package var hasChecksums = false

    package nonisolated static let empty = HTTPRequestBody([])

    /// A body in memory.
    package nonisolated init(_ bytes: [UInt8]) {
        (length, incoming) = (Int64(bytes.count), nil)
        self.bytes = bytes[...]
    }

    init(_ incoming: IncomingBody, length: Int64?) { (self.incoming, self.length) = (incoming, length) }

    /// Unpacks a gzip body piece by piece. An empty body stays empty. Nil without zlib.
    package init?(unpacking body: HTTPRequestBody) {
        guard let inflater = Inflater() else { return nil }
        (length, incoming) = (nil, nil)
        packed = (body, inflater)
    }

    /// Waits for the next bytes: at least one, at most `limit`, and none at the end. `limit` is at least 1.
    ///
    /// Asks a client that sent `Expect: 100-continue` for the body. Throws the same failure again after a failure.
    package func read(atMost limit: Int) async throws(Failure) -> [UInt8] {
        precondition(limit > 0)
        let next = try await next(atMost: limit)
        if let flaw = inspect?(next), next.isEmpty { throw .refused(flaw) }
        return next
    }

    private func next(atMost limit: Int) async throws(Failure) -> [UInt8] {
        if let incoming { return try await incoming.read(atMost: limit) }
        if let packed { return try await Self.unpack(packed.body, packed.inflater, atMost: limit) }
        defer { bytes = bytes.dropFirst(limit) }
        return Array(bytes.prefix(limit))
    }

    private static func unpack(
        _ body: HTTPRequestBody, _ inflater: Inflater, atMost limit: Int
    ) async throws(Failure) -> [UInt8] {
        while true {
            if inflater.needsInput {
                let more = try await body.read(atMost: 64 << 10)
                if more.isEmpty {
                    guard inflater.isComplete || !inflater.hasBegun else {
                        throw .refused("The body is gzip without its end.")
                    }
                    return []
                }
                inflater.add(more)
            }
            guard let bytes = inflater.next(atMost: min(limit, 64 << 10)) else {
                throw .refused("The body is no gzip, as its Content-Encoding says.")
            }
            if !bytes.isEmpty { return bytes }
        }
    }

    /// Whether the end of the body may show that its bytes are wrong.
    package var mayBeWrong: Bool { hasChecksums || packed != nil }

    /// The trailers of a body in chunks that has been read to its end.
    package var trailers: HTTPHeaders { packed?.body.trailers ?? incoming?.trailers ?? [:] }

    // MARK: - Memory

    /// Returns when the handler may keep this number of bytes in memory until its answer, or all bytes of a shorter
    /// body. Throws `noRoom`.
    package func keep(_ bytes: Int) async throws(Failure) {
        if let packed { return try await packed.body.keep(bytes) }
        guard let memory = incoming?.memory else { return }
        guard await memory.keep(min(bytes, Int(clamping: incoming?.bytesLeft ?? .max))) else { throw .noRoom }
    }

    /// The bytes that `keep` has reserved.
    package var kept: Int { packed.map(\.body.kept) ?? incoming?.memory?.incoming.reserved ?? 0 }

    /// Frees memory: the handler keeps at most this number of bytes.
    package func keepOnly(_ bytes: Int) {
        if let packed { packed.body.keepOnly(bytes) } else { incoming?.memory?.keepOnly(bytes) }
    }

    /// Whether the handler may have this number of bytes in memory now. It may always have a few.
    package func mayKeep(_ bytes: Int) -> Bool {
        if let packed { return packed.body.mayKeep(bytes) }
        return incoming?.memory?.mayKeep(bytes) ?? true
    }

    /// Returns when the answer may have this number of bytes in memory. Throws `noRoom`.
    package func expectAnswer(of bytes: Int) async throws(Failure) {
        guard let memory = incoming?.memory else { return }
        guard await memory.expectAnswer(of: bytes) else { throw .noRoom }
    }

    /// Returns the rest of the body, which is kept in memory. Throws `tooLarge` if it has more than `limit` bytes;
    /// where the length is known, before it reads any.
    package func readAll(atMost limit: Int) async throws(Failure) -> [UInt8] {
        if incoming?.bytesLeft ?? 0 > limit { throw .tooLarge }
        try await keep(limit)
        var all: [UInt8] = []
        while case let piece = try await read(atMost: 64 << 10), !piece.isEmpty {
            guard piece.count <= limit - all.count else { throw .tooLarge }
            all += piece
        }
        return all
    }
}

extension HTTPRequestBody: Equatable {
    /// Identity.
    package nonisolated static func == (one: HTTPRequestBody, other: HTTPRequestBody) -> Bool { one === other }
}
