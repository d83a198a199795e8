import Platform
import JSONText
import TestSupport
import Testing

@testable import JSONRPC

/// Sends a request to the peer and answers with the response; then waits until the context opens, if `stay` is set.
struct AskPeer: RPCMethod {
    static let name = "inquire"
    let staysAfterwards: Bool

    init(_ params: inout Params) throws(RPCError) { staysAfterwards = try params.optionalBool("stay") ?? false }

    func run(in request: Request<TestContext>) async throws -> JSON {
        let desk = request.context
        let word = try await request.whileWaitingForPeer { try await desk.ask() }
        guard staysAfterwards else { return word }
        desk.started.deliver(word.text)
        try await desk.opened.wait()
        return word
    }
}

extension TestContext {
    static let timeout = Duration.seconds(7)

    func ask() async throws -> JSON {
        guard let peer else { throw PeerRequestError.disconnected }
        return try await peer.request("word", ["language": "en"], timeout: Self.timeout)
    }

    /// The result of the outgoing request, as text.
    func asking() -> Task<String, Never> {
        Task { @Loop in
            do { return try await ask().text } catch let error as RPCError { return error.json.text } catch {
                return "\(error)"
            }
        }
    }
}

/// The service's first request is number 1.
func question(_ number: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(questionID(number)),"method":"word","params":{"language":"en"}}"#
}

func response(_ number: Int, _ result: String = "1") -> String { reply("\(questionID(number))", result) }

/// The id is larger than those of clients, and fits 31 bits.
private func questionID(_ number: Int) -> Int { 1_073_741_823 + number }

func inquire(_ id: Int, stay: Bool = false) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"inquire","params":{"stay":\#(stay)}}"#
}

