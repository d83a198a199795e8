import Platform
import JSONText
import TestSupport
import Testing

@testable import JSONRPC

/// The limits of one connection: at the limit, beyond it, and afterwards.
@Loop @Suite(.watchdog(minutes: 10)) struct BoundTests {
    let desk = TestContext()

    @Test func `A message has at most the allowed nesting`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.nesting = 16 })
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        }
        await wire.sendLine(echo("1", nested(14)))
        #expect(await wire.line() == reply("1", nested(14)))
        await wire.sendLine(echo("2", nested(15)))
        let refusal = try #require(await wire.line())
        #expect(try complaint(refusal) == "null -32700" && refusal.contains("nested more than 16 levels deep"))
        await wire.sendLine(echo("3"))
        #expect(await wire.line() == reply("3"))
        connection.close()
    }

    @Test func `A batch has at most the allowed number of messages`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.batchMessages = 3 })
        await wire.sendLine("[\(echo("1")),\(echo("2")),\(echo("3"))]")
        #expect(await wire.line()?.contains("result") == true)
        await wire.sendLine("[\(echo("1")),\(echo("2")),\(echo("3")),\(echo("4"))]")
        let refusal = try #require(await wire.line())
        #expect(try complaint(refusal) == "null -32600" && refusal.contains("at most 3 messages, this one 4"))
        await wire.sendLine(echo("5"))
        #expect(await wire.line() == reply("5"))
        connection.close()
    }

    @Test(arguments: [false, true])
    func `A message has at most the allowed number of values`(isBatch: Bool) async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.messageValues = 20 })
        func message(_ values: Int) -> String {
            // The message, its three members, its params and their array; the batch.
            let elements = [String](repeating: "0", count: values - 6 - (isBatch ? 1 : 0)).joined(separator: ",")
            return isBatch ? "[\(echo("1", "[\(elements)]"))]" : echo("1", "[\(elements)]")
        }
        await wire.sendLine(message(20))
        #expect(await wire.line()?.contains("result") == true)
        await wire.sendLine(message(21))
        let refusal = try #require(await wire.line())
        #expect(try complaint(refusal) == "null -32600")
        #expect(refusal.contains("more than 20 values") && refusal.contains("(--max-message-values)"))
        await wire.sendLine(echo("2"))
        #expect(await wire.line() == reply("2"))
        connection.close()
    }

    @Test func `The messages of a batch begin as admission permits`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.requests = 2 })
        await wire.sendLine("[\((1...5).map { wait("\($0)") }.joined(separator: ","))]")
        for id in 1...5 {
            #expect(try await desk.started.next() == "\(id)")
            #expect(connection.pending.count <= 2)
            desk.opened.wakeAll()
        }
        #expect(desk.mostRunning <= 2)
        #expect(try parse(try #require(await wire.line())).array?.count == 5)
        connection.close()
    }

    @Test func `Further messages of a batch are refused when its answers are too large`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.unreadBytes = 2000 })
        let long = "\"" + String(repeating: "x", count: 600) + "\""
        let calls = (1...4).map { echo("\($0)", long) }
        await wire.sendLine("[\(calls.joined(separator: ","))]")
        let answers = try parse(try #require(await wire.line())).array ?? []
        #expect(answers.count == 4 && answers.count { $0["result"] != nil } == 2)
        #expect(answers.suffix(2).allSatisfy { $0["error"]?["code"]?.number?.int64 == -32600 })
        await wire.sendLine(echo("5"))
        #expect(await wire.line() == reply("5"))
        connection.close()
    }

    @Test func `The number of requests that wait for tasks is limited, and ended ones free their place`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.waitingRequests = 2 })
        for id in ["1", "2"] {
            await wire.sendLine(wait(id, aside: true))
            #expect(try await desk.started.next() == id)
        }
        await wire.sendLine(wait("3", aside: true))
        #expect(try complaint(await wire.line()) == "3 -32600")
        await wire.sendLine(echo("4"))
        #expect(await wire.line() == reply("4"))
        desk.opened.wakeAll()
        #expect(await Set(wire.lines(2)) == [reply("1", #""1""#), reply("2", #""2""#)])
        await wire.sendLine(wait("5", aside: true))
        #expect(try await desk.started.next() == "5")
        #expect(connection.pending.waiting == 1)
        connection.close()
    }

    @Test func `The number of requests that wait for the peer is limited`() async throws {
        let wire = Wire()
        let clock = ManualClock()
        let limits = ConnectionLimits.with { ($0.requests, $0.waitingRequests) = (1, 2) }
        let (connection, _) = try desk.connect(wire, limits: limits, clock: clock)
        await wire.send((1...5).map { inquire($0) + "\n" }.joined())
        #expect(await wire.lines(4) == (1...4).map(question))
        try await laterReply()
        #expect(connection.pending.count == 4)
        for _ in 1...4 { #expect(try await clock.nextSleep() == TestContext.timeout) }
        clock.advance(by: TestContext.timeout)
        #expect(await wire.lines(5).contains(question(5)))
        connection.close()
    }

    @Test func `The bytes of a request that waits for the peer count against the limit`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire, limits: .with { $0.requestBytes = 4000 })
        let padding = String(repeating: " ", count: 3000)
        for id in 1...3 { await wire.sendLine(inquire(id) + padding) }
        #expect(await wire.lines(3) == (1...3).map(question))
        await wire.sendLine(inquire(4))
        try await laterReply()
        #expect(connection.pending.count == 3, "twice the bytes are under way while an answer is outstanding")
        connection.close()
    }

    @Test func `A peer with too much unread output is disconnected at the next notification`() async throws {
        let (wire, other) = (Wire(isNarrow: true), Wire())
        let limits = ConnectionLimits.with { $0.unreadBytes = 100_000 }
        let bystander = TestContext()
        let (healthy, _) = try bystander.connect(other, limits: limits)
        let (connection, ended) = try desk.connect(wire, limits: limits)
        while connection.outlet.outbox.unsent < limits.unreadBytes {
            desk.tell(1)
            await flushed()
        }
        #expect(ended.waiting.isEmpty && connection.overrun == nil, "the bound may be reached")
        desk.show(2)
        await flushed()
        #expect(ended.waiting.isEmpty, "progress costs nothing")
        desk.tell(3)
        try await ended.next()
        #expect(connection.overrun != nil && connection.stream == nil)
        await other.sendLine(echo("1"))
        #expect(await other.line() == reply("1"))
        while await wire.line() != nil {}
        healthy.close()
    }

    @Test func `A peer that has read all output has its full limit again`() async throws {
        let wire = Wire(isNarrow: true)
        let limits = ConnectionLimits.with { $0.unreadBytes = 100_000 }
        let (connection, _) = try desk.connect(wire, limits: limits)
        for _ in 1...3 {
            var told = 0
            while connection.outlet.outbox.unsent < limits.unreadBytes {
                desk.tell(1)
                told += 1
                await flushed()
            }
            #expect(await wire.lines(told).count == told)
            try await until { !connection.outlet.outbox.isBlocked }
        }
        #expect(connection.overrun == nil && connection.outlet.outbox.unsent == 0)
        connection.close()
    }

    @Test func `Ten thousand requests are answered to a client that reads afterwards`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire, limits: .with { $0.unreadBytes = 50_000 })
        async let sent = wire.send((1...10_000).map { echo("\($0)") + "\n" }.joined())
        try await until { connection.outlet.outbox.unsent >= 25_000 }
        try await laterReply()
        #expect(connection.outlet.outbox.unsent < 150_000, "its requests are not read meanwhile")
        #expect(await wire.lines(10_000) == (1...10_000).map { reply("\($0)") })
        _ = await sent
        #expect(connection.overrun == nil)
        connection.close()
    }
}
