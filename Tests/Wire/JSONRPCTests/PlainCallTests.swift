import JSONText
import Metrics
import Platform
import Synchronization
import TestSupport
import Testing

@testable import JSONRPC

/// A plain call means what the same message means when it is read in the general way.
@Suite(.watchdog) struct PlainCallTests {
    private static let pieces = [
        #""jsonrpc":"2.0""#, #" "jsonrpc" : "2.0" "#, #""jsonrpc":"2.0""#, #""jsonrpc":"1.0""#, #""jsonrpc":2.0"#,
        #""id":1"#, #""id": -0 "#, #""id":9007199254740993000"#, #""id":"a b/c""#, #""id":"""#, #""id":01"#, #""id":-"#,
        #""id":1.0"#, #""id":1e3"#, #""id":null"#, #""id":"é""#, #""id":"\u0041""#, #""id":-"x""#, #""id":"\#u{7F}""#,
        #""id":"a"#, #""method":"service/ping""#, #""method" :"m""#, #""method":"""#, #""method":"a\"b""#,
        #""method":7"#, #""method":"\#u{1F}""#, #""params":{}"#, #""result":1"#, #""extra":1"#, #""\u0069d":2"#,
        #""Id":1"#, "",
    ]
    private static let ends = ["{|}", "{|}", " {\t|\r} \n", "{|", "{|}}", "{|,}", "[{|}]", "{|}x", "{|\u{0}}"]

    private func decoder(_ limits: ConnectionLimits) -> MessageDecoder {
        MessageDecoder(limits) { method, params throws(RPCError) in
            throw RPCError(code: 1, message: "\(method) \(params)")
        }
    }

    private func meaning(of call: PlainCall) -> String {
        let method = String(decoding: call.method, as: UTF8.self)
        let error = RPCError(code: 1, message: "\(method) \(Params([]))")
        return "\(DecodedInput.message(.call(RequestID(call), method: method, .failure(error))))"
    }

    @Test(arguments: UInt64(1)...4)
    func `Messages made of random members mean what the general way reads`(seed: UInt64) {
        var (random, plain) = (SeededGenerator(state: seed), 0)
        let limits = ConnectionLimits(), decoder = decoder(limits)
        for _ in 0..<10_000 {
            // Each of the three in one of its forms, but often one is something else, is missing, or occurs twice.
            var members = ["jsonrpc", "\"id\"", "method"].map { name in
                Self.pieces.filter { $0.contains(name) }.randomElement(using: &random) ?? ""
            }
            let odd = Int.random(in: 0...7, using: &random), piece = Self.pieces.randomElement(using: &random) ?? ""
            if odd < 3 { members[odd] = piece } else if odd == 3 { members.append(piece) }
            if odd == 4 { members.removeLast() }
            members.shuffle(using: &random)
            let end = Self.ends.randomElement(using: &random) ?? "|"
            let text = Array(end.replacing("|", with: members.joined(separator: ",")).utf8)
            text.withUnsafeBytes { bytes in
                guard let call = PlainCall(reading: bytes, limits) else { return }
                plain += 1
                let general = "\(decoder.decode(short: bytes))"
                #expect(meaning(of: call) == general, "\(String(decoding: text, as: UTF8.self))")
            }
        }
        #expect(plain > 100)
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"m"}"#, #"{"method":"a/b","id":"x-1","jsonrpc":"2.0"}"#,
        #" { "jsonrpc" : "2.0" , "method" : "m", "id" : -12 } "#,
    ])
    func `The usual forms are plain, within the limits`(text: String) {
        var limits = ConnectionLimits()
        (limits.nesting, limits.messageValues) = (1, 4)
        let reads = { (limits: ConnectionLimits) in
            Array(text.utf8).withUnsafeBytes { PlainCall(reading: $0, limits) != nil }
        }
        #expect(reads(limits))
        limits.messageValues = 3
        #expect(!reads(limits))
        (limits.nesting, limits.messageValues) = (0, 4)
        #expect(!reads(limits))
    }

    @Test func `Every prefix of a plain call is something else`() {
        let text = Array(#"{"jsonrpc":"2.0","id":17,"method":"service/ping"}"#.utf8)
        for end in 0..<text.count {
            #expect(text[..<end].withUnsafeBytes { PlainCall(reading: $0, ConnectionLimits()) } == nil)
        }
    }

    /// The same requests, plain and with params, which are never plain.
    @Test(arguments: ["look", "decline", "echo", "fail", "nothing", "announce"], [false, true])
    @Loop func `A method answers a plain call as it answers any other`(method: String, isShut: Bool) async throws {
        let plain = try await conversation(method, isShut, "")
        let general = try await conversation(method, isShut, #","params":{}"#)
        #expect(plain.answers == general.answers)
        #expect(plain.answers.count == 3)
        #expect(plain.counts == general.counts)
        #expect(plain.debug == general.debug && !plain.debug.isEmpty)
        #expect(plain.traced == general.traced.map { $0.replacing(#","params":{}"#, with: "") })
    }

    private struct Conversation {
        let answers: [String?]
        let counts: String
        let debug: [String]
        let traced: [String]
    }

    private final class Notes: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Loop private func conversation(_ method: String, _ isShut: Bool, _ params: String) async throws -> Conversation {
        let desk = TestContext(), wire = Wire(), metrics = ConnectionMetrics(), debug = Notes(), traced = Notes()
        (desk.isShut, desk.sight) = (isShut, { 7 })
        let socket = try #require(wire.takeServer())
        let connection = Connection(
            input: socket, output: socket, table: TestContext.methods, limits: ConnectionLimits(), clock: ManualClock(),
            trace: { traced.add("\($0) " + String(decoding: $1, as: UTF8.self)) },
            debug: { text, _ in debug.add(text) }, metrics: metrics
        ) { _ in }
        connection.serve(desk)
        var answers: [String?] = []
        for id in ["1", #""x y""#, #""a long id that needs memory of its own""#] {
            await wire.sendLine(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)"\#(params)}"#)
            answers.append(await wire.line())
        }
        connection.close()
        // The params are bytes, too.
        metrics.received = 0
        // A plain call has no duration, since it is answered immediately.
        let counts = "\(metrics.families(TestContext.methods.names).filter { $0.kind != .histogram })"
        return Conversation(answers: answers, counts: counts, debug: debug.all, traced: traced.all)
    }
}
