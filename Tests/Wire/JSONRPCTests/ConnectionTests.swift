import JSONText
import Platform
import TestSupport
import Testing

@testable import JSONRPC

@Loop @Suite(.watchdog(minutes: 10)) struct ConnectionTests {
    let desk = TestContext()
    let wire = Wire()

    @Test func `Ten thousand requests are answered before any answer is read`() async throws {
        let (connection, _) = try desk.connect(wire)
        let count = 10_000
        async let sent = wire.send((0..<count).map { echo("\($0)") + "\n" }.joined())
        // The pipe is full of answers before the last request arrives: the answers wait, and none is lost.
        #expect(await wire.lines(count) == (0..<count).map { reply("\($0)") })
        _ = await sent
        connection.close()
    }

    @Test func `Errors of every kind have their code`() async throws {
        let (connection, _) = try desk.connect(wire)
        let table = [
            ("{", "null -32700"), ("[1,]", "null -32700"), ("nonsense", "null -32700"), ("\u{FEFF}{}", "null -32700"),
            ("1", "null -32600"), ("{}", "null -32600"), ("[]", "null -32600"),
            (#"{"jsonrpc":"2.0","id":7,"method":"nothing"}"#, "7 -32601"),
            (#"{"jsonrpc":"2.0","id":7,"method":"echo"}"#, "7 -32602"),
            (#"{"jsonrpc":"2.0","id":7,"method":"echo","params":{"value":1,"odd":2}}"#, "7 -32602"),
            (#"{"jsonrpc":"2.0","id":7,"method":"wait","params":{"name":5}}"#, "7 -32602"),
            (#"{"jsonrpc":"2.0","id":7,"method":"fail"}"#, "7 -32603"),
        ]
        for (message, expected) in table {
            await wire.sendLine(message)
            #expect(try complaint(await wire.line()) == expected, "\(message)")
        }
        desk.isShut = true
        await wire.sendLine(echo("8"))
        #expect(try complaint(await wire.line()) == "8 -32600")
        desk.isShut = false
        await wire.sendLine(echo("9"))
        #expect(await wire.line() == reply("9"))
        connection.close()
    }

    @Test func `No line separator of Unicode is in what a connection writes`() async throws {
        let (connection, _) = try desk.connect(wire)
        let (raw, escaped) = ("\"a\u{2028}b\u{2029}c\u{85}\"", #""a\u2028b\u2029c\u0085""#)
        await wire.sendLine(echo(raw, "{\(raw):[\(raw)]}"))
        #expect(await wire.line() == reply(escaped, "{\(escaped):[\(escaped)]}"))
        await wire.sendLine("[\(echo(raw, raw))]")
        #expect(await wire.line() == "[\(reply(escaped, escaped))]")
        desk.peer?.notify("told", ["name": "\u{2028}"] as JSON, .always)
        #expect(await wire.line() == #"{"jsonrpc":"2.0","method":"told","params":{"name":"\u2028"}}"#)
        let large = SegmentedBytes(writing: { text in text.add("\u{2028}") })
        #expect(large.segments.joined().elementsEqual(#""\u2028""#.utf8))
        connection.close()
    }

    @Test func `Notifications and answers are never answered`() async throws {
        let (connection, _) = try desk.connect(wire)
        for message in [
            #"{"jsonrpc":"2.0","method":"echo","params":{"value":1}}"#, #"{"jsonrpc":"2.0","method":"nothing"}"#,
            #"{"jsonrpc":"2.0","method":"echo"}"#, #"{"jsonrpc":"2.0","method":"echo","params":[1]}"#,
            #"{"jsonrpc":"2.0","method":"fail"}"#, #"{"jsonrpc":"2.0","id":3,"result":null}"#,
            #"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#,
            #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"unknown"}}"#,
            #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.5}}"#, "", "  \r",
        ] { await wire.sendLine(message) }
        await wire.sendLine(echo("1"))
        #expect(await wire.line() == reply("1"))
        connection.close()
    }

    @Test func `Notifications of a request follow its reply`() async throws {
        let (connection, _) = try desk.connect(wire)
        await wire.sendLine(#"{"jsonrpc":"2.0","id":1,"method":"announce"}"#)
        let lines = await wire.lines(4)
        #expect(lines.first == reply("1", #""announced""#))
        for number in 1...3 {
            #expect(lines[number] == #"{"jsonrpc":"2.0","method":"told","params":{"number":\#(number)}}"#)
        }
        connection.close()
    }

    @Test func `A batch is answered as one, and its notifications follow`() async throws {
        let (connection, _) = try desk.connect(wire)
        let note = #"{"jsonrpc":"2.0","method":"echo","params":{"value":1}}"#
        await wire.sendLine("[\(note),\(note)]")
        await wire.sendLine("[1,{},[]]")
        let refused = try parse(try #require(await wire.line()))
        #expect(refused.array?.map { $0["error"]?["code"] } == [-32600, -32600, -32600])
        let announce = #"{"jsonrpc":"2.0","id":"a","method":"announce"}"#
        await wire.sendLine("[\(announce),\(note),\(echo("2")),\(#"{"jsonrpc":"2.0","id":5,"result":1}"#)]")
        #expect(await wire.line() == "[" + reply(#""a""#, #""announced""#) + "," + reply("2") + "]")
        #expect(await wire.lines(3).allSatisfy { $0.contains("told") })
        await wire.sendLine(announce)
        #expect(await wire.line() == reply(#""a""#, #""announced""#))
        connection.close()
    }

    @Test func `Answered requests are released, in a batch or alone`() async throws {
        let (connection, _) = try desk.connect(wire)
        let borrow = #"{"jsonrpc":"2.0","id":1,"method":"borrow"}"#
        let lent = reply("1", #""lent""#)
        for (said, heard) in [(borrow, lent), ("[\(borrow),\(borrow)]", "[\(lent),\(lent)]")] {
            await wire.sendLine(said)
            #expect(await wire.line() == heard)
        }
        await wire.sendLine(echo("2"))
        #expect(await wire.line() == reply("2"))
        #expect(desk.lent.count == 3 && desk.lent.allSatisfy { $0() == nil })
        connection.close()
    }

    @Test func `A batch waits for its slowest request, and later requests overtake it`() async throws {
        let (connection, _) = try desk.connect(wire)
        await wire.sendLine("[\(wait("1")),\(echo("2"))]")
        _ = try await desk.started.next()
        await wire.sendLine(echo("3"))
        #expect(await wire.line() == reply("3"))
        desk.opened.wakeAll()
        #expect(await wire.line() == "[" + reply("2") + "," + reply("1", #""1""#) + "]")
        connection.close()
    }

    @Test func `A batch is completed if the peer disconnects before all its requests have begun`() async throws {
        let (connection, ended) = try desk.connect(wire, limits: .with { $0.requests = 1 })
        let announce = #"{"jsonrpc":"2.0","id":"a","method":"announce"}"#
        await wire.sendLine("[\(announce),\(wait("1")),\(announce)]")
        _ = try await desk.started.next()
        connection.close()
        _ = try await ended.next()
        _ = try await desk.cancelled.next()
        while connection.requests.active > 0 { await Loop.nextIteration() }
        #expect(desk.told == 3)
    }

    @Test func `A cancellation ends only its own request`() async throws {
        let (connection, _) = try desk.connect(wire)
        for id in ["1", #""one""#, "99999999999999999999"] {
            await wire.sendLine(#"{"jsonrpc":"2.0","id":\#(id),"method":"wait","params":{"aside":true}}"#)
            _ = try await desk.started.next()
        }
        await wire.sendLine(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"1"}}"#)
        await wire.sendLine(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99999999999999999999}}"#)
        #expect(try complaint(await wire.line()) == "99999999999999999999 -32800")
        await wire.sendLine(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
        #expect(try complaint(await wire.line()) == "1 -32800")
        desk.opened.wakeAll()
        #expect(await wire.line() == reply(#""one""#, #""""#))
        connection.close()
    }

    @Test func `A batch can cancel one of its own requests`() async throws {
        let (connection, _) = try desk.connect(wire)
        await wire.sendLine(#"[\#(wait("1")),{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]"#)
        let replies = try parse(try #require(await wire.line()))
        #expect(replies.array?.map { $0["error"]?["code"] } == [-32800])
        connection.close()
    }

    @Test func `Replies and notifications use the peer's framing with headers`() async throws {
        let (connection, _) = try desk.connect(wire)
        let message = #"{"jsonrpc":"2.0","id":1,"method":"announce"}"#
        await wire.send("content-length: \(message.utf8.count)\r\nContent-Type: x\r\n\r\n\(message)")
        for expected in [reply("1", #""announced""#)]
            + (1...3).map({
                #"{"jsonrpc":"2.0","method":"told","params":{"number":\#($0)}}"#
            })
        {
            let framed = "Content-Length: \(expected.utf8.count)\r\n\r\n\(expected)"
            #expect(await wire.bytes(framed.utf8.count) == framed)
        }
        connection.close()
    }

    @Test func `Headers that cannot be read end the connection, after the error`() async throws {
        let (_, ended) = try desk.connect(wire)
        await wire.send("Content-Length: x\r\n\r\n{}")
        let head = await wire.line() ?? ""
        #expect(head.hasPrefix("Content-Length: "))
        _ = await wire.line()
        #expect(try complaint(await wire.bytes(1 << 20)) == "null -32600")
        try await ended.next()
    }

    @Test func `A message that is too long or malformed is skipped`() async throws {
        let (connection, _) = try desk.connect(wire, limits: .with { $0.messageBytes = 200 })
        for length in [201, 10_000, 300_000] {
            await wire.sendLine("{" + String(repeating: "x", count: length))
            #expect(try complaint(await wire.line()) == "null -32600")
            await wire.sendLine(echo("1"))
            #expect(await wire.line() == reply("1"))
        }
        await wire.sendLine(echo("2", "\"\\uD80\""))
        #expect(try complaint(await wire.line()) == "null -32700")
        await wire.sendLine(String(repeating: "[", count: 199))
        #expect(try complaint(await wire.line()) == "null -32700")
        await wire.sendLine(echo("3"))
        #expect(await wire.line() == reply("3"))
        connection.close()
    }
}
