import HTTPText
import Platform
import Foundation
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

/// Bodies that end early, stall, or are larger than memory should be.
@Loop @Suite(.watchdog(minutes: 10)) struct InterruptedBodyTests {
    typealias Failure = HTTPRequestBody.Failure

    /// Delivers the pieces of each body, then its failure.
    private final class Reader: Sendable {
        let pieces = Mail<[UInt8]>()
        let failures = Mail<Failure>()

        @Loop func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
            do throws(Failure) {
                while case let piece = try await request.body.read(atMost: 1 << 20), !piece.isEmpty {
                    pieces.deliver(piece)
                }
                return HTTPServerResponse(200)
            } catch {
                failures.deliver(error)
                return HTTPServerResponse(error.status)
            }
        }
    }

    private func fixture(_ reader: Reader) throws -> ServerFixture {
        try ServerFixture(methods: RequestBodyTests.methods) { await reader.answer($0) }
    }

    @Test(arguments: [true, false]) func `A client that disconnects within a body fails the read`(isReset: Bool)
        async throws
    {
        let reader = Reader()
        let fixture = try fixture(reader)
        for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
            let client = try fixture.client()
            await client.send(head("POST", framing) + Array((framing.hasPrefix("T") ? "9\r\nabc" : "abc").utf8))
            #expect(try await reader.pieces.next() == Array("abc".utf8))
            if isReset { client.reset() } else { client.endSending() }
            #expect(try await reader.failures.next() == .disconnected)
            if !isReset { #expect(await client.answer()?.field("Connection") == "close") }
            try await until { fixture.server.connectionCount == 0 }
        }
    }

    @Test func `Closing the server fails the read`() async throws {
        let reader = Reader()
        let fixture = try fixture(reader)
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: 10") + [1])
        _ = try await reader.pieces.next()
        fixture.server.close()
        #expect(try await reader.failures.next() == .disconnected)
        #expect(await client.isOver())
    }

    @Test(arguments: [0, 29]) func `A body that stalls fails the read, and one that keeps the least pace does not`(
        seconds: Int
    ) async throws {
        let reader = Reader()
        let fixture = try fixture(reader)
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: 1000000"))
        while try await fixture.clock.nextSleep() != .seconds(30) {}
        for _ in 0..<3 {
            fixture.clock.advance(by: .seconds(29))
            await client.send([UInt8](repeating: 7, count: 30 << 10))
            var count = 0
            while count < 30 << 10 { count += try await reader.pieces.next().count }
        }
        try await until { fixture.server.deadlines.first(.body) != nil }
        if seconds > 0 {
            // A byte is no pace.
            fixture.clock.advance(by: .seconds(seconds))
            await client.send([7])
            #expect(try await reader.pieces.next() == [7])
            try await until { fixture.server.deadlines.first(.body) != nil }
        }
        fixture.clock.advance(by: .seconds(30 - seconds / 2))
        if seconds > 0 { await client.send([7]) }
        if seconds > 0 { #expect(try await reader.pieces.next() == [7]) }
        #expect(try await reader.failures.next() == .stalled)
        let answer = try #require(await client.answer())
        #expect(answer.status == 408 && answer.field("Connection") == "close")
        #expect(await client.isOver())
    }

    @Test func `A handler may wait between two reads without a time limit`() async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let fixture = try ServerFixture(methods: RequestBodyTests.methods) { request in
            begun.deliver(())
            try await may.next()
            let bytes = try? await request.body.readAll(atMost: 10)
            return HTTPServerResponse(bytes == [7] ? 200 : 500)
        }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: 1"))
        try await begun.next()
        fixture.clock.advance(by: .seconds(10_000))
        try await otherAnswer()
        may.deliver(())
        await client.send([7])
        #expect(await client.answer()?.status == 200)
    }

    @Test func `An unread rest of a body that does not arrive ends the connection`() async throws {
        let fixture = try ServerFixture(methods: RequestBodyTests.methods) { _ in HTTPServerResponse(200) }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: 10"))
        #expect(await client.answer()?.field("Connection") == nil)
        while try await fixture.clock.nextSleep() != .seconds(5) {}
        while fixture.server.connectionCount != 0 {
            fixture.clock.advance(by: .seconds(5))
            try await otherAnswer()
        }
        #expect(await client.isOver())
    }

    @Test(arguments: BodyParserTests.malformed) func `Malformed chunks fail the read and end the connection`(
        text: String, before: String
    ) async throws {
        let reader = Reader()
        let fixture = try fixture(reader)
        let client = try fixture.client()
        await client.send(head("POST", "Transfer-Encoding: chunked"))
        await client.send(text.replacing("|", with: "\r\n"))
        let answer = try #require(await client.answer())
        #expect(answer.status == 400 && answer.field("Connection") == "close")
        #expect(try await reader.failures.next() == .malformed)
        await client.send(head("GET"))
        #expect(await client.isOver())
    }

    @Test func `Nothing is read from the socket while the handler does not read`() async throws {
        let may = Mail<Void>(), sent = Mail<Void>()
        let count = 64 << 20
        let fixture = try ServerFixture(methods: RequestBodyTests.methods) { request in
            try await may.next()
            var (total, largest) = (0, 0)
            while let piece = try? await request.body.read(atMost: 100_000), !piece.isEmpty {
                (total, largest) = (total + piece.count, max(largest, piece.count))
            }
            return HTTPServerResponse(200, headers: ["X-Total": "\(total)", "X-Largest": "\(largest)"])
        }
        let client = try fixture.client()
        await client.send(head("PUT", "Content-Length: \(count)"))
        let sending = Task {
            await client.send([UInt8](repeating: 7, count: count))
            sent.deliver(())
        }
        try await otherAnswer()
        #expect(sent.waiting.isEmpty)
        may.deliver(())
        await sending.value
        let answer = try #require(await client.answer())
        #expect(answer.field("X-Total") == "\(count)")
        #expect(answer.field("X-Largest").flatMap { Int($0) } ?? .max <= 100_000)
    }

    @Test func `A body that is read after the answer fails`() async throws {
        let bodies = Mail<HTTPRequestBody>(), ended = Mail<Failure?>()
        let fixture = try ServerFixture(methods: RequestBodyTests.methods) { request in
            bodies.deliver(request.body)
            if request.path == "/waiting" { Loop.immediateTask { ended.deliver(await failure(of: request.body)) } }
            return HTTPServerResponse(200)
        }
        let client = try fixture.client()
        for path in ["/waiting", "/"] {
            await client.send(head("POST", path: path, "Content-Length: 3"))
            #expect(await client.answer()?.status == 200)
            if path == "/waiting" { #expect(try await ended.next() == .disconnected) }
            #expect(try await failure(of: bodies.next()) == .disconnected)
            await client.send([1, 2, 3])
        }
        await client.get("/next")
        #expect(await client.answer()?.status == 200)
    }

    @Test(.enabled(if: access("/usr/bin/curl", X_OK) == 0)) func `curl sends bodies`() async throws {
        let fixture = try ServerFixture(methods: RequestBodyTests.methods) { request in
            let bytes = try? await request.body.readAll(atMost: 10 << 20)
            return HTTPServerResponse(200, body: .bytes(bytes ?? []))
        }
        let bytes = pattern(3_000_000)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("http-server-\(fixture.port)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let url = "http://127.0.0.1:\(fixture.port)/file"
        for options in [
            ["-T", file.path], ["-T", file.path, "-H", "Transfer-Encoding: chunked"],
            ["--data-binary", "@\(file.path)", "-H", "Expect: 100-continue"], ["-T", file.path, "-H", "Expect:"],
        ] {
            let curl = Command("/usr/bin/curl", ["-q", "-sS", "--noproxy", "*"] + options + [url])
            #expect(await curl.run().output == bytes, "\(options)")
        }
    }
}

@Loop private func failure(of body: HTTPRequestBody) async -> HTTPRequestBody.Failure? {
    do throws(HTTPRequestBody.Failure) {
        _ = try await body.read(atMost: 1)
        return nil
    } catch {
        return error
    }
}
