import Platform
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.timeLimit(.minutes(10))) struct CrowdTests {
    @Test func `A thousand that are silent hold up nobody, and leave together when their time is over`() async throws {
        raiseDescriptorLimit()
        let scene = try Scene()
        let silent = try (0..<1000).map { _ in try scene.visitor() }
        await until { scene.server.connectionCount == 1000 }
        #expect(await scene.clock.nextSleep() == .seconds(60))
        scene.clock.advance(by: .seconds(30))
        let live = try scene.visitor()
        for number in 0..<200 {
            await live.get("/\(number)")
            #expect(await live.answer()?.text == "/\(number)")
        }
        scene.clock.advance(by: .seconds(30))
        #expect(await scene.clock.nextSleep() == .seconds(30), "one sleep for all of them")
        await until { scene.server.connectionCount == 1 }
        for visitor in silent { #expect(await visitor.isOver()) }
        await live.get("/")
        #expect(await live.answer()?.status == 200)
    }

    private func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    @Test func `In a full house the one that has been silent longest makes room`() async throws {
        let scene = try Scene(atMost(2))
        let visitors = try (0..<2).map { _ in try scene.visitor() }
        for visitor in visitors.reversed() {
            await visitor.get("/")
            #expect(await visitor.answer()?.status == 200)
        }
        let third = try scene.visitor()
        await third.get("/")
        #expect(await third.answer()?.status == 200)
        #expect(await visitors[1].isOver())
        await visitors[0].get("/again")
        #expect(await visitors[0].answer()?.text == "/again")
    }

    @Test(arguments: ["close", "keep-alive"])
    func `Where nobody is silent the next one waits, but not for a minute`(connection: String) async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let scene = try Scene(atMost(2)) { request in
            begun.deliver(())
            await may.next()
            return HTTPServerResponse(200, body: .bytes(Array(request.path.utf8)))
        }
        var visitors: [Visitor] = []
        for number in 0..<3 {
            visitors.append(try scene.visitor())
            await visitors[number].get("/\(number)", "GET", "Connection: \(connection)")
            if number < 2 { await begun.next() }
        }
        await turns(20)
        #expect(begun.waiting.isEmpty && scene.server.connectionCount == 2)
        for _ in 0..<3 { may.deliver(()) }
        for (number, visitor) in visitors.enumerated() {
            #expect(await visitor.answer()?.text == "/\(number)")
            if connection == "close" { visitor.endSending() }
        }
    }

    private func atMost(_ connections: Int) -> HTTPServerLimits {
        var limits = HTTPServerLimits()
        limits.connections = connections
        return limits
    }
}
