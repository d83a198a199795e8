import JSONText
import TestSupport
import Testing

@testable import CommandLine

@Suite(.watchdog) struct RelayedSessionTests {
    private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"service/ping"}"#

    /// The session after the bytes of a client and those of its service, which come in pieces of one byte.
    private func session(_ client: String, _ service: String = "", ends: Bool = true) -> RelayedSession {
        var session = RelayedSession()
        func read(_ text: String, ends: Bool, _ each: (JSON?) -> Void, _ long: () -> Void) -> Bool {
            var messages = RelayedMessages()
            for byte in text.utf8 {
                guard withUnsafeBytes(of: byte, { messages.read($0, each, long: long) }) else { return false }
            }
            return !ends || messages.read(UnsafeRawBufferPointer(start: nil, count: 0), each, long: long)
        }
        if !read(client, ends: ends, { session.hear($0) }, { session.skip() }) { session.end() }
        _ = read(service, ends: true) {
            session.answer($0)
        } _: {
            session.skip()
        }
        return session
    }

    private func framed(_ text: String, _ hasHeaders: Bool) -> String {
        hasHeaders ? "Content-Length: \(text.utf8.count)\r\n\r\n\(text)" : text + "\n"
    }

    @Test(arguments: [false, true])
    func `Requests are counted by their ids, in batches too, and notifications and answers are not`(hasHeaders: Bool) {
        let client = [
            Self.ping, #"[{"id":"1","method":"a"},{"id":1.0,"method":"a"},{"method":"b"},{"id":7,"result":1}]"#,
            #"{"id":null,"method":"a"}"#,
        ].map { framed($0, hasHeaders) }.joined()
        #expect(session(client).unanswered == 4 && session(client).status == nil)
        let some = [#"{"id":7,"method":"auth/refreshToken"}"#, #"[{"id":1,"result":1},{"id":"1","error":{}}]"#]
        #expect(session(client, some.map { framed($0, hasHeaders) }.joined()).unanswered == 2)
        let all = some + [#"{"method":"event"}"#, #"{"id":null,"error":{}}"#, #"{"id":1.0,"result":1}"#]
        let answered = session(client, all.map { framed($0, hasHeaders) }.joined())
        #expect(answered.unanswered == 0 && answered.status == 0)
        #expect(session(client, all.map { framed($0, hasHeaders) }.joined(), ends: false).status == nil)
    }

    @Test func `The client ends the session with exit, with the end of its input, and with a stop that is answered`() {
        func message(_ members: String) -> String { "{\"jsonrpc\":\"2.0\",\(members)}\n" }
        let (shutdown, exit) = (message(#""id":2,"method":"shutdown""#), message(#""method":"exit","params":[]"#))
        let (stop, stopped) = (message(#""id":3,"method":"service/stop""#), message(#""id":3,"result":null"#))
        let stops = message(#""method":"service/stop","params":{}"#)
        let refused = ["exit", "service/stop"].map { message(#""method":"\#($0)","params":{"a":1}"#) }.joined()
        let badShutdown = message(#""id":2,"method":"shutdown","params":[1]"#)
        let confined = message(#""id":1,"result":{"protocolVersion":1,"rights":{}}"#)
        for (client, service, status) in [
            (exit, "", 1), (shutdown + exit, "", 0), (exit + shutdown, "", 1), (shutdown, "", nil), (stop, "", nil),
            (stop, stopped, 0), (stop + exit, stopped, 0), (exit + stop, stopped, 1), ("", "", nil),
            (stop, #"{"id":3,"error":{"code":-13021}}"# + "\n", nil), ("[\(Self.ping),\(exit.dropLast())]\n", "", 1),
            (stops, "", 0), (stops + exit, "", 0), (exit + stops, "", 1), (stops, confined, nil),
            (shutdown + stops, "", nil), (refused + #"{"method":"exit"}"# + "\n", "", nil),
            (badShutdown + exit, "", 1), (stops + exit, confined, 1),
        ] as [(String, String, Int32?)] {
            #expect(session(client, service, ends: false).status == status, "\(client)\(service)")
        }
        #expect(session("").status == 0 && session(Self.ping).status == nil)
    }

    @Test(arguments: [false, true])
    func `The count of requests is not known after a message that is too long to be read`(hasManyValues: Bool) {
        let long = String(repeating: hasManyValues ? "[0]," : " ", count: hasManyValues ? 140_000 : 8 << 20)
        let (request, answer) = (#"{"id":1,"method":"a"}"#, #"{"id":1,"result":1}"#)
        let (heard, said) = (#"{"params":[\#(long)0],"method":"a"}"#, #"{"id":2,"result":[\#(long)0]}"#)
        for (client, service, unanswered) in [
            (heard, "", 0), (heard, said, 0), (request + "\n" + heard, answer, 0), (request, said, 0),
            (request, #"{"id":"storage-rpc connect 0","result":1}"#, 1), (request, #"{"method":"event"}"#, 1),
        ] {
            var session = RelayedSession()
            for (text, isClient) in [(client, true), (service, false)] {
                var messages = RelayedMessages()
                _ = Array((text + "\n").utf8).withUnsafeBytes { bytes in
                    messages.read(bytes) {
                        isClient ? session.hear($0) : session.answer($0)
                    } long: {
                        session.skip()
                    }
                }
            }
            #expect(session.unanswered == unanswered, "\(client.prefix(60)) \(service.prefix(60))")
            session.end()
            #expect(session.status == (unanswered == 0 ? 0 : nil))
        }
    }

    @Test(arguments: ["{", "5", "[]", #"{"a":1}"#, #"{"id":1.5,"method":"a"}"#])
    func `The service owes an error for a message that it refuses, and other requests are still counted`(wrong: String)
    {
        let refusal = #"{"id":null,"error":{"code":-32700}}"# + "\n"
        #expect(session(wrong).unanswered == 1 && session(wrong).status == nil)
        #expect(session(wrong, refusal).unanswered == 0 && session(wrong, refusal).status == 0)
        let both = "\(wrong)\n\(Self.ping)\n"
        #expect(session(both, refusal).unanswered == 1 && session(both, refusal).status == nil)
        #expect(session(both, refusal + #"{"id":1,"result":"pong"}"#).status == 0)
    }

    @Test func `A refusal without an id of a message that can be read leaves no count`() {
        let refused = session("[\(Self.ping)]", #"{"id":null,"error":{"code":-32600}}"#)
        #expect(refused.unanswered == 0 && refused.status == 0)
        let full = #"{"id":null,"error":{"code":-13013,"message":"No room.","data":{"name":"quotaExceeded"}}}"#
        #expect(session("", full).status == nil && session("", full).refusal == "No room.")
        #expect(session("Content-Length: x\r\n\r\n", ends: false).status == 0)
    }
}
