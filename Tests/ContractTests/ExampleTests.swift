import JSONText
import JSONRPC
import Synchronization
import TestSupport
import Testing

/// One example of a method in `protocol/openrpc.json`.
struct Example: Sendable, CustomTestStringConvertible {
    let method: JSON
    let json: JSON

    var name: String { method["name"]?.string ?? "" }
    var testDescription: String { "\(name): \(json["name"]?.string ?? "")" }

    var params: [JSON.Member] {
        json["params"]?.array?.map { .init(key: $0["name"]?.string ?? "", value: $0["value"] ?? .null) } ?? []
    }

    /// The preceding messages, the request and its answer. Later messages are not compared.
    var transcript: Transcript {
        get throws {
            let before = json["x-before"]?.array?.compactMap(\.string) ?? []
            return try Transcript(testDescription, (directives + before + exchange).joined(separator: "\n"))
        }
    }

    private var directives: [String] { name.hasPrefix("harness/") ? ["@harness"] : [] }

    private var exchange: [String] {
        guard let result = json["result"]?["value"] else { return [">> " + request(params).text] }
        let answer: JSON = ["jsonrpc": "2.0", "id": "example", "result": result]
        return [">> " + request(params, id: "example").text, "<< " + answer.text, "<<* \"<any>\""]
    }

    func request(_ params: [JSON.Member], id: JSON? = nil) -> JSON {
        var members: [JSON.Member] = [.init(key: "jsonrpc", value: "2.0")]
        if let id { members.append(.init(key: "id", value: id)) }
        members.append(.init(key: "method", value: .string(name)))
        if !params.isEmpty { members.append(.init(key: "params", value: .object(params))) }
        return .object(members)
    }

    static let all: [Example] = ((try? ContractDocument(withHarness: ()))?.methods ?? []).flatMap { method in
        method["examples"]?.array?.map { Example(method: method, json: $0) } ?? []
    }
}

/// Every example of the contract is played, and its answer compared.
@Suite(.watchdog) struct ExampleTests {
    @Test(arguments: Example.all) func `Every example is answered as written`(_ example: Example) async throws {
        let transcript = try example.transcript
        let watch = ContractWatch(try ContractDocument(withHarness: ()))
        try await TranscriptPlayer.play(transcript, check: watch.look) { directory in
            // Only the program itself has remote engines.
            let depth = TranscriptDepth.allCases.first(where: transcript.isMeant) ?? .process
            return try depth.stage(transcript, directory)
        }
    }

    @Test func `rpc.discover returns the whole contract`() async throws {
        let answer = try await answer(to: ["jsonrpc": "2.0", "id": 1, "method": "rpc.discover"])
        #expect(try answer["result"] == ContractDocument().json)
    }
}

/// The answer of a new service to a request.
func answer(to request: JSON) async throws -> JSON {
    let answer = Answer()
    let transcript = try Transcript("a request", ">> \(request.text)\n<<* \"<any>\"")
    try await TranscriptPlayer.play(transcript, check: { said, message in if !said { answer.note(message) } }) {
        try TranscriptDepth.process.stage(transcript, $0)
    }
    return try #require(answer.message)
}

private final class Answer: Sendable {
    private let heard = Mutex<JSON?>(nil)

    var message: JSON? { heard.withLock { $0 } }

    func note(_ message: JSON) {
        if message["id"] != nil { heard.withLock { $0 = message } }
    }
}
