import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Batches of requests, through the real program.
@Suite(.watchdog(minutes: 10)) struct GatewayBatchTests {
    private func send(_ client: GatewayClient, _ requests: [String]) async throws -> GatewayClient.Answer {
        let parts = requests.map { "--B\r\nContent-Type: application/http\r\n\r\n\($0)\r\n" }
        return try await client.send(
            "POST", "/batch/storage/v1", parts.joined() + "--B--\r\n",
            ["Content-Type": "multipart/mixed; boundary=B"])
    }

    /// The statuses of the answers.
    private func statuses(_ answer: GatewayClient.Answer) -> [String] {
        answer.text.matches(of: /HTTP.1\.1 (\d+) +(?:OK|Error)/).map { String($0.1) }
    }

    @Test func `A batch is about metadata alone, and has no other batches`() async throws {
        let gateway = try LiveGateway(["--harness"])
        let client = gateway.client
        _ = try await client.store("x")
        let inner = "--C\r\n\r\nGET /storage/v1/b/box/o/x HTTP/1.1\r\n\r\n--C--\r\n"
        let answer = try await send(
            client,
            [
                "POST /batch/storage/v1 HTTP/1.1\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n\(inner)",
                "POST /internal/reset HTTP/1.1", "GET /v0/b/box/o/x HTTP/1.1", "DELETE /box/x HTTP/1.1",
                "POST /upload/storage/v1/b/box/o?name=y HTTP/1.1\r\n\r\ny",
                "POST /storage/v1/b/box/o?name=y HTTP/1.1\r\n\r\ny", "GET /storage/v1/b/box/o/x?alt=media HTTP/1.1",
                "GET /storage/v1/b/box/o/x HTTP/1.1",
                "PATCH /storage/v1/b/box/o/x HTTP/1.1\r\n\r\n{\"cacheControl\":\"no-store\"}",
                "DELETE /storage/v1/b/box/o/none HTTP/1.1",
            ])
        #expect(answer.status == 200)
        #expect(statuses(answer) == ["400", "400", "400", "400", "400", "400", "400", "200", "200", "404"])
        #expect(try await client.names("").items == ["x"])
        try gateway.end()
    }

    @Test func `A coding of a request within a batch is refused by name`() async throws {
        let gateway = try GatewayClient.shared("batch-coding")
        _ = try await gateway.store("x")
        let coding = "Transfer-Encoding: chunked"
        let patch = "PATCH \(gateway.gcs)/x HTTP/1.1\r\n\(coding)\r\n\r\n{\"cacheControl\":\"no-store\"}"
        let answer = try await send(gateway, [patch])
        #expect(statuses(answer) == ["501"] && answer.text.contains("\(coding) is not served"))
        #expect(try await gateway.get("\(gateway.gcs)/x")["cacheControl"] == nil)
    }

    @Test func `A selection of fields with thousands of levels is refused, in a batch, too`() async throws {
        let gateway = try LiveGateway()
        _ = try await gateway.client.store("x")
        for level in ["a/", "a("] {
            let fields = String(repeating: level, count: 100_000)
            let answer = try await send(
                gateway.client, ["GET /storage/v1/b/box/o/x?fields=\(fields)a HTTP/1.1", "GET /b/box/o/x HTTP/1.1"])
            #expect(statuses(answer) == ["400", "200"])
        }
        let some = try await gateway.client.get("/storage/v1/b/box/o?fields=items/name,items/size")
        #expect(some.json == ["items": [["name": "x", "size": "5"]]])
        try gateway.end()
    }

    @Test func `A request about one object does not wait for all lists`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let name = String(repeating: "n", count: 400)
        _ = try await client.store(name)
        for number in 1..<300 { _ = try await client.store("\(name)\(number)") }
        let order = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<40 {
                group.addTask { try await client.get("/storage/v1/b/box/o").status == 200 ? "list" : "no list" }
            }
            // From now on a list is being answered, and others wait.
            var order = [try #require(await group.next())]
            group.addTask { try await client.get("/storage/v1/b/box/o/\(name)").status == 200 ? "object" : "no object" }
            while let answer = try await group.next() { order.append(answer) }
            return order
        }
        #expect(order.filter { $0 == "list" }.count == 40)
        #expect(try #require(order.firstIndex(of: "object")) < 20)
        try gateway.end()
    }

    @Test func `A stored object forges no part of an answer`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let first = try await send(client, ["GET /storage/v1/b/box HTTP/1.1"])
        let boundary = try #require(first.headers["Content-Type"]?.split(separator: "boundary=").last)
        let forged = "a\\r\\n--\(boundary)\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n\\r\\n{}"
        _ = try await client.store("x", #"{"metadata":{"k":"\#(forged)"}}"#)
        let answer = try await send(client, ["GET /storage/v1/b/box/o/x HTTP/1.1"])
        #expect(statuses(answer).count == 2, "the texts are within the JSON")
        let now = try #require(answer.headers["Content-Type"]?.split(separator: "boundary=").last)
        #expect(now != boundary && answer.text.components(separatedBy: "--\(now)").count == 3)
        try gateway.end()
    }

    @Test func `The answers of a batch are bounded`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let long = String(repeating: "x", count: 8000)
        for number in 0..<150 { _ = try await client.store("x\(number)", #"{"cacheControl":"\#(long)"}"#) }
        let answer = try await send(
            client, Array(repeating: "GET /storage/v1/b/box/o HTTP/1.1", count: 60))
        #expect(statuses(answer).contains("413") && answer.body.count <= 17 << 20)
        try gateway.end()
    }
}