@Loop @Suite(.watchdog(minutes: 10)) struct OutgoingRequestTests {
    let desk = TestContext()
    let wire = Wire()

    @Test(arguments: [
        (#""result":{"a":[1]}"#, #"{"a":[1]}"#), (#""result":null"#, "null"),
        (#""result":1,"error":null"#, "1"), (#""result":null,"error":null"#, "null"),
        (#""error":{"code":-5,"message":"no"}"#, #"{"code":-5,"message":"no"}"#),
        (#""error":{"code":-5,"message":"no","data":[1]},"result":null"#, #"{"code":-5,"message":"no","data":[1]}"#),
    ])
    func `The result is the response of the peer`(said: String, expected: String) async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        await wire.sendLine(#"{"jsonrpc":"2.0","id":1073741824,\#(said)}"#)
        #expect(await answer.value == expected)
        #expect(connection.outgoingRequests.isEmpty)
        connection.close()
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1073741824}"#, #"{"id":1073741824,"result":1}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"error":null}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"result":1,"error":{"code":1,"message":""}}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"error":"no"}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"error":{"code":1.5,"message":"no"}}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"error":{"code":1}}"#, #"{"jsonrpc":"2.0","id":1073741824,"error":{}}"#,
        #"{"jsonrpc":"2.0","id":1073741824,"error":{"code":99999999999999999999,"message":"no"}}"#,
    ])
    func `A malformed response fails only its own request`(said: String) async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        let other = desk.asking()
        _ = await wire.lines(2)
        await wire.sendLine(said)
        #expect(await answer.value == "malformedResponse")
        await wire.sendLine(response(2))
        #expect(await other.value == "1")
        await wire.sendLine(echo("1"))
        #expect(await wire.line() == reply("1"), "nothing is said about it")
        connection.close()
    }

    @Test func `Responses may arrive in any order, also in batches`() async throws {
        let (connection, _) = try desk.connect(wire)
        let answers = (1...4).map { _ in desk.asking() }
        #expect(await wire.lines(4) == (1...4).map(question))
        await wire.sendLine(response(4, "40"))
        await wire.sendLine("[\(response(3, "30")),\(echo("1")),\(response(1, "10")),\(response(1, "11"))]")
        #expect(await wire.line() == "[\(reply("1"))]")
        await wire.sendLine("[\(response(2, "20"))]")
        var heard: [String] = []
        for answer in answers { heard.append(await answer.value) }
        #expect(heard == ["10", "20", "30", "40"])
        await wire.sendLine(echo("2"))
        #expect(await wire.line() == reply("2"))
        connection.close()
    }

    @Test(arguments: [
        #""1073741824""#, "1", "1073741825", "0", "-1", "1073741824.5", "null", "99999999999999999999",
    ])
    func `A response with another id is ignored`(id: String) async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        await wire.sendLine(reply(id, "5"))
        await wire.sendLine(response(1, "6"))
        #expect(await answer.value == "6")
        connection.close()
    }

    @Test func `A request of the peer may have the id of an outgoing request`() async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        await wire.sendLine(echo("1073741824"))
        #expect(await wire.line() == reply("1073741824"))
        await wire.sendLine(response(1, "6"))
        #expect(await answer.value == "6")
        connection.close()
    }

    @Test func `A request times out, and a later answer is ignored`() async throws {
        let clock = ManualClock()
        let (connection, _) = try desk.connect(wire, clock: clock)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        #expect(try await clock.nextSleep() == TestContext.timeout)
        clock.advance(by: TestContext.timeout)
        #expect(await answer.value == "timedOut")
        #expect(connection.outgoingRequests.isEmpty)
        await wire.sendLine(response(1, "6"))
        let next = desk.asking()
        #expect(await wire.line() == question(2))
        await wire.sendLine(response(2, "7"))
        #expect(await next.value == "7")
        connection.close()
    }

    @Test func `A cancelled request throws immediately, and leaves no entry`() async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        #expect(await wire.line() == question(1))
        answer.cancel()
        #expect(await answer.value == "CancellationError()")
        #expect(connection.outgoingRequests.isEmpty)
        await wire.sendLine(inquire(1))
        #expect(await wire.line() == question(2))
        await wire.sendLine(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
        #expect(try complaint(await wire.line()) == "1 -32800")
        #expect(connection.outgoingRequests.isEmpty)
        await wire.sendLine(response(2, "7"))
        await wire.sendLine(echo("2"))
        #expect(await wire.line() == reply("2"))
        connection.close()
    }

    @Test func `A cancelled task sends no request`() async throws {
        let (connection, _) = try desk.connect(wire)
        let answer = desk.asking()
        answer.cancel()
        #expect(await answer.value == "CancellationError()")
        await wire.sendLine(echo("1"))
        #expect(await wire.line() == reply("1"))
        connection.close()
    }

    @Test func `A request to a slow reader is kept, behind older notifications`() async throws {
        let wire = Wire(isNarrow: true)
        let (connection, _) = try desk.connect(wire)
        while !connection.outlet.outbox.isBlocked {
            desk.tell(1)
            await flushed()
        }
        desk.show(2)
        let answer = desk.asking()
        var line = await wire.line()
        while line?.contains("told") == true { line = await wire.line() }
        #expect(line?.contains("shown") == true)
        #expect(await wire.line() == question(1))
        await wire.sendLine(response(1, "6"))
        #expect(await answer.value == "6")
        connection.close()
    }

    @Test func `A request is framed as the peer frames its own`() async throws {
        let (connection, _) = try desk.connect(wire)
        await wire.send("Content-Length: \(echo("1").utf8.count)\r\n\r\n\(echo("1"))")
        let expected = "Content-Length: \(reply("1").utf8.count)\r\n\r\n\(reply("1"))"
        #expect(await wire.bytes(expected.utf8.count) == expected)
        let answer = desk.asking()
        let asked = "Content-Length: \(question(1).utf8.count)\r\n\r\n\(question(1))"
        #expect(await wire.bytes(asked.utf8.count) == asked)
        await wire.send("Content-Length: \(response(1).utf8.count)\r\n\r\n\(response(1))")
        #expect(await answer.value == "1")
        connection.close()
    }
}
