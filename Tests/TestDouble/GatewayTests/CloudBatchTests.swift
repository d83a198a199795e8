import Foundation
import HTTPServer
import HTTPText
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// One batch, whose requests a closure answers.
@Suite(.watchdog) struct CloudBatchTests {
    private typealias Answer = @Loop (HTTPServerRequest, [UInt8]) async -> HTTPServerResponse

    /// The requests of a batch, as a client writes them.
    private static func body(_ requests: [String]) -> String {
        requests.enumerated().map { index, request in
            "--B\r\nContent-Type: application/http\r\nContent-ID: <\(index)>\r\n\r\n\(request)\r\n"
        }.joined() + "--B--\r\n"
    }

    @Loop private func answer(
        _ requests: [String], _ bounds: CloudBatch.Bounds = .init(),
        elapsed: @escaping @Sendable () -> Duration = { .zero }, _ one: @escaping Answer
    ) async throws -> (response: HTTPServerResponse, text: String) {
        let body = HTTPRequestBody(Array(Self.body(requests).utf8))
        let http = HTTPServerRequest(
            "/batch/storage/v1", method: .post,
            headers: ["Host": "gateway", "Content-Type": "multipart/mixed; boundary=B"], body: body)
        let batch = CloudBatch(
            request: try GatewayRequest(http, body), bounds: bounds, elapsed: elapsed, answerOne: one)
        let response = try await batch.answer()
        guard case .bytes(let bytes) = response.body else { return (response, "") }
        return (response, String(decoding: bytes, as: UTF8.self))
    }

    /// The statuses of the answers.
    private func statuses(_ text: String) -> [Int] {
        text.matches(of: /HTTP.1\.1 (\d+) +(?:OK|Error)/).compactMap { Int($0.1) }
    }

