import Platform
import JSONText
import Synchronization
import TestSupport
import Testing

@testable import JSONRPC

/// The trace gets the messages of both directions.
@Loop @Suite(.watchdog) struct TraceHookTests {
    private final class Ear: Sendable {
        private let heard = Mutex<[String]>([])
        var all: [String] { heard.withLock { $0 } }
        var trace: TraceHook {
            { speaker, bytes in
                self.heard.withLock { $0.append("\(speaker) " + String(decoding: bytes, as: UTF8.self)) }
            }
        }
    }

    private let ear = Ear(), desk = TestContext(), wire = Wire(isNarrow: true)

    @Test func `The trace gets all messages in order, also malformed ones, without framing`() async throws {
        let (connection, _) = try desk.connect(wire, trace: ear.trace)
        await wire.send(echo("1") + "\r\n\n{]\n[\(echo("2"))]\n")
        let answers = await wire.lines(3)
        connection.close()
        let said = ["client \(echo("1"))", "client {]", "client [\(echo("2"))]"]
        #expect(ear.all.filter { $0.hasPrefix("client") } == said)
        #expect(ear.all.filter { $0.hasPrefix("service") } == answers.map { "service \($0)" })
        #expect(ear.all.firstIndex(of: said[0]) ?? 9 < ear.all.firstIndex(of: "service \(reply("1"))") ?? 0)
    }

    @Test func `Headers are not part of traced messages`() async throws {
        let (connection, _) = try desk.connect(wire, trace: ear.trace)
        let answer = reply("1")
        await wire.send("Content-Length: \(echo("1").utf8.count)\r\n\r\n\(echo("1"))")
        _ = await wire.bytes("Content-Length: \(answer.utf8.count)\r\n\r\n".utf8.count + answer.utf8.count)
        desk.show(1)
        await flushed()
        connection.close()
        let news = #"{"jsonrpc":"2.0","method":"shown","params":{"number":1}}"#
        #expect(ear.all == ["client \(echo("1"))", "service \(answer)", "service \(news)"])
    }

    @Test func `A replaced sample is not traced`() async throws {
        let (connection, _) = try desk.connect(wire, trace: ear.trace)
        let count = 20_000
        for number in 1...count {
            desk.show(number)
            if number % 100 == 0 { await flushed() }
        }
        desk.tell(0)
        await flushed()
        var heard: [String] = []
        while heard.last?.contains("told") != true, let line = await wire.line() { heard.append(line) }
        connection.close()
        let told = ear.all
        #expect(heard.count < count && told.count == heard.count)
        #expect(zip(told, heard).first { $0 != "service \($1)" } == nil)
    }
}
