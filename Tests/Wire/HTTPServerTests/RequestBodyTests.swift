import HTTPText
import Platform
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct RequestBodyTests {
    static let methods = Set(HTTPServerRequest.Method.allCases)

    /// Answers with the body, or with the status of its failure.
    private func echo(_ limits: HTTPServerLimits = HTTPServerLimits(), piece: Int = 64 << 10) throws -> ServerFixture {
        try ServerFixture(limits, methods: Self.methods) { request in
            var all: [UInt8] = []
            do throws(HTTPRequestBody.Failure) {
                while case let bytes = try await request.body.read(atMost: piece), !bytes.isEmpty { all += bytes }
                return HTTPServerResponse(200, headers: ["X-Length": "\(request.body.length ?? -1)"], body: .bytes(all))
            } catch {
                return HTTPServerResponse(error.status)
            }
        }
    }

    @Test(arguments: [1, 1000, 64 << 10]) func `The handler reads bodies of both framings`(piece: Int) async throws {
        let fixture = try echo(piece: piece)
        let client = try fixture.client()
        for count in [0, 1, 70_000] {
            let bytes = pattern(count)
            await client.send(head("PUT", "Content-Length: \(count)") + bytes)
            let answer = try #require(await client.answer())
            #expect(answer.body == bytes && answer.field("X-Length") == "\(count)")
            await client.send(head("POST", "Transfer-Encoding: Chunked") + chunks(of: bytes, 997))
            let other = try #require(await client.answer())
            #expect(other.body == bytes && other.field("X-Length") == "-1")
        }
        #expect(fixture.server.connectionCount == 1)
    }

    @Test func `Every method reaches the handler, and others are refused with the list of them`() async throws {
        let fixture = try ServerFixture(methods: [.options, .get, .patch]) {
            HTTPServerResponse(200, body: .bytes(Array($0.method.rawValue.utf8)))
        }
        let client = try fixture.client()
        for method in ["GET", "PATCH", "OPTIONS"] {
            await client.get("/", method)
            #expect(await client.answer()?.text == method)
        }
        await client.get("/", "DELETE")
        let answer = try #require(await client.answer())
        #expect(answer.status == 405 && answer.field("Allow") == "GET, PATCH, OPTIONS")
    }

    @Test func `Requests with bodies may arrive in a row, and byte by byte`() async throws {
        let fixture = try echo()
        let client = try fixture.client()
        let stream =
            head("PUT", "Content-Length: 3") + Array("abc".utf8)
            + head("POST", "Transfer-Encoding: chunked") + chunks(of: Array("defgh".utf8), 2)
            + head("GET") + head("PATCH", "Content-Length: 1") + Array("i".utf8)
        await client.send(stream)
        for text in ["abc", "defgh", "", "i"] { #expect(await client.answer()?.text == text) }
        for byte in stream {
            await client.send([byte])
            try await otherAnswer()
        }
        for text in ["abc", "defgh", "", "i"] { #expect(await client.answer()?.text == text) }
    }

    @Test func `A client that expects 100 gets it at the first read`() async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let fixture = try ServerFixture(methods: Self.methods) { request in
            begun.deliver(())
            try await may.next()
            let bytes = try? await request.body.readAll(atMost: 100)
            return HTTPServerResponse(201, body: .bytes(bytes ?? []))
        }
        let client = try fixture.client()
        for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            await client.send(head("POST", framing, "Expect: 100-Continue"))
            try await begun.next()
            may.deliver(())
            #expect(await client.answer()?.status == 100)
            await client.send(framing.hasPrefix("C") ? "hello" : "5\r\nhello\r\n0\r\n\r\n")
            let answer = try #require(await client.answer())
            #expect(answer.status == 201 && answer.text == "hello" && answer.field("Connection") == nil)
        }
        await client.send(head("POST", "Expect: 100-continue"))
        may.deliver(())
        #expect(await client.answer()?.status == 201, "nothing is left to wait for")
        await client.send(Array("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok".utf8))
        may.deliver(())
        #expect(await client.answer()?.text == "ok")
    }

    @Test func `A client that expects 100 gets no 100 from a handler that does not read`() async throws {
        let fixture = try ServerFixture(methods: Self.methods) { _ in HTTPServerResponse(412) }
        let client = try fixture.client()
        await client.send(head("PUT", "Content-Length: 5", "Expect: 100-continue"))
        let answer = try #require(await client.answer())
        #expect(answer.status == 412 && answer.field("Connection") == "close")
        #expect(await client.isOver())
    }

    @Test func `A short rest of a body is discarded, and a long one ends the connection`() async throws {
        var limits = HTTPServerLimits()
        limits.discardedBytes = 1000
        let fixture = try ServerFixture(limits, methods: Self.methods) { request in
            if request.path == "/part" { _ = try? await request.body.read(atMost: 1) }
            return HTTPServerResponse(200)
        }
        for path in ["/none", "/part"] {
            let client = try fixture.client()
            await client.send(head("POST", path: path, "Content-Length: 1000"))
            if path == "/part" { await client.send([0]) }
            #expect(await client.answer()?.field("Connection") == nil, "the answer comes before the rest of the body")
            await client.send(pattern(path == "/part" ? 999 : 1000))
            await client.send(head("POST", path: path, "Transfer-Encoding: chunked") + chunks(of: pattern(1000), 100))
            #expect(await client.answer()?.status == 200)
            await client.send(head("POST", path: path, "Content-Length: 1002") + pattern(1002))
            #expect(await client.answer()?.field("Connection") == "close")
            #expect(await client.isOver())
        }
        let client = try fixture.client()
        await client.send(head("POST", "Transfer-Encoding: chunked") + chunks(of: pattern(1001), 100) + head("GET"))
        #expect(await client.answer()?.status == 200)
        #expect(await client.isOver())
    }

    @Test func `A dropped connection ends without an answer`() async throws {
        let fixture = try ServerFixture(methods: Self.methods) { request in
            _ = try? await request.body.readAll(atMost: 100)
            return .dropped
        }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: 2") + [1, 2])
        #expect(await client.isOver())
        try await until { fixture.server.connectionCount == 0 }
    }

    @Test func `A body in memory is read like a streamed one`() async throws {
        let body = HTTPRequestBody(Array("hello".utf8))
        #expect(body.length == 5)
        #expect(try await body.read(atMost: 2) == Array("he".utf8))
        #expect(try await body.readAll(atMost: 3) == Array("llo".utf8))
        #expect(try await body.read(atMost: 2) == [])
        await #expect(throws: HTTPRequestBody.Failure.tooLarge) {
            try await HTTPRequestBody([1, 2]).readAll(atMost: 1)
        }
    }

    @Test(arguments: ["Content-Length: 101", "Transfer-Encoding: chunked"])
    func `A body that is too large is refused, with a known length before it arrives`(framing: String) async throws {
        let fixture = try ServerFixture(methods: Self.methods) { request in
            do throws(HTTPRequestBody.Failure) {
                return HTTPServerResponse(200, body: .bytes(try await request.body.readAll(atMost: 100)))
            } catch {
                return HTTPServerResponse(error.status)
            }
        }
        let client = try fixture.client()
        await client.send(head("POST", framing))
        if framing.hasPrefix("T") { await client.send(chunks(of: pattern(101), 50)) }
        #expect(await client.answer()?.status == 413)
    }
}

/// The head of a request to `path`.
func head(_ method: String, path: String = "/", _ fields: String...) -> [UInt8] {
    Array((["\(method) \(path) HTTP/1.1", "Host: localhost"] + fields + ["", ""]).joined(separator: "\r\n").utf8)
}

/// The chunked coding of `bytes`, in chunks of this size.
func chunks(of bytes: [UInt8], _ size: Int) -> [UInt8] {
    var (all, rest) = ([UInt8](), bytes[...])
    while !rest.isEmpty {
        let chunk = rest.prefix(size)
        all += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [0x0D, 0x0A]
        rest = rest.dropFirst(size)
    }
    return all + Array("0\r\n\r\n".utf8)
}
