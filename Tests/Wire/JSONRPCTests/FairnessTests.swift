import Platform
import JSONText
import TestSupport
import Testing

@testable import JSONRPC

/// One connection does not delay the requests of another.
@Loop @Suite(.watchdog) struct FairnessTests {
    private let hostile = TestContext(), wire = Wire()
    private let other = TestContext(), otherWire = Wire()
    private static let look = #"{"jsonrpc":"2.0","id":1,"method":"look"}"#
    private static let many = (1...900).map { echo("\($0)") }

    /// Both clients have sent everything before the service reads, the hostile one first.
    private func connectBoth(
        _ trace: TraceHook? = nil, threads: DecodingThreads = .shared
    ) throws -> (Connection<TestContext>, Connection<TestContext>) {
        let (first, _) = try hostile.connect(wire, trace: trace, threads: threads)
        let (second, _) = try other.connect(otherWire, threads: threads)
        other.sight = { [weak first] in first?.pending.lastNumber ?? -1 }
        return (first, second)
    }

    @Test(arguments: ["\n", ","])
    func `A request of another connection begins before a backlog is done`(separator: String) async throws {
        let backlog = Self.many.joined(separator: separator)
        await wire.sendLine(separator == "," ? "[\(backlog)]" : backlog)
        await otherWire.sendLine(Self.look)
        let (first, second) = try connectBoth()
        let answer = try #require(await otherWire.line())
        let begun = try #require(try parse(answer)["result"]?.number?.int64)
        #expect(begun <= 2 * Int64(IterationBudget.requests), "\(begun) of the backlog had begun")
        let lines = await wire.lines(separator == "," ? 1 : Self.many.count)
        #expect(lines.joined(separator: separator).contains(#""id":900,"#))
        first.close()
        second.close()
    }

    @Test func `The messages of a batch are as many iterations as those of a stream`() async throws {
        let batch = "[" + (1...200).map { echo("\($0)") }.joined(separator: ",") + "]"
        #expect(batch.utf8.count < MessageDecoder.inlineBytes)
        await wire.sendLine(batch)
        await otherWire.sendLine(Self.look)
        let (first, second) = try connectBoth()
        let answer = try #require(await otherWire.line())
        #expect(try #require(try parse(answer)["result"]?.number?.int64) <= 2 * Int64(IterationBudget.requests))
        #expect(try parse(try #require(await wire.line())).array?.count == 200)
        first.close()
        second.close()
    }

    @Test func `A large answer is written in several iterations`() async throws {
        let wire = Wire(isWide: true)
        let (connection, _) = try hostile.connect(wire)
        await wire.sendLine(#"{"jsonrpc":"2.0","id":1,"method":"bulk"}"#)
        _ = try await hostile.started.next()
        async let answer = wire.line()
        hostile.opened.wakeAll()
        while connection.outlet.outbox.taken < 1 << 20 {
            let (taken, iteration) = (connection.outlet.outbox.taken, Loop.iteration)
            await Loop.nextIteration()
            // Other tests run on this loop: several iterations may have passed.
            let written = connection.outlet.outbox.taken - taken, iterations = Loop.iteration - iteration
            #expect(written <= iterations * 768 << 10, "\(written) bytes in \(iterations) iterations")
        }
        #expect(await answer?.utf8.count ?? 0 > 1 << 20)
        connection.close()
    }
}

/// The behaviour while a thread decodes a large message.
@Loop @Suite(.watchdog) struct DecodingTests {
    private let desk = TestContext(), wire = Wire()
    private let threads = DecodingThreads()
    private let gate = Signal()
    private static let long = "\"" + String(repeating: "x", count: 40_000) + "\""

    /// Blocks the decoding threads until the gate fires.
    private func holdThreads() {
        threads.submit(bytes: 0) { [gate] in
            gate.block()
            return {}
        }
    }

