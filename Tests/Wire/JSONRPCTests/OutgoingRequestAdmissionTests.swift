import Platform
import JSONText
import TestSupport
import Testing

@testable import JSONRPC

/// Responses that arrive behind the requests that wait for them.
@Loop @Suite(.watchdog(minutes: 10)) struct OutgoingRequestAdmissionTests {
    let desk = TestContext()
    let wire = Wire()

    @Test func `Requests may wait for responses that arrive behind them`() async throws {
        let (connection, _) = try desk.connect(wire)
        let count = ConnectionLimits().requests * 3
        let all = (1...count).map { inquire($0) } + (1...count).map { response($0, "\($0)") }
        async let sent = wire.send(all.joined(separator: "\n") + "\n")
        let lines = await wire.lines(count * 2)
        #expect(lines.filter { $0.contains("word") } == (1...count).map(question))
        #expect(Set(lines.filter { $0.contains("result") }) == Set((1...count).map { reply("\($0)", "\($0)") }))
        _ = await sent
        #expect(connection.outgoingRequests.isEmpty)
        connection.close()
    }

    @Test func `A request that has its response counts as active again`() async throws {
        let (connection, _) = try desk.connect(wire)
        for number in 1...ConnectionLimits().requests { await wire.sendLine(inquire(number, stay: true)) }
        _ = await wire.lines(ConnectionLimits().requests)
        #expect(connection.pending.admission.isOpen())
        for number in 1...ConnectionLimits().requests { await wire.sendLine(response(number, "\(number)")) }
        for _ in 1...ConnectionLimits().requests { _ = try await desk.started.next() }
        #expect(!connection.pending.admission.isOpen())
        await wire.sendLine(echo("0"))
        try await laterReply()
        desk.opened.wakeAll()
        #expect(await Set(wire.lines(ConnectionLimits().requests + 1)).contains(reply("0")))
        #expect(connection.pending.admission == AdmissionControl(), "all have left")
        connection.close()
    }

    @Test func `Requests that share one response do not block it`() async throws {
        let (connection, _) = try desk.connect(wire)
        let shared = desk.asking()
        #expect(await wire.line() == question(1))
        for number in 1...ConnectionLimits().requests {
            await wire.sendLine(#"{"jsonrpc":"2.0","id":\#(number),"method":"share"}"#)
        }
        for _ in 1...ConnectionLimits().requests { _ = try await desk.started.next() }
        #expect(connection.pending.admission.isOpen())
        await wire.sendLine(response(1, "5"))
        #expect(await shared.value == "5")
        desk.opened.wakeAll()
        #expect(await wire.lines(ConnectionLimits().requests).count == ConnectionLimits().requests)
        connection.close()
    }

    @Test func `A response is read although admission is closed for other reasons`() async throws {
        let (connection, _) = try desk.connect(wire)
        let flood = (1...ConnectionLimits().requests).map { wait("\($0)") + "\n" }.joined()
        await wire.send(flood)
        for _ in 1...ConnectionLimits().requests { _ = try await desk.started.next() }
        await wire.sendLine(wait("0"))
        try await laterReply()
        #expect(desk.started.waiting.isEmpty)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        await wire.sendLine(response(1, "5"))
        #expect(await answer.value == "5")
        #expect(try await desk.started.next() == "0")
        await wire.sendLine(wait("-1"))
        try await laterReply()
        #expect(desk.started.waiting.isEmpty, "the gate is as it was")
        desk.opened.wakeAll()
        #expect(try await desk.started.next() == "-1")
        desk.opened.wakeAll()
        #expect(await wire.lines(ConnectionLimits().requests + 2).count == ConnectionLimits().requests + 2)
        connection.close()
    }

    @Test func `Admission has a limit while a response is outstanding`() async throws {
        let clock = ManualClock()
        let (connection, _) = try desk.connect(wire, clock: clock)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        let count = ConnectionLimits().requests * 2
        async let sent = wire.send((1...count).map { wait("\($0)") + "\n" }.joined() + response(1) + "\n")
        for _ in 1...count { _ = try await desk.started.next() }
        try await laterReply()
        #expect(!connection.outgoingRequests.isEmpty)
        #expect(try await clock.nextSleep() == TestContext.timeout)
        clock.advance(by: TestContext.timeout)
        #expect(await answer.value == "timedOut")
        desk.opened.wakeAll()
        #expect(await wire.lines(count).count == count)
        _ = await sent
        connection.close()
    }
}

/// Waits for the response to a request of another method, until the context opens.
struct Share: ParameterlessMethod {
    static let name = "share"

    func run(in request: Request<TestContext>) async throws -> JSON {
        let desk = request.context
        try await request.whileWaitingForPeer {
            desk.started.deliver("")
            try await desk.opened.wait()
        }
        return nil
    }
}
