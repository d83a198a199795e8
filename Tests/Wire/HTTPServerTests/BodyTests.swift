import HTTPText
import Platform
import Foundation
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct BodyTests {
    @Test(arguments: [0, 1, 65_536, 65_537, 5_000_000]) func `Bytes in memory are sent unchanged`(count: Int)
        async throws
    {
        let bytes = pattern(count)
        let fixture = try ServerFixture { _ in HTTPServerResponse(200, body: .bytes(bytes)) }
        let client = try fixture.client()
        for _ in 0..<2 {
            await client.get("/")
            #expect(await client.answer()?.body == bytes)
        }
    }

    @Test(arguments: [0, 1, 65_537, 5_000_000]) func `Files and parts of files are sent unchanged`(
        count: Int
    ) async throws {
        let bytes = pattern(count)
        let fixture = try serving(ScratchFile(bytes))
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer()?.body == bytes)
        for range in [0..<1, count / 3..<count, count - 1..<count] where count > 0 && !range.isEmpty {
            await client.get("/", "GET", "Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)")
            let answer = try #require(await client.answer())
            #expect(answer.status == 206 && answer.body == Array(bytes[range]))
        }
        await client.get("/", "HEAD")
        #expect(await client.answer(hasBody: false)?.field("Content-Length") == "\(count)")
        await client.get("/", "GET", "If-None-Match: \"tag\"")
        let answer = try #require(await client.answer())
        #expect(answer.status == 304 && answer.field("Content-Length") == nil)
    }

    private func serving(_ file: ScratchFile) throws -> ServerFixture {
        try ServerFixture { request in
            await respond(
                to: request, with: ServedResource(size: file.count, etag: EntityTag("tag")) { file.body($0) },
                at: TimeSource.system.httpDate)
        }
    }

    @Test func `A file that is shorter than announced ends the connection`() async throws {
        let file = try ScratchFile(pattern(1000))
        let fixture = try ServerFixture { _ in
            HTTPServerResponse(200, body: .file(ServedFile(file.descriptor, of: file, offset: 0, count: 2000)))
        }
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer() == nil)
        try await until { fixture.server.connectionCount == 0 }
    }

    @Test(arguments: [true, false]) func `A slow reader does not delay other connections`(isVerified: Bool) async throws
    {
        let big = try ScratchFile([], size: 24 << 20)
        let body = isVerified ? big.body(as: Array(repeating: 0, count: 24 << 20)) : big.body
        let fixture = try ServerFixture { HTTPServerResponse(200, body: $0.path == "/big" ? body : .bytes([7])) }
        // More clients than threads that send files.
        let slow = try (0..<20).map { _ in try fixture.client(isNarrow: true) }
        for client in slow { await client.get("/big") }
        for client in slow { _ = await client.bytes(1) }
        let quick = try fixture.client()
        for _ in 0..<50 {
            await quick.get("/")
            #expect(await quick.answer()?.body == [7])
        }
        await quick.get("/big")
        #expect(await quick.answer()?.body.count == 24 << 20)
        #expect(fixture.server.connectionCount == 21)
    }

    @Test func `A client that disconnects during an answer leaves no connection and no file open`() async throws {
        weak var owner: ScratchFile?
        let fixture: ServerFixture
        do {
            let big = try ScratchFile([], size: 24 << 20)
            owner = big
            let once = Mail<ScratchFile>()
            for _ in 0..<10 { once.deliver(big) }
            fixture = try ServerFixture { _ in HTTPServerResponse(200, body: try await once.next().body) }
        }
        for _ in 0..<10 {
            let client = try fixture.client(isNarrow: true)
            await client.get("/")
            _ = await client.bytes(1000)
            client.reset()
        }
        try await until { fixture.server.connectionCount == 0 && owner == nil }
        #expect(fixture.server.connectionCount == 0 && owner == nil)
    }

    @Test func `A disconnect cancels the handler of the request`() async throws {
        let begun = Signal(), cancelled = Signal()
        let ended = Mail<Bool>()
        let fixture = try ServerFixture { _ in
            begun.fire()
            await withTaskCancellationHandler {
                await cancelled.wait()
            } onCancel: {
                cancelled.fire()
            }
            ended.deliver(Task.isCancelled)
            return HTTPServerResponse(200)
        }
        let client = try fixture.client()
        await client.get("/")
        try await begun.happened()
        client.reset()
        try await until { fixture.server.connectionCount == 0 }
        #expect(try await ended.next())
    }

    @Test func `A half-closed client still gets the answers`() async throws {
        let may = Mail<Void>()
        let big = try ScratchFile([], size: 12 << 20)
        let fixture = try ServerFixture { request in
            try await may.next()
            return HTTPServerResponse(200, body: request.path == "/big" ? big.body : .bytes([1]))
        }
        let client = try fixture.client()
        for path in ["/a", "/big", "/b"] { await client.get(path) }
        client.endSending()
        try await otherAnswer()
        for count in [1, 12 << 20, 1] {
            may.deliver(())
            #expect(await client.answer()?.body.count == count)
        }
        #expect(await client.isOver())
    }

    @Test(.enabled(if: access("/usr/bin/curl", X_OK) == 0)) func `curl gets the requested bytes`() async throws {
        let bytes = pattern(3_000_000)
        let fixture = try serving(ScratchFile(bytes))
        let url = "http://127.0.0.1:\(fixture.port)/file"
        #expect(await curl("-sS", url) == bytes)
        #expect(await curl("-sS", "-r", "1000-1999", url) == Array(bytes[1000..<2000]))
        #expect(await curl("-sS", "-C", "2999990", url) == Array(bytes.suffix(10)))
        #expect(await curl("-sS", url, url) == bytes + bytes)
        let status = ["-sS", "-o", "/dev/null", "-w", "%{http_code}"]
        #expect(await curl(status + ["-I", url]) == Array("200".utf8))
        #expect(await curl(status + ["-H", "If-None-Match: \"tag\"", url]) == Array("304".utf8))
        #expect(await curl(status + ["-d", "x", url]) == Array("405".utf8))
        #expect(await curl(status + ["-H", "Host: evil.example", url]) == Array("421".utf8))
    }

    private func curl(_ arguments: String...) async -> [UInt8] { await curl(arguments) }

    private func curl(_ arguments: [String]) async -> [UInt8] {
        await Command("/usr/bin/curl", ["-q", "--noproxy", "*"] + arguments).run().output
    }
}