    @Test func `Decoding a large message delays only the messages behind it`() async throws {
        holdThreads()
        let (connection, _) = try desk.connect(wire, threads: threads)
        await wire.send(echo("1", Self.long) + "\n" + echo("2") + "\n")
        try await until { connection.intake.state.isDecoding }
        let (other, otherWire) = (TestContext(), Wire())
        let (second, _) = try other.connect(otherWire, threads: threads)
        for id in ["1", "2", "3"] {
            await otherWire.sendLine(echo(id))
            #expect(await otherWire.line() == reply(id))
        }
        #expect(connection.pending.lastNumber == 0, "nothing overtakes it")
        gate.fire()
        #expect(await wire.lines(2) == [reply("1", Self.long), reply("2")])
        connection.close()
        second.close()
    }

    @Test func `A long batch is answered as one, in the order of its requests`() async throws {
        let (connection, _) = try desk.connect(wire, threads: threads)
        let calls = (1...1000).map { echo("\($0)") }
        await wire.sendLine("[\(calls.joined(separator: ","))]")
        #expect(await wire.line() == "[" + (1...1000).map { reply("\($0)") }.joined(separator: ",") + "]")
        connection.close()
    }

    @Test func `Requests before the end of the input are answered`() async throws {
        holdThreads()
        let (connection, ended) = try desk.connect(wire, threads: threads)
        await wire.send(echo("1", Self.long) + "\n" + echo("2"))
        wire.endSending()
        try await until { connection.intake.state.isDecoding }
        gate.fire()
        #expect(await wire.lines(2) == [reply("1", Self.long), reply("2")])
        #expect(await wire.line() == nil)
        try await ended.next()
    }

    @Test func `A large message before a disconnect still begins`() async throws {
        holdThreads()
        let padding = String(repeating: " ", count: 40_000)
        await wire.send(wait("1") + padding + "\n" + wait("2") + "\n")
        let (connection, ended) = try desk.connect(wire, threads: threads)
        try await until { connection.intake.state.isDecoding }
        wire.vanish()
        try await until { connection.peerIsGone }
        gate.fire()
        #expect(try await desk.started.next() == "1")
        #expect(try await desk.started.next() == "2")
        try await ended.next()
    }

    @Test func `The end of a connection drops the message that is being decoded`() async throws {
        holdThreads()
        let (connection, ended) = try desk.connect(wire, threads: threads)
        await wire.sendLine(echo("1", Self.long))
        try await until { connection.intake.state.isDecoding }
        connection.close()
        try await ended.next()
        gate.fire()
        #expect(await wire.line() == nil)
        #expect(connection.pending.lastNumber == 0)
    }

    @Test func `The end of the service answers the begun requests of a batch`() async throws {
        let (connection, ended) = try desk.connect(wire, limits: .with { $0.requests = 2 }, threads: threads)
        await wire.sendLine("[\(wait("1")),\(wait("2")),\(wait("3"))]")
        for _ in 1...2 { _ = try await desk.started.next() }
        await connection.finish()
        let answers = try parse(try #require(await wire.line())).array ?? []
        #expect(answers.map { $0["error"]?["code"]?.number?.int64 } == [-32800, -32800])
        try await ended.next()
    }

    @Test func `A long blank line is ignored`() async throws {
        let (connection, _) = try desk.connect(wire, threads: threads)
        await wire.sendLine(String(repeating: " ", count: 40_000))
        await wire.sendLine(echo("1"))
        #expect(await wire.line() == reply("1"))
        connection.close()
    }

    @Test func `Ids of any length are returned as they were sent`() async throws {
        let (connection, _) = try desk.connect(wire, threads: threads)
        await wire.sendLine(echo(Self.long))
        #expect(await wire.line() == reply(Self.long))
        await wire.sendLine("[\(echo(Self.long)),\(echo("2"))]")
        #expect(await wire.line() == "[\(reply(Self.long)),\(reply("2"))]")
        connection.close()
    }
}
