import JSONText
import TestSupport
import Testing

@testable import JSONRPC

/// A message read without a tree of it says what its tree says.
@Suite(.watchdog) struct EnvelopeTests {
    private static let pieces = [
        #""jsonrpc":"2.0""#, #""jsonrpc" : "1.0""#, #""jsonrpc":2"#, #""id":1"#, #""id": -0.5e3 "#, #""id":"a\u0041é""#,
        #""id":null"#,
        #""id":[1]"#, #""method":"service/ping""#, #""method":"a\"b""#, #""method":7"#, #""params":{}"#,
        #""params":[]"#,
        #""params":null"#, #""params":{"a":{"b":[1,true,"x"]},"c":"é"}"#, #""params":{"a":1,"a":2}"#,
        #""params":{"a":[[[[[0]]]]]}"#, #""result":{"a":1}"#, #""error":{"code":1,"message":"no"}"#, #""extra":1"#,
        #""\u0069d":2"#, #""method":"\q""#, #""id":01"#, #""id""#, #""params":{"a":"\#u{1}"}"#, "",
    ]
    private static let ends = ["{|}", " {|} \n", "{|", "{|}}", "{|,}", "[{|}]", "{ | }x"]

    @Test(arguments: UInt64(1)...4)
    func `Messages made of random members mean what their trees mean`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var (limits, plain) = (ConnectionLimits(), 0)
        (limits.nesting, limits.messageValues, limits.batchMessages) = (5, 9, 3)
        let decoder = MessageDecoder(limits) { method, params throws(RPCError) in
            throw RPCError(code: 1, message: "\(method) \(params)")
        }
        for _ in 0..<4000 {
            let members = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                Self.pieces.randomElement(using: &random) ?? ""
            }
            let end = Self.ends.randomElement(using: &random) ?? "|"
            let text = Array(end.replacing("|", with: members.joined(separator: ",")).utf8)
            let (short, whole, isPlain) = text.withUnsafeBytes { bytes in
                (
                    "\(decoder.decode(short: bytes))", "\(decoder.decode(bytes, of: text[...]))",
                    Envelope(reading: bytes, limits) != nil
                )
            }
            if isPlain { plain += 1 }
            // A batch is kept in another form.
            if !end.hasPrefix("[") { #expect(short == whole, "\(String(decoding: text, as: UTF8.self))") }
        }
        #expect(plain > 100)
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"m"}"#, #"{"method":"m","params":{"a":[1,{}]},"id":"x","jsonrpc":"2.0"}"#,
        #" { "jsonrpc" : "2.0" , "method" : "é\n" } "#, #"{"jsonrpc":"2.0","id":1,"result":null}"#, "{}",
    ])
    func `A plain message needs no tree`(text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { Envelope(reading: $0, ConnectionLimits()) } != nil)
    }
}
