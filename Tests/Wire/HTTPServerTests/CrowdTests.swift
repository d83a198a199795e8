import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct CrowdTests {
    @Test func `A thousand idle connections do not delay others and close at the timeout`() async throws {
        _ = CurrentProcess.raiseDescriptorLimit()
        let fixture = try ServerFixture()
        let silent = try (0..<1000).map { _ in try fixture.client() }
        try await until { fixture.server.connectionCount == 1000 }
        #expect(try await fixture.clock.nextSleep() == .seconds(60))
        fixture.clock.advance(by: .seconds(30))
        let live = try fixture.client()
        for number in 0..<200 {
            await live.get("/\(number)")
            #expect(await live.answer()?.text == "/\(number)")
        }
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fixture.clock.nextSleep() == .seconds(30), "one sleep for all of them")
        try await until { fixture.server.connectionCount == 1 }
        for client in silent { #expect(await client.isOver()) }
        await live.get("/")
        #expect(await live.answer()?.status == 200)
    }

    @Test func `A full server closes the longest idle connection for a new one`() async throws {
        let fixture = try ServerFixture(atMost(2))
        let clients = try (0..<2).map { _ in try fixture.client() }
        for client in clients.reversed() {
            await client.get("/")
            #expect(await client.answer()?.status == 200)
        }
        let third = try fixture.client()
        await third.get("/")
        #expect(await third.answer()?.status == 200)
        #expect(await clients[1].isOver())
        await clients[0].get("/again")
        #expect(await clients[0].answer()?.text == "/again")
    }

    @Test(arguments: ["close", "keep-alive"])
    func `Without an idle connection a new one waits until another is idle`(connection: String) async throws {
        let begun = Mail<Void>(), may = Mail<Void>()
        let fixture = try ServerFixture(atMost(2)) { request in
            begun.deliver(())
            try await may.next()
            return HTTPServerResponse(200, body: .bytes(Array(request.path.utf8)))
        }
        var clients: [TestClient] = []
        for number in 0..<3 {
            clients.append(try fixture.client())
            await clients[number].get("/\(number)", "GET", "Connection: \(connection)")
            if number < 2 { try await begun.next() }
        }
        try await otherAnswer()
        #expect(begun.waiting.isEmpty && fixture.server.connectionCount == 2)
        for _ in 0..<3 { may.deliver(()) }
        for (number, client) in clients.enumerated() {
            #expect(await client.answer()?.text == "/\(number)")
            if connection == "close" { client.endSending() }
        }
    }

    private func atMost(_ connections: Int) -> HTTPServerLimits {
        var limits = HTTPServerLimits()
        limits.connections = connections
        return limits
    }
}
