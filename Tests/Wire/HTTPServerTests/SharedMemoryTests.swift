import ClientMemory
import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

/// Requests and answers that are in memory, of many clients together.
@Loop @Suite(.watchdog(minutes: 10)) struct SharedMemoryTests {
    private static let bytes = 1 << 20
    /// More than a socket takes in one write.
    private static let large = 8 << 20
    private let clock = ManualClock()
    private let memory: ConnectionMemory
    private let kept = Mail<Int>()

    init() { memory = ConnectionMemory(messageBytes: 2 * Self.bytes, unreadBytes: 2 * Self.bytes, clock: clock) }

    private func fixture(_ answer: @escaping @Loop @Sendable (HTTPServerRequest) async -> HTTPServerResponse) throws
        -> ServerFixture
    { try ServerFixture(methods: RequestBodyTests.methods, memory: memory) { await answer($0) } }

    /// Keeps the body, and answers with its length.
    private func keep(_ request: HTTPServerRequest) async -> HTTPServerResponse {
        do throws(HTTPRequestBody.Failure) {
            let bytes = try await request.body.readAll(atMost: Self.bytes)
            kept.deliver(bytes.count)
            return HTTPServerResponse(200)
        } catch {
            return HTTPServerResponse(error.status)
        }
    }

    private func begin(_ fixture: ServerFixture, _ count: Int) async throws -> [TestClient] {
        var clients: [TestClient] = []
        for _ in 0..<count {
            clients.append(try fixture.client())
            await clients.last?.send(head("POST", "Content-Length: \(Self.bytes)") + [1])
        }
        return clients
    }

    @Test func `A body that is kept waits for the memory of others`() async throws {
        let fixture = try fixture { await keep($0) }
        let clients = try await begin(fixture, 2)
        try await until { !memory.incoming.hasRoom(for: 1) }
        let third = try fixture.client()
        await third.send(head("POST", "Content-Length: \(Self.bytes)"))
        // A short one does not wait.
        let short = try fixture.client()
        await short.send(head("POST", "Content-Length: 3") + [1, 2, 3])
        #expect(await short.answer()?.status == 200)
        #expect(try await kept.next() == 3)
        await clients[0].send([UInt8](repeating: 7, count: Self.bytes - 1))
        #expect(await clients[0].answer()?.status == 200)
        await third.send([UInt8](repeating: 7, count: Self.bytes))
        #expect(await third.answer()?.status == 200)
    }

    @Test func `The slowest request frees its memory for one that waits`() async throws {
        let fixture = try fixture { await keep($0) }
        let clients = try await begin(fixture, 2)
        try await until { !memory.incoming.hasRoom(for: 1) }
        let third = try fixture.client()
        await third.send(head("POST", "Content-Length: \(Self.bytes)"))
        #expect(try await clock.nextSleep() == .seconds(10))
        clock.advance(by: .seconds(10))
        await third.send([UInt8](repeating: 7, count: Self.bytes))
        #expect(await third.answer()?.status == 200)
        withExtendedLifetime(clients) {}
    }

    @Test func `A request that waits in vain gets a 503`() async throws {
        let share = QuotaShare(of: memory.incoming)
        #expect(share.reserve(2 * Self.bytes) {})
        let fixture = try fixture { await keep($0) }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: \(Self.bytes)"))
        for _ in 0..<2 {
            #expect(try await clock.nextSleep() == .seconds(10))
            clock.advance(by: .seconds(10))
        }
        #expect(await client.answer()?.status == 503)
        share.leave()
    }

    @Test func `What the last of slow clients has freed is for the request that waits`() async throws {
        let share = QuotaShare(of: memory.incoming)
        #expect(share.reserve(2 * Self.bytes) {})
        var rounds = 0
        share.revoke = {
            rounds += 1
            if rounds == 2 { share.leave() }
        }
        let fixture = try fixture { await keep($0) }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: \(Self.bytes)"))
        for _ in 0..<2 {
            #expect(try await clock.nextSleep() == .seconds(10))
            clock.advance(by: .seconds(10))
        }
        await client.send([UInt8](repeating: 7, count: Self.bytes))
        #expect(await client.answer()?.status == 200)
    }

    @Test func `An answer that is expected waits for those that are not read`() async throws {
        let fixture = try fixture { request in
            do throws(HTTPRequestBody.Failure) { try await request.body.expectAnswer(of: Self.bytes) } catch {
                return HTTPServerResponse(error.status)
            }
            return HTTPServerResponse(200, body: .bytes([UInt8](repeating: 7, count: Self.bytes)))
        }
        let share = QuotaShare(of: memory.outgoing)
        #expect(share.reserve(2 * Self.bytes) {})
        let client = try fixture.client()
        await client.get("/")
        #expect(try await clock.nextSleep() == .seconds(10))
        share.leave()
        #expect(await client.answer()?.status == 200)
        try await until { memory.outgoing.hasRoom(for: 2 * Self.bytes) }
    }

    @Test func `An answer does not wait for those to clients that have gone`() async throws {
        let made = Mail<Void>()
        let fixture = try fixture { request in
            do throws(HTTPRequestBody.Failure) { try await request.body.expectAnswer(of: Self.bytes) } catch {
                return HTTPServerResponse(error.status)
            }
            made.deliver(())
            return HTTPServerResponse(200)
        }
        let share = QuotaShare(of: memory.outgoing)
        #expect(share.reserve(2 * Self.bytes) {})
        for _ in 0..<5 { await (try fixture.client()).get("/") }
        let client = try fixture.client()
        await client.get("/")
        try await otherAnswer()
        share.leave()
        #expect(await client.answer()?.status == 200)
        // The end of a connection may still be on its way.
        #expect(made.waiting.count < 6)
    }

    @Test func `An answer begins once clients that do not read theirs have gone`() async throws {
        let fixture = try fixture { request in
            do throws(HTTPRequestBody.Failure) { try await request.body.expectAnswer(of: Self.large) } catch {
                return HTTPServerResponse(error.status)
            }
            return HTTPServerResponse(200, body: .bytes([UInt8](repeating: 7, count: Self.large)))
        }
        var slow: [TestClient] = []
        for _ in 0..<6 {
            slow.append(try fixture.client(isNarrow: true))
            await slow.last?.get("/")
        }
        try await until { memory.outgoing.isFull }
        let client = try fixture.client()
        await client.get("/")
        #expect(try await clock.nextSleep() == .seconds(10))
        slow = []
        #expect(await client.answer()?.status == 200)
        try await until { memory.outgoing.hasRoom(for: 2 * Self.bytes) }
    }

    @Test func `A body that is kept and comes slowly has a time limit`() async throws {
        let fixture = try fixture { await keep($0) }
        let client = try fixture.client()
        await client.send(head("POST", "Content-Length: \(Self.bytes)"))
        // The pace of one that is not kept.
        for _ in 0..<2 {
            try await until { fixture.server.deadlines.first(.body) != nil }
            fixture.clock.advance(by: .seconds(29))
            await client.send([UInt8](repeating: 7, count: 30 << 10))
        }
        #expect(await client.answer()?.status == 408)
    }
}
