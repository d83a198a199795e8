import Platform
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct DeadlineTests {
    @Test func `A head has to be complete ten seconds after its first byte`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        #expect(try await fixture.clock.nextSleep() == .seconds(60))
        await client.send("GET / HT")
        #expect(try await fixture.clock.nextSleep() == .seconds(10))
        for piece in ["TP/1.1\r\n", "Host: local"] {
            fixture.clock.advance(by: .seconds(4))
            await client.send(piece)
            try await otherAnswer()
        }
        fixture.clock.advance(by: .seconds(2))
        let answer = try #require(await client.answer())
        #expect(answer.status == 408 && answer.field("Connection") == "close")
        #expect(await client.isOver())
    }

    @Test func `A connection may be idle for a minute after each request`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        #expect(try await fixture.clock.nextSleep() == .seconds(60))
        fixture.clock.advance(by: .seconds(30))
        await client.get("/a")
        #expect(await client.answer()?.text == "/a")
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fixture.clock.nextSleep() == .seconds(30), "the clock looks again when the time was extended")
        await client.get("/b")
        #expect(await client.answer()?.text == "/b")
        fixture.clock.advance(by: .seconds(60))
        #expect(await client.isOver())
        try await until { fixture.server.connectionCount == 0 }
    }

    @Test func `A handler has no time limit`() async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let fixture = try ServerFixture { _ in
            begun.deliver(())
            try await may.next()
            return HTTPServerResponse(204)
        }
        let client = try fixture.client()
        await client.get("/")
        try await begun.next()
        fixture.clock.advance(by: .seconds(10_000))
        try await otherAnswer()
        may.deliver(())
        #expect(await client.answer()?.status == 204)
    }

    @Test func `A client that reads nothing for half a minute is disconnected`() async throws {
        let (fixture, client) = try await heldUp()
        // The kernel of the client accepts some bytes by itself.
        while fixture.server.connectionCount != 0 {
            fixture.clock.advance(by: .seconds(30))
            try await otherAnswer()
        }
        #expect(await client.bytes(100 << 20).count < 24 << 20)
    }

    @Test func `A client that reads slowly is not disconnected`() async throws {
        let (fixture, client) = try await heldUp()
        var count = 0
        for _ in 0..<10 {
            fixture.clock.advance(by: .seconds(29))
            // Reads more than the client's socket buffer holds, so that bytes leave the server's.
            count += await client.bytes(300_000).count
            try await otherAnswer()
        }
        #expect(fixture.server.connectionCount == 1)
        #expect(await client.bytes(100 << 20).count > (24 << 20) - count, "all of it, and the head")
    }

    /// A client that has read the first bytes of 24 MiB, and a server that waits until it reads more.
    private func heldUp() async throws -> (ServerFixture, TestClient) {
        let big = try ScratchFile([], size: 24 << 20)
        let fixture = try ServerFixture { _ in HTTPServerResponse(200, body: big.body) }
        let client = try fixture.client(isNarrow: true)
        #expect(try await fixture.clock.nextSleep() == .seconds(60))
        await client.get("/", "GET", "Connection: close")
        #expect(try await fixture.clock.nextSleep() == .seconds(30))
        _ = await client.bytes(1)
        return (fixture, client)
    }

    @Test func `A client that does not close after the last answer is disconnected`() async throws {
        let fixture = try ServerFixture()
        let client = try fixture.client()
        await client.get("/", "GET", "Connection: close")
        #expect(await client.answer()?.status == 200)
        #expect(await client.isOver())
        #expect(fixture.server.connectionCount == 1)
        while try await fixture.clock.nextSleep() != .seconds(5) {}
        // The kernel of the client acknowledges the end at any time, which counts as a read.
        while fixture.server.connectionCount != 0 {
            fixture.clock.advance(by: .seconds(5))
            try await otherAnswer()
        }
    }

    @Test func `Deadlines expire in their order, and cleared ones do not expire`() async throws {
        let clock = ManualClock()
        let deadlines = Deadlines(HTTPServerLimits(), clock: clock)
        let due = Mail<String>()
        let names = ["idle", "head", "stall", "moved", "lifted"]
        let all = names.map { name in Deadline { due.deliver(name) } }
        for (deadline, kind) in zip(all, [.idle, .head, .stall, .head, .head] as [Deadlines.Kind]) {
            deadlines.set(deadline, kind)
        }
        deadlines.set(all[3], .idle)
        deadlines.clear(all[4])
        #expect(try await clock.nextSleep() == .seconds(10))
        for expected in [["head"], ["stall"], ["idle", "moved"]] {
            clock.advance(by: .seconds(expected == ["head"] ? 10 : expected == ["stall"] ? 20 : 30))
            for name in expected { #expect(try await due.next() == name) }
            #expect(due.waiting.isEmpty)
            if expected != ["idle", "moved"] { _ = try await clock.nextSleep() }
        }
        deadlines.close()
        deadlines.set(all[0], .idle)
        #expect(deadlines.first(.idle) == nil)
    }
}
