import Platform
import TestSupport
import Testing

@testable import JSONRPC

/// Outgoing requests whose peer is gone.
@Loop @Suite(.watchdog(minutes: 10)) struct OutgoingRequestEndTests {
    let desk = TestContext()
    let wire = Wire()

    @Test func `Closing a connection fails its outgoing requests`() async throws {
        let (connection, ended) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        connection.close()
        #expect(await answer.value == "disconnected")
        try await ended.next()
        #expect(await desk.asking().value == "disconnected")
    }

    @Test func `A disconnect fails outgoing requests`() async throws {
        let (_, ended) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        wire.vanish()
        #expect(await answer.value == "disconnected")
        try await ended.next()
    }

    @Test func `A peer whose input has ended gets no requests, and pending ones fail`() async throws {
        let enough = Waiters()
        let (connection, ended) = try desk.connect(wire) { _ in
            do { try await enough.wait() } catch {}
        }
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        wire.endSending()
        #expect(await answer.value == "disconnected")
        #expect(await desk.asking().value == "disconnected")
        #expect(connection.outgoingRequests.isEmpty)
        enough.wakeAll()
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `A response before the end of the input is used`() async throws {
        let (_, ended) = try desk.connect(wire)
        await wire.sendLine(inquire(1))
        #expect(await wire.line() == question(1))
        await wire.sendLine(response(1, "5"))
        wire.endSending()
        #expect(await wire.line() == reply("1", "5"))
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `A request whose outgoing request fails is answered before the linger ends`() async throws {
        let (_, ended) = try desk.connect(wire) { await $0.workIsDone() }
        await wire.sendLine(inquire(1))
        #expect(await wire.line() == question(1))
        wire.endSending()
        #expect(try complaint(await wire.line()) == "1 -32603")
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `Finishing does not wait for responses of the peer`() async throws {
        let (connection, ended) = try desk.connect(wire)
        let answer = desk.asking()
        await wire.sendLine(inquire(1))
        #expect(await wire.lines(2) == [question(1), question(2)])
        await connection.finish()
        #expect(await answer.value == "disconnected")
        #expect(try complaint(await wire.line()) == "1 -32800")
        try await ended.next()
    }
}
