import Platform
import Glibc
import TestSupport
import Testing

@testable import JSONRPC

@Loop @Suite(.watchdog(minutes: 10)) struct ConnectionEndTests {
    let desk = TestContext()
    let wire = Wire()

    @Test func `A half-closed connection answers pending requests, then it ends`() async throws {
        let (_, ended) = try desk.connect(wire)
        await wire.send([wait("1"), wait("2", aside: true), echo("3")].joined(separator: "\n"))
        wire.endSending()
        #expect(await wire.line() == reply("3"))
        for _ in 1...2 { _ = try await desk.started.next() }
        try await laterReply()
        #expect(ended.waiting.isEmpty)
        desk.opened.wakeAll()
        #expect(await Set(wire.lines(2)) == [reply("1", #""1""#), reply("2", #""2""#)])
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `A disconnect cancels the requests of the peer`() async throws {
        let (_, ended) = try desk.connect(wire)
        await wire.sendLine(wait("1"))
        await wire.sendLine(wait("2", aside: true))
        for _ in 1...2 { _ = try await desk.started.next() }
        wire.vanish()
        let gone: Set = [try await desk.cancelled.next(), try await desk.cancelled.next()]
        #expect(gone == ["1", "2"])
        try await ended.next()
        try await laterReply()
        #expect(ended.waiting.isEmpty, "it ends once")
    }

    @Test func `Requests before a disconnect still run`() async throws {
        await wire.sendLine(wait("1"))
        wire.vanish()
        let (_, ended) = try desk.connect(wire)
        #expect(try await desk.started.next() == "1")
        try await ended.next()
    }

    @Test func `A connection without requests ends immediately`() async throws {
        let (_, ended) = try desk.connect(wire)
        wire.endSending()
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `The linger runs between the last request and the end`() async throws {
        let lingering = Mail<Connection<TestContext>>()
        let enough = Waiters()
        let (_, ended) = try desk.connect(wire) { connection in
            await connection.workIsDone()
            lingering.deliver(connection)
            do { try await enough.wait() } catch {}
        }
        await wire.send([wait("1", aside: true), echo("2")].joined(separator: "\n"))
        wire.endSending()
        #expect(await wire.line() == reply("2"))
        _ = try await lingering.next()
        desk.tell(5)
        #expect(await wire.line()?.contains("told") == true)
        try await until { !enough.isEmpty }
        enough.wakeAll()
        #expect(try complaint(await wire.line()) == "1 -32800")
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `A request whose wait has ended keeps its result, however late it answers`() async throws {
        let lingering = Mail<Void>()
        let enough = Waiters()
        let (_, ended) = try desk.connect(wire) { _ in
            lingering.deliver(())
            do { try await enough.wait() } catch {}
            desk.opened.wakeAll()
        }
        await wire.sendLine(#"{"jsonrpc":"2.0","id":1,"method":"doomed"}"#)
        _ = try await desk.started.next()
        wire.endSending()
        try await lingering.next()
        enough.wakeAll()
        #expect(try complaint(await wire.line()) == "1 7")
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `An unforeseen error is reported to the service`() async throws {
        let reportInternalError = Mail<String>()
        let (_, ended) = try desk.connect(wire, reportInternalError: { reportInternalError.deliver($0) })
        await wire.send(
            [
                #"{"jsonrpc":"2.0","id":1,"method":"fail"}"#, #"{"jsonrpc":"2.0","method":"fail"}"#,
                #"{"jsonrpc":"2.0","id":2,"method":"none"}"#, #"[{"jsonrpc":"2.0","id":3,"method":"fail"}]"#,
            ].joined(separator: "\n"))
        wire.endSending()
        _ = await wire.lines(3)
        try await ended.next()
        #expect(reportInternalError.waiting == Array(repeating: "fail: Odd()", count: 3))
    }

    @Test func `Finishing answers pending requests, and returns when the output is flushed`() async throws {
        let (connection, ended) = try desk.connect(wire)
        await wire.sendLine(wait("1"))
        _ = try await desk.started.next()
        await connection.finish()
        #expect(try complaint(await wire.line()) == "1 -32800")
        #expect(await wire.line() == nil)
        try await ended.next()
        desk.tell(1)
        connection.close()
    }

    @Test func `An ended pipe does not keep the loop busy`() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe2(&ends) == 0)
        let input = Descriptor(owning: ends[0])
        let ended = Mail<Void>()
        let enough = Waiters()
        let connection = Connection(
            input: input, output: try #require(wire.takeServer()), table: TestContext.methods, limits: .init(),
            linger: { _ in do { try await enough.wait() } catch {} }, ended: { _ in ended.deliver(()) })
        connection.serve(desk)
        let message = echo("1") + "\n"
        #expect(write(ends[1], message, message.utf8.count) == message.utf8.count)
        #expect(await wire.line() == reply("1"))
        close(ends[1])
        try await until { connection.phase != .open }
        try await until { !connection.watchesInput }
        #expect(!connection.watchesInput, "the poller would tell of the hang-up for ever")
        enough.wakeAll()
        try await ended.next()
    }

    private func pipe2(_ ends: inout [Int32]) -> Int32 {
        let result = pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return result
    }
}

extension Connection {
    var watchesInput: Bool { stream?.inputWatcher != nil }
}
