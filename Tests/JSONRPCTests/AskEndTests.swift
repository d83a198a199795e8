import Platform
import TestSupport
import Testing

@testable import JSONRPC

/// What becomes of a question when there is nobody left to answer it.
@Loop @Suite(.timeLimit(.minutes(10))) struct AskEndTests {
    let desk = Desk()
    let wire = Wire()

    @Test func `A connection that is closed fails what was asked`() async throws {
        let (connection, ended) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        connection.close()
        #expect(await answer.value == "disconnected")
        await ended.next()
        #expect(await desk.asking().value == "disconnected")
    }

    @Test func `A peer that vanishes fails what was asked`() async throws {
        let (_, ended) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        wire.vanish()
        #expect(await answer.value == "disconnected")
        await ended.next()
    }

    @Test func `A peer that says nothing more is not asked, and not waited for`() async throws {
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
        await ended.next()
    }

    @Test func `An answer that came before the end of the input counts`() async throws {
        let (_, ended) = try desk.connect(wire)
        await wire.sendLine(inquire(1))
        #expect(await wire.line() == question(1))
        await wire.sendLine(response(1, "5"))
        wire.endSending()
        #expect(await wire.line() == reply("1", "5"))
        #expect(await wire.line() == nil)
        await ended.next()
    }

    @Test func `A request that asks in vain is answered before the linger ends it`() async throws {
        let (_, ended) = try desk.connect(wire) { await $0.workIsDone() }
        await wire.sendLine(inquire(1))
        #expect(await wire.line() == question(1))
        wire.endSending()
        #expect(try complaint(await wire.line()) == "1 -32603")
        #expect(await wire.line() == nil)
        await ended.next()
    }

    @Test func `Finishing waits for no answer`() async throws {
        let (connection, ended) = try desk.connect(wire)
        let answer = desk.asking()
        await wire.sendLine(inquire(1))
        #expect(await wire.lines(2) == [question(1), question(2)])
        await connection.finish()
        #expect(await answer.value == "disconnected")
        #expect(try complaint(await wire.line()) == "1 -32800")
        await ended.next()
    }
}
