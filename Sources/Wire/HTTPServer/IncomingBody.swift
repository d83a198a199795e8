import HTTPText
import Platform

/// The body of the request that a connection is answering.
@Loop
final class IncomingBody {
    /// Nil after the answer.
    private var connection: ServedConnection?
    private var expectsContinue: Bool
    private var failure: HTTPRequestBody.Failure?
    private var isReading = false

    init(of request: HTTPServerRequest, on connection: ServedConnection) {
        (self.connection, expectsContinue) = (connection, request.expectsContinue)
    }

    /// The length of the rest; nil where it is unknown.
    var bytesLeft: Int64? { connection?.parser.bodyBytesLeft }

    var trailers: HTTPHeaders { connection?.parser.trailers ?? [:] }

    /// Whether the connection has to end with this answer.
    ///
    /// A client that waits for 100 and gets another answer may send the body or not: the next bytes could be either a
    /// body or a request.
    var endsConnection: Bool {
        if failure != nil || expectsContinue && bytesLeft != 0 { return true }
        return bytesLeft ?? 0 > connection?.server.limits.discardedBytes ?? 0
    }

    func read(atMost limit: Int) async throws(HTTPRequestBody.Failure) -> [UInt8] {
        precondition(!isReading)
        if let failure { throw failure }
        isReading = true
        defer { isReading = false }
        do throws(HTTPRequestBody.Failure) {
            return try await nextBytes(atMost: limit)
        } catch {
            failure = error
            throw error
        }
    }

    /// The memory of the connection; nil after the answer.
    var memory: HeldMemory? { connection?.memory }

    /// Ends a read that is still waiting.
    func close() {
        if isReading { connection?.stopReading() }
        connection = nil
    }

    private func nextBytes(atMost limit: Int) async throws(HTTPRequestBody.Failure) -> [UInt8] {
        while let connection {
            switch connection.parser.nextBytes(atMost: limit) {
            case .bytes(let bytes):
                connection.receivedBody(bytes.count)
                return bytes
            case .end: return []
            case .malformed: throw .malformed
            case .incomplete:
                let bytes = try await receive(atMost: limit, on: connection)
                if !bytes.isEmpty {
                    connection.receivedBody(bytes.count)
                    return bytes
                }
            }
        }
        throw .disconnected
    }

    /// Returns bytes of the body, or none if the parser has to look at what was received.
    private func receive(
        atMost limit: Int, on connection: ServedConnection
    ) async throws(HTTPRequestBody.Failure) -> [UInt8] {
        if expectsContinue {
            expectsContinue = false
            guard await connection.sendContinue() else { throw .disconnected }
        }
        switch await connection.waitForBody() {
        case .late: throw .stalled
        // After the answer the bytes belong to the connection.
        case .readable where self.connection == nil: throw .disconnected
        case .readable where connection.parser.contentAhead > 0:
            guard let bytes = connection.receiveContent(atMost: limit) else { throw .disconnected }
            return bytes
        case .readable:
            guard connection.receive(atMost: 64 << 10) else { throw .disconnected }
            return []
        case .closed: throw .disconnected
        }
    }
}
