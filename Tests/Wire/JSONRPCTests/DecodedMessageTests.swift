import TestSupport
import JSONText
import Testing

@testable import JSONRPC

@Suite(.watchdog) struct DecodedMessageTests {
    @Test(arguments: [
        "1", "0", "-1", "-0", "99999999999999999999", "9007199254740993", "-99999999999999999999999999", #""""#,
        #""a""#, #""1""#, #""\u0000""#, #""\"\\""#, #""é😀""#, "null", #""null""#, #""1.5""#, "1.0", "1e3", "1E3",
        "-1.0", "0.0", "8.0", "150e-1", "1e400",
    ])
    func `An id is returned as it was sent`(id: String) throws {
        let message = try parse(#"{"jsonrpc":"2.0","id":\#(id),"method":"m"}"#)
        guard case .call(let found?, let method, _) = decode(message) else { return #expect(Bool(false)) }
        #expect(found.text == id && method == "m")
    }

    @Test func `Ids with different literals are different`() throws {
        let ids = try ["1", #""1""#, "null", #""null""#, "-0", "0", "\"\u{E9}\"", "\"e\u{301}\""].map {
            RequestID(try parse($0))
        }
        #expect(ids.allSatisfy { id in ids.count { $0 == id } == 1 })
    }

    @Test(arguments: ["1.5", "-1.5", "1e-3", "1E-400", "0.1", "true", "false", "[]", "[1]", "{}"])
    func `Other ids are refused with the id null`(id: String) throws {
        let message = try parse(#"{"jsonrpc":"2.0","id":\#(id),"method":"m"}"#)
        guard case .invalid(.null, let error) = decode(message) else { return #expect(Bool(false)) }
        #expect(error.code == -32600 && error.message.contains("id"))
    }

    private static let table: [(String, String)] = [
        (#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1 m"),
        (#"{"jsonrpc":"2.0","id":1,"method":""}"#, "request 1 "),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","extra":1}"#, "request 1 m"),
        (#"{"jsonrpc":"2.0","method":"m"}"#, "notification m"),
        (#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "request null m"),
        (#"{"id":1,"method":"m"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"1.0","id":"x","method":"m"}"#, #"invalid "x" -32600"#),
        (#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":null,"id":1,"method":"m"}"#, "invalid 1 -32600"),
        (#"{"method":"m"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":1}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":1}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":null}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, "invalid null -32600"),
        (#"{}"#, "invalid null -32600"), ("1", "invalid null -32600"), ("null", "invalid null -32600"),
        (#""m""#, "invalid null -32600"), ("[]", "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":1,"result":1}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#, "request 1 m"),
        (#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, "invalid null -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{"a":1}}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","extra":{"a":1,"a":2}}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":1}}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[0,{"b":{"k":1,"\u006b":2}}]}}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"é":1,"e\u0301":1}}"#, "request 1 m"),
        (#"{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":2}}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, "invalid 1 -32602"),
        (#"{"jsonrpc":"2.0","method":"m","params":[1]}"#, "ignored"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":1}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#, "invalid 1 -32600"),
        (#"{"jsonrpc":"2.0","id":1,"method":"m","params":true}"#, "invalid 1 -32600"),
    ]

    @Test func `Every JSON value has one interpretation as a message`() throws {
        for (text, expected) in Self.table {
            #expect(try describe(decode(parse(text))) == expected, "\(text)")
        }
    }

    @Test(arguments: ["", #","params":null"#, #","params":{}"#, #","params":[]"#])
    func `Absent params can be written in four forms`(params: String) throws {
        let message = try parse(#"{"jsonrpc":"2.0","id":1,"method":"m"\#(params)}"#)
        guard case .call(_?, _, let call) = decode(message) else { return #expect(Bool(false)) }
        _ = try call.get()
    }

    /// All methods are known and take no params.
    private func decode(_ message: JSON) -> DecodedMessage {
        DecodedMessage(Envelope(message)) { _, params throws(RPCError) in
            try params.finish()
            return PreparedCall(.prompt { .value(.null) })
        }
    }

    private func describe(_ incoming: DecodedMessage) -> String {
        switch incoming {
        case .call(let id?, let method, _): "request \(id.text) \(method)"
        case .call(nil, let method, _): "notification \(method)"
        case .ignored: "ignored"
        case .cancellation: "cancellation"
        case .answer(_, _, let otherwise), .refused(_, let otherwise): describe(otherwise)
        case .invalid(let id, let error): "invalid \(id.text) \(error.code)"
        }
    }
}
