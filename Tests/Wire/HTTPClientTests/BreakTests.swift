import HTTPClient
import HTTPText
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct BreakTests {
    /// The point of the exchange at which the server disconnects.
    enum Moment: CaseIterable {
        case atOnce, afterHead, withinBody, afterBody, withinStatus, withinHead, withinAnswer, withinChunks
    }

    static let cases = Moment.allCases.flatMap { moment in [(moment, true), (moment, false)] }

    @Test(arguments: cases)
    func `A server that disconnects is a broken connection`(moment: Moment, resets: Bool) async throws {
        let server = try FixtureServer { peer in
            if resets { peer.breakOff() }
            if moment == .atOnce { return }
            let request = try peer.readHead()
            if moment == .afterHead { return }
            _ = try peer.read(1 << 20)
            if moment == .withinBody { return }
            _ = try peer.read((Int(request.headers["Content-Length"] ?? "") ?? 0) - 1 << 20)
            if moment == .afterBody { return }
            let length = moment == .withinChunks ? "Transfer-Encoding: chunked" : "Content-Length: 10"
            try peer.write("HTTP/1.1 200 OK\r\n")
            if moment == .withinStatus { return }
            try peer.write("\(length)\r\n")
            if moment == .withinHead { return }
            try peer.write(moment == .withinChunks ? "\r\n8\r\nabcd" : "\r\nabcd")
        }
        let error = try await failure(of: HTTPRequest("PUT", server.url, body: .bytes(pattern(32 << 20))))
        // A server that closes immediately may be gone before the client has connected.
        let isUnreached = if case .cannotConnect = error.kind { moment == .atOnce } else { false }
        #expect((error.kind.isBroken || isUnreached) && error.isRetryable)
        #expect(error.mayHaveReachedServer || moment == .atOnce)
    }

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 308 Resume\r\nRan",
    ])
    func `A head without its end is no response`(head: String) async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            try peer.write(head)
        }
        for method in ["GET", "HEAD", "DELETE", "POST"] {
            let error = try await failure(of: HTTPRequest(method, server.url))
            #expect(error.kind.isBroken && error.isRetryable && error.mayHaveReachedServer, "\(method)")
        }
    }

    @Test(arguments: [true, false])
    func `A response may arrive before the whole body is sent`(keepsReading: Bool) async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            try peer.answer("403 Forbidden", "no", headers: ["Connection: close"])
            if keepsReading { peer.waitForEnd() }
        }
        // If the server closes immediately, its response and the end of the connection race.
        let request = HTTPRequest("PUT", server.url, body: .bytes(pattern(32 << 20)))
        do throws(HTTPError) {
            let response = try await HTTPClient(.none).perform(request)
            #expect(response.status == 403 && response.body == Array("no".utf8))
            #expect(response.bytesSent < 32 << 20)
        } catch {
            #expect(error.kind.isBroken && !keepsReading)
        }
    }
}
