import ClientMemory
import Glibc
import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct ServerTests {
    @Test func `One connection serves one request after the other`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        for path in ["/a", "/b%20c", "/d"] {
            await client.get(path)
            let answer = try #require(await client.answer())
            #expect(answer.status == 200 && answer.text == path && answer.field("Connection") == nil)
            #expect(answer.field("Date").flatMap { HTTPDate($0) } != nil)
        }
        #expect(fixture.server.connectionCount == 1)
    }

    @Test func `HEAD gets the length of the GET response, and the connection stays open`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        await client.get("/hello", "HEAD")
        #expect(await client.answer(hasBody: false)?.field("Content-Length") == "6")
        await client.get("/next")
        #expect(await client.answer()?.text == "/next")
    }

    @Test func `Requests in a row are answered in order, one at a time`() async throws {
        let begun = Mail<String>(), may = Mail<Void>()
        let fixture = try ServerFixture { request in
            begun.deliver(request.path)
            try await may.next()
            return HTTPServerResponse(200, body: .bytes(Array(request.path.utf8)))
        }
        let client = try fixture.client()
        let paths = ["/1", "/2", "/3"]
        await client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
        for path in paths {
            #expect(try await begun.next() == path)
            try await otherAnswer()
            #expect(begun.waiting.isEmpty)
            may.deliver(())
            #expect(await client.answer()?.text == path)
        }
    }

    @Test func `A large number of pipelined requests is answered completely`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        let numbers = 0..<5000
        async let sent: Void = client.send(
            numbers.map { "GET /\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
        for number in numbers { #expect(await client.answer()?.text == "/\(number)") }
        await sent
    }

    @Test func `A request may arrive byte by byte`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        for byte in "GET /slow HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n".utf8 {
            await client.send([byte])
            try await otherAnswer()
        }
        #expect(await client.answer()?.text == "/slow")
    }

    @Test(arguments: [("GET / HTTP/1.1\r\n\r\n", 400), ("\u{16}\u{3}\u{1}\u{2}", 400), ("GET / HTTP/3.0\r\n", 505)])
    func `A malformed request gets one error, and ends the connection`(text: String, status: Int) async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        await client.send(text + "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let answer = try #require(await client.answer())
        #expect(answer.status == status && answer.field("Connection") == "close")
        #expect(await client.isOver())
        client.endSending()
        try await until { fixture.server.connectionCount == 0 }
    }

    @Test func `A client can read a refusal while it sends a body`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        await client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        await client.send([UInt8](repeating: 65, count: 1_000_000))
        let answer = try #require(await client.answer())
        #expect(answer.status == 405 && answer.field("Allow") == "GET, HEAD")
        #expect(await client.isOver())
    }

    @Test func `Connection: close ends the connection after the answer`() async throws {
        let fixture = try ServerFixture()
        for head in ["GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
            let client = try fixture.client()
            await client.send(head)
            #expect(await client.answer()?.field("Connection") == "close")
            #expect(await client.isOver())
        }
        let old = try fixture.client()
        for _ in 0..<2 {
            await old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(await old.answer()?.field("Connection") == "keep-alive")
        }
    }

    @Test func `A connection ends after its maximum number of requests`() async throws {
        var limits = HTTPServerLimits()
        limits.requestsPerConnection = 2
        let fixture = try ServerFixture(limits)
        let client = try fixture.client()
        for last in [nil, "close"] {
            await client.get("/")
            #expect(await client.answer()?.field("Connection") == last)
        }
        #expect(await client.isOver())
    }

    @Test func `An invalid response of a handler is a 500`() async throws {
        let file = try ScratchFile([1])
        let fixture = try ServerFixture { request in
            switch request.path {
            case "/status": HTTPServerResponse(99)
            case "/unopened": HTTPServerResponse(200, body: .unopened(5))
            case "/negative": HTTPServerResponse(200, body: .file(ServedFile(0, of: file, offset: 0, count: -1)))
            default: HTTPServerResponse(200, body: .file(ServedFile(0, of: file, offset: .max, count: 1)))
            }
        }
        let client = try fixture.client()
        for path in ["/status", "/unopened", "/negative", "/overflow"] {
            await client.get(path)
            #expect(await client.answer()?.status == 500)
        }
    }

    @Test func `The handler gets the address of the client`() async throws {
        let fixture = try ServerFixture { HTTPServerResponse(200, body: .bytes(Array($0.remoteAddress.utf8))) }
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer()?.text.hasPrefix("127.0.0.1:") == true)
    }

    @Test func `An address that cannot be listened on is an error that names it`() throws {
        let fixture = try ServerFixture()
        for address in [
            "127.0.0.1:\(fixture.port)", "", "localhost", ":80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
            "example.com:80", "::1:80", "[::1]", "[::1:80", "127.0.0.1:+1", "203.0.113.1:0",
        ] {
            #expect(throws: HTTPServer.ListenError.self, "\(address)") {
                try HTTPServer(
                    address: address, time: .system, metrics: HTTPServerMetrics(), memory: ConnectionMemory()
                ) { _ in HTTPServerResponse(200) }
            }
        }
        #expect(SocketAddress("[::1]:80")?.description == "[::1]:80")
        #expect(SocketAddress("localhost:80")?.description == "127.0.0.1:80")
    }

    @Test func `Closing the server ends all connections and frees the port`() async throws {
        let begun = Mail<Void>(), cancelled = Mail<Void>()
        let fixture = try ServerFixture { _ in
            begun.deliver(())
            try await withTaskCancellationHandler {
                try await cancelled.next()
            } onCancel: {
                cancelled.deliver(())
            }
            return HTTPServerResponse(200)
        }
        let idle = try fixture.client(), busy = try fixture.client()
        await busy.get("/")
        try await begun.next()
        try await until { fixture.server.connectionCount == 2 }
        fixture.server.close()
        #expect(await idle.isOver())
        #expect(await busy.isOver())
        try await until { fixture.server.connectionCount == 0 }
        #expect(throws: (any Error).self) { try fixture.client() }
    }
}
