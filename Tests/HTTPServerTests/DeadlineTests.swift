import Platform
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.timeLimit(.minutes(10))) struct DeadlineTests {
    @Test func `A head has to be complete ten seconds after its first byte`() async throws {
        let scene = try Scene()
        let visitor = try scene.visitor()
        #expect(await scene.clock.nextSleep() == .seconds(60))
        await visitor.send("GET / HT")
        #expect(await scene.clock.nextSleep() == .seconds(10))
        for piece in ["TP/1.1\r\n", "Host: local"] {
            scene.clock.advance(by: .seconds(4))
            await visitor.send(piece)
            await turns(20)
        }
        scene.clock.advance(by: .seconds(2))
        let answer = try #require(await visitor.answer())
        #expect(answer.status == 408 && answer.field("Connection") == "close")
        #expect(await visitor.isOver())
    }

    @Test func `A connection may be idle for a minute after each request`() async throws {
        let scene = try Scene()
        let visitor = try scene.visitor()
        #expect(await scene.clock.nextSleep() == .seconds(60))
        scene.clock.advance(by: .seconds(30))
        await visitor.get("/a")
        #expect(await visitor.answer()?.text == "/a")
        scene.clock.advance(by: .seconds(30))
        #expect(await scene.clock.nextSleep() == .seconds(30), "the clock looks again when the time was extended")
        await visitor.get("/b")
        #expect(await visitor.answer()?.text == "/b")
        scene.clock.advance(by: .seconds(60))
        #expect(await visitor.isOver())
        await until { scene.server.connectionCount == 0 }
    }

    @Test func `A handler may take as long as it likes`() async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let scene = try Scene { _ in
            begun.deliver(())
            await may.next()
            return HTTPServerResponse(204)
        }
        let visitor = try scene.visitor()
        await visitor.get("/")
        await begun.next()
        scene.clock.advance(by: .seconds(10_000))
        await turns(20)
        may.deliver(())
        #expect(await visitor.answer()?.status == 204)
    }

    @Test func `Who takes nothing for half a minute is dropped`() async throws {
        let (scene, visitor) = try await heldUp()
        // What its system takes without being asked counts too, but that has an end.
        while scene.server.connectionCount != 0 {
            scene.clock.advance(by: .seconds(30))
            await turns(20)
        }
        #expect(await visitor.bytes(100 << 20).count < 24 << 20)
    }

    @Test func `Who takes little is not`() async throws {
        let (scene, visitor) = try await heldUp()
        var count = 0
        for _ in 0..<10 {
            scene.clock.advance(by: .seconds(29))
            // More than the visitor's own memory: some of it has just left the server's.
            count += await visitor.bytes(300_000).count
            await turns(20)
        }
        #expect(scene.server.connectionCount == 1)
        #expect(await visitor.bytes(100 << 20).count > (24 << 20) - count, "all of it, and the head")
    }

    /// A visitor that has taken the first bytes of 24 MiB, and a server that waits for it to take more.
    private func heldUp() async throws -> (Scene, Visitor) {
        let big = try ScratchFile([], size: 24 << 20)
        let scene = try Scene { _ in HTTPServerResponse(200, body: big.body) }
        let visitor = try scene.visitor(isNarrow: true)
        #expect(await scene.clock.nextSleep() == .seconds(60))
        await visitor.get("/", "GET", "Connection: close")
        #expect(await scene.clock.nextSleep() == .seconds(30))
        _ = await visitor.bytes(1)
        return (scene, visitor)
    }

    @Test func `Who does not close after the end is not waited for`() async throws {
        let scene = try Scene()
        let visitor = try scene.visitor()
        await visitor.get("/", "GET", "Connection: close")
        #expect(await visitor.answer()?.status == 200)
        #expect(await visitor.isOver())
        #expect(scene.server.connectionCount == 1)
        while await scene.clock.nextSleep() != .seconds(5) {}
        // That the end has come is acknowledged when the visitor's system likes, and counts as taken.
        while scene.server.connectionCount != 0 {
            scene.clock.advance(by: .seconds(5))
            await turns(20)
        }
    }

    @Test func `Deadlines come in their order, and only those that still count`() async {
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
        #expect(await clock.nextSleep() == .seconds(10))
        for expected in [["head"], ["stall"], ["idle", "moved"]] {
            clock.advance(by: .seconds(expected == ["head"] ? 10 : expected == ["stall"] ? 20 : 30))
            for name in expected { #expect(await due.next() == name) }
            #expect(due.waiting.isEmpty)
            if expected != ["idle", "moved"] { _ = await clock.nextSleep() }
        }
        deadlines.close()
        deadlines.set(all[0], .idle)
        #expect(deadlines.first(.idle) == nil)
    }
}