    @Test @Loop func `Requests are answered in their order, with the host of the batch`() async throws {
        var seen: [String] = []
        let (response, text) = try await answer([
            "PATCH http://gateway/b/b/o/x?a=b HTTP/1.1\r\nHost: www.googleapis.com\r\nX-A: 1\r\n\r\n{\"a\":\n1}",
            "GET /b/b HTTP/1.1",
        ]) { request, body in
            seen.append("\(request.method.rawValue) \(request.path) \(request.query ?? "-")")
            seen.append("\(request.headers["Host"] ?? "-") \(request.headers["X-A"] ?? "-")")
            seen.append(String(decoding: body, as: UTF8.self))
            return HTTPServerResponse(200, headers: ["X-Number": "\(seen.count)"], body: .bytes(Array("{}".utf8)))
        }
        #expect(seen == ["PATCH /b/b/o/x a=b", "gateway 1", "{\"a\":\n1}", "GET /b/b -", "gateway -", ""])
        let boundary = try #require(response.headers["Content-Type"]?.split(separator: "boundary=").last)
        let parts = text.components(separatedBy: "--\(boundary)")
        #expect(parts.count == 4 && parts[3] == "--\r\n")
        #expect(
            parts[1] == """
                \r\nContent-Type: application/http\r\nContent-ID: <response-0>\r\n\r\nHTTP/1.1 200 OK\r
                X-Number: 3\r\nContent-Length: 2\r\n\r\n{}\r\n
                """)
    }

    @Test(arguments: [
        "GET /b/b HTTP/1.1 x", "GET /b/b HTTP/2", "GET /b/b http/1.1", "GET  /b/b HTTP/1.1", " GET /b/b HTTP/1.1",
        "GET /b/b ", "GET\t/b/b HTTP/1.1", "GET /b/b\u{1} HTTP/1.1", "GET /b/\u{E9} HTTP/1.1", "GET /b/b#c HTTP/1.1",
        "GET",
        "", "get /b/b HTTP/1.1", "GET b/b HTTP/1.1",
    ])
    @Loop func `A request line that is malformed is refused, and the others are carried out`(line: String) async throws
    {
        var paths: [String] = []
        let (_, text) = try await answer([line, "GET /c HTTP/1.0", "GET /d"]) { request, _ in
            paths.append(request.path)
            return HTTPServerResponse(200)
        }
        #expect(statuses(text) == [400, 200, 200] && paths == ["/c", "/d"], "\(text)")
    }

    @Test @Loop func `The delimiter is another one each time, and no header can end its line`() async throws {
        var boundaries: Set<String> = []
        for _ in 0..<3 {
            let (response, text) = try await answer(["GET /b/b HTTP/1.1"]) { _, _ in
                HTTPServerResponse(200, headers: ["x-goog-meta-k": "a\r\n\r\n--B\r\nX-Forged: 1", "bad name": "x"])
            }
            boundaries.insert(response.headers["Content-Type"] ?? "")
            #expect(text.contains("x-goog-meta-k: a--BX-Forged: 1\r\n") && !text.contains("bad name"))
        }
        #expect(boundaries.count == 3)
    }

    @Test @Loop func `A batch of too many requests, or too large ones, carries out none`() async throws {
        var count = 0
        var bounds = CloudBatch.Bounds()
        bounds.bytes = 4000
        let large = "POST /b HTTP/1.1\r\n\r\n" + String(repeating: "x", count: 1000)
        for requests in [Array(repeating: "GET /b HTTP/1.1", count: 101), Array(repeating: large, count: 4)] {
            await #expect(throws: GatewayError.self) {
                try await answer(requests, bounds) { _, _ in
                    count += 1
                    return HTTPServerResponse(200)
                }
            }
        }
        #expect(count == 0)
    }

    @Test @Loop func `When the answers are too large, the rest is refused and not carried out`() async throws {
        var bounds = CloudBatch.Bounds()
        bounds.answerBytes = 5000
        var count = 0
        let (_, text) = try await answer(
            Array(repeating: "GET /b HTTP/1.1", count: 4) + ["DELETE /b HTTP/1.1"], bounds
        ) { request, _ in
            count += 1
            return HTTPServerResponse(200, body: .bytes([UInt8](repeating: 0x78, count: 2000)))
        }
        #expect(statuses(text) == [200, 200, 413, 413, 413] && count == 4)
        // One alone may be too large, too.
        let (_, other) = try await answer(["GET /b HTTP/1.1", "DELETE /b HTTP/1.1", "DELETE /c HTTP/1.1"], bounds) {
            request, _ in
            count += 1
            return HTTPServerResponse(200, body: .bytes([UInt8](repeating: 0x78, count: 6000)))
        }
        #expect(statuses(other) == [413, 200, 413] && count == 6)
    }

    @Test @Loop func `When a batch has taken too long, the rest is refused and not carried out`() async throws {
        let time = Mutex(Duration.zero)
        var count = 0
        let (_, text) = try await answer(
            Array(repeating: "DELETE /b/b/o/x HTTP/1.1", count: 4), elapsed: { time.withLock { $0 } }
        ) { _, _ in
            count += 1
            time.withLock { $0 += .seconds(20) }
            return HTTPServerResponse(204)
        }
        #expect(statuses(text) == [204, 204, 503, 503] && count == 2)
    }

    @Test @Loop func `A head is bounded, and the lines of a body are its own`() async throws {
        var bodies: [String] = []
        let line = String(repeating: "a", count: 17 << 10)
        let (_, text) = try await answer([
            "POST /b HTTP/1.1\n\r\na\r\n\nb\n", "POST /b HTTP/1.1\r\n\r\n" + String(repeating: "\n", count: 1_000_000),
            "GET /b HTTP/1.1\r\n" + String(repeating: "a:\n", count: 2049), "GET /\(line) HTTP/1.1",
            "GET /b HTTP/1.1\r\n" + String(repeating: "a:\(line.prefix(16 << 10).dropLast(2))\n", count: 4),
            "GET /b HTTP/1.1\r\n" + String(repeating: "a:\n", count: 2000),
        ]) { _, body in
            bodies.append(String(decoding: body, as: UTF8.self))
            return HTTPServerResponse(200)
        }
        #expect(statuses(text) == [200, 200, 400, 400, 400, 200])
        #expect(bodies[0] == "a\r\n\nb\n" && bodies[1].utf8.count == 1_000_000 && bodies[2] == "")
    }

    @Test(arguments: ["", "GET", "GET x HTTP/1.1", "TRACE /b HTTP/1.1", "GET /b HTTP/1.1\r\nX: a\u{0}b\r\n\r\n"])
    @Loop func `A malformed request is refused, and the others are answered`(request: String) async throws {
        let (_, text) = try await answer([request, "GET /b HTTP/1.1"]) { _, _ in HTTPServerResponse(200) }
        #expect(statuses(text) == [400, 200])
    }
}
