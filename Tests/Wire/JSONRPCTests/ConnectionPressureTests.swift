import JSONText
import Platform
import TestSupport
import Testing

@testable import JSONRPC

@Loop @Suite(.watchdog(minutes: 10)) struct ConnectionPressureTests {
    let desk = TestContext()

    @Test func `Admission limits a flood of slow requests`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire)
        let count = ConnectionLimits().requests * 2
        let flood = (0..<count).map { wait("\($0)") + "\n" }.joined()
        async let sent = wire.send(flood)
        for number in 0..<ConnectionLimits().requests { #expect(try await desk.started.next() == "\(number)") }
        try await laterReply()
        #expect(desk.running == ConnectionLimits().requests && desk.started.waiting.isEmpty)
        async let answers = wire.lines(count)
        var started = ConnectionLimits().requests
        desk.opened.wakeAll()
        while started < count {
            _ = try await desk.started.next()
            started += 1
            desk.opened.wakeAll()
        }
        #expect(await answers.count == count)
        #expect(desk.mostRunning <= ConnectionLimits().requests)
        _ = await sent
        connection.close()
    }

    @Test func `Requests that wait for tasks do not close admission`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(wire)
        let count = ConnectionLimits().requests * 2
        async let sent = wire.send((0..<count).map { wait("\($0)", aside: true) + "\n" }.joined())
        for _ in 0..<count { _ = try await desk.started.next() }
        _ = await sent
        await wire.sendLine(echo("1"))
        #expect(await wire.line() == reply("1"))
        desk.opened.wakeAll()
        #expect(await wire.lines(count).count == count)
        connection.close()
    }

    @Test func `Large messages close admission by their bytes`() async throws {
        let wire = Wire()
        let (connection, _) = try desk.connect(
            wire, limits: .with { $0.messageBytes = ConnectionLimits().requestBytes * 2 })
        let padding = repeated(" ", ConnectionLimits().requestBytes)
        await wire.sendLine(wait("1") + padding)
        _ = try await desk.started.next()
        async let sent: Void = wire.sendLine(wait("2"))
        try await laterReply()
        #expect(desk.running == 1 && desk.started.waiting.isEmpty)
        desk.opened.wakeAll()
        #expect(try await desk.started.next() == "2")
        desk.opened.wakeAll()
        #expect(await wire.lines(2) == [reply("1", #""1""#), reply("2", #""2""#)])
        await sent
        connection.close()
    }

    @Test func `A slow reader uses little memory and gets the newest progress`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        var highest = 0
        for number in 1...50_000 {
            desk.show(number)
            if number % 100 == 0 { await flushed() }
            highest = max(highest, connection.outlet.outbox.unsent)
        }
        desk.tell(50_001)
        await flushed()
        #expect(highest < 64 << 10)
        var heard: [Int64] = []
        while heard.last != 50_001, let line = await wire.line() {
            heard.append(try #require(try parse(line)["params"]?["number"]?.number?.int64))
        }
        #expect(heard.suffix(2) == [50_000, 50_001])
        #expect(heard == heard.sorted() && heard.count < 10_000)
        connection.close()
    }

    @Test(arguments: [false, true])
    func `A reply does not overtake older notifications`(inBatch: Bool) async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        while !connection.outlet.outbox.isBlocked {
            desk.tell(1)
            await flushed()
        }
        for number in 2...4 { desk.show(number) }
        await wire.sendLine(inBatch ? "[\(echo("3"))]" : echo("3"))
        try await until { connection.pending.lastNumber > 0 && connection.pending.isEmpty }
        var line = await wire.line()
        while line?.contains("told") == true { line = await wire.line() }
        #expect(line == #"{"jsonrpc":"2.0","method":"shown","params":{"number":4}}"#)
        #expect(await wire.line() == (inBatch ? "[\(reply("3"))]" : reply("3")))
        connection.close()
    }

    @Test func `Notifications other than progress are all kept for a slow reader`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        for number in 0..<2000 {
            desk.tell(number)
            if number % 100 == 0 { await flushed() }
        }
        #expect(connection.outlet.outbox.unsent > 0)
        for number in 0..<2000 {
            #expect(await wire.line() == #"{"jsonrpc":"2.0","method":"told","params":{"number":\#(number)}}"#)
        }
        connection.close()
    }

    @Test func `The connection stops reading from a peer that reads no answers`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, ended) = try desk.connect(wire, limits: .with { $0.messageBytes = 4 << 20 })
        let big = echo("1", "\"" + String(repeating: "x", count: 1 << 20) + "\"") + "\n"
        let sender = Task { @Loop in
            var sent = 0
            while await wire.send(big) == big.utf8.count { sent += 1 }
            return sent
        }
        try await until { connection.outlet.outbox.unsent >= 64 << 20 }
        try await laterReply()
        #expect(connection.outlet.outbox.unsent < 80 << 20)
        wire.vanish()
        #expect(await sender.value < 100)
        try await ended.next()
    }

    @Test func `Large answers wait until the peer has taken others`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        let bulk = (0..<80).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"bulk"}"# + "\n" }.joined()
        await wire.send(bulk)
        try await openWhenAllHaveStarted(80)
        try await until { connection.outlet.outbox.unsent >= 64 << 20 }
        try await laterReply()
        #expect(connection.outlet.outbox.unsent < 66 << 20)
        let waiting = connection.pending.count
        #expect(waiting > 0)
        _ = await wire.line()
        try await until { connection.pending.count != waiting }
        #expect(connection.outlet.outbox.unsent < 66 << 20)
        connection.close()
        #expect(connection.stream == nil)
        try await until { connection.pending.isEmpty }
    }

    @Test func `A batch of large answers is refused beyond the limit`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        let bulk = (0..<80).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"bulk"}"# }.joined(separator: ",")
        await wire.sendLine("[\(bulk)]")
        try await openWhenAllHaveStarted(80)
        try await until { connection.outlet.outbox.unsent > 0 }
        #expect((63 << 20..<66 << 20).contains(connection.outlet.outbox.unsent))
        connection.close()
    }

    private func openWhenAllHaveStarted(_ count: Int) async throws {
        for _ in 0..<count { _ = try await desk.started.next() }
        desk.opened.wakeAll()
    }
}
