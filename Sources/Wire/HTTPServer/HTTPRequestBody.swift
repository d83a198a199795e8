import Platform

/// The body of a request, read piece by piece.
///
/// The server reads from the socket only while a read waits, so a slow handler slows the client down, and a body of any
/// size takes about 64 KiB of memory. Only one read at a time; none after the handler has answered.
@Loop
package final class HTTPRequestBody {
    package enum Failure: Error, Equatable {
        /// The client has disconnected, or the handler has answered already.
        case disconnected
        /// The client has sent nothing for the stall time.
        case stalled
        /// The chunked coding is broken.
        case malformed
        /// The body is larger than `readAll` allows.
        case tooLarge
        /// The whole body has arrived, and `inspect` has found this.
        case refused(String)

        /// A status for the answer. After any failure but `tooLarge` and `refused` the connection ends with it.
        package var status: Int {
            switch self {
            case .disconnected, .malformed, .refused: 400
            case .stalled: 408
            case .tooLarge: 413
            }
        }
    }

    /// In bytes; nil for a chunked body.
    package nonisolated let length: Int64?
    private let incoming: IncomingBody?
    private var bytes: ArraySlice<UInt8> = []
    /// Sees all bytes that are read, in their order, and none at the end; then it may say what is wrong with them.
    package var inspect: (([UInt8]) -> String?)?

    package nonisolated static let empty = HTTPRequestBody([])

    /// A body in memory.
    package nonisolated init(_ bytes: [UInt8]) {
        (length, incoming) = (Int64(bytes.count), nil)
        self.bytes = bytes[...]
    }

    init(_ incoming: IncomingBody, length: Int64?) { (self.incoming, self.length) = (incoming, length) }

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
        defer { bytes = bytes.dropFirst(limit) }
        return Array(bytes.prefix(limit))
    }

    /// Returns the rest of the body. Throws `tooLarge` if it has more than `limit` bytes; where the length is known,
    /// before it reads any.
    package func readAll(atMost limit: Int) async throws(Failure) -> [UInt8] {
        if incoming?.bytesLeft ?? 0 > limit { throw .tooLarge }
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
