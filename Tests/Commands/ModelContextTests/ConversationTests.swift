import JSONText
import ModelContext
import Platform
import TestSupport
import Testing

/// Raw messages of both generations, and their answers. No service can be reached.
@Loop @Suite(.watchdog) struct ConversationTests {
    @Loop private final class Client {
        private(set) var said: [JSON] = []
        private var conversation: Conversation?

        init(_ change: (inout Permissions) -> Void = { _ in }) {
            var permissions = Permissions(root: "/root", engine: "embedded", version: "1")
            change(&permissions)
            conversation = Conversation(permissions, time: TimeSource(clock: ManualClock())) { [weak self] in
                self?.said.append($0)
            } connect: { () throws(Unreachable) in
                throw Unreachable("no service in this test")
            }
        }

        /// The messages that answer a line immediately.
        func say(_ line: String) -> [JSON] {
            said = []
            Array(line.utf8).withUnsafeBytes { conversation?.receive($0) }
            return said
        }

        func ask(_ method: String, _ params: String = "{}") -> JSON {
            say(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#).first ?? .null
        }

        func shake(_ version: String = "2025-11-25") -> JSON {
            ask(
                "initialize",
                #"{"protocolVersion":"\#(version)","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#)
        }
    }

    /// The params of a stateless request.
    private static func stateless(_ more: String = "", version: String = "2026-07-28") -> String {
        let keys =
            #""io.modelcontextprotocol/protocolVersion":"\#(version)","io.modelcontextprotocol/clientCapabilities":{}"#
        return #"{"_meta":{\#(keys)}\#(more.isEmpty ? "" : "," + more)}"#
    }

    // MARK: - Negotiation

    @Test(arguments: [
        ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("1.0", "2025-11-25"),
    ])
    func `A handshake agrees on the version of the client, or else on the newest that has handshakes`(
        wanted: String, agreed: String
    ) {
        let result = Client().shake(wanted)["result"]
        #expect(result?["protocolVersion"]?.string == agreed)
        #expect(result?["serverInfo"]?["name"] == "storage-rpc" && result?["resultType"] == nil)
        #expect(result?["instructions"]?.string?.contains("/root") == true)
    }

    @Test func `A client that tries server/discover first can still shake hands with the same process`() {
        let client = Client()
        let unknown = client.ask("server/discover", Self.stateless(version: "2027-01-01"))["error"]
        #expect(unknown?["code"] == -32022 && unknown?["data"]?["requested"] == "2027-01-01")
        #expect(
            unknown?["data"]?["supported"]
                == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
        let found = client.ask("server/discover", Self.stateless())["result"]
        #expect(found?["supportedVersions"] == ["2026-07-28"] && found?["resultType"] == "complete")
        #expect(found?["_meta"]?["io.modelcontextprotocol/serverInfo"]?["name"] == "storage-rpc")
        #expect(client.shake()["result"]?["protocolVersion"] == "2025-11-25")
        #expect(client.ask("tools/list")["result"]?["resultType"] == nil)
        #expect(client.ask("tools/list", Self.stateless())["result"]?["resultType"] == "complete")
    }

    @Test func `Each request says which generation applies`() {
        let client = Client()
        #expect(client.ask("ping")["result"] == [:])
        let early = client.ask("tools/list")["error"]
        #expect(early?["code"] == -32602)
        #expect(early?["message"]?.string?.contains("io.modelcontextprotocol/protocolVersion") == true)
        let half = client.ask("tools/list", #"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#)[
            "error"]
        #expect(half?["code"] == -32602 && half?["message"]?.string?.contains("clientCapabilities") == true)
        for method in ["ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"] {
            #expect(client.ask(method, Self.stateless())["error"]?["code"] == -32601, "\(method)")
        }
        _ = client.shake()
        for method in ["server/discover", "subscriptions/listen", "prompts/list", "tasks/get"] {
            #expect(client.ask(method)["error"]?["code"] == -32601, "\(method)")
        }
        #expect(client.say(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).isEmpty)
    }

    @Test func `Stateless lists say how long they may be kept`() {
        let client = Client()
        for method in ["tools/list", "resources/templates/list", "server/discover"] {
            let result = client.ask(method, Self.stateless())["result"]
            #expect(result?["ttlMs"]?.number?.int64 == 0 && result?["cacheScope"] == "private", "\(method)")
        }
    }

    // MARK: - Framing

    @Test(arguments: [
        ("{", Int64(-32700), JSON?.none), ("nul", -32700, nil), (#"{"jsonrpc":"2.0","id":1}"#, -32600, 1),
        ("1", -32600, nil),
        (#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, nil),
        (#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, nil),
        (#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, nil),
        (#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, 7), (#"{"id":7,"method":"ping"}"#, -32600, 7),
        (#"{"jsonrpc":"2.0","id":"a","method":1}"#, -32600, "a"),
        (#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600, nil),
        (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602, 1),
        (#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, nil), ("[]", -32600, nil),
    ])
    func `A malformed message is answered with an error, and ends nothing`(line: String, code: Int64, id: JSON?) {
        let client = Client()
        let answers = client.say(line)
        #expect(answers.count == 1 && answers[0]["error"]?["code"]?.number?.int64 == code, "\(answers)")
        #expect(answers.first?["id"] == id)
        #expect(client.ask("ping")["result"] == [:])
    }

    @Test(arguments: ["1", "0", "-7", "123456789012345678901234567890", #""""#, #""é""#, "1e2"])
    func `Ids come back as they were`(id: String) {
        let answer = Client().say(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#).first
        #expect(answer?["id"]?.text == id)
    }

    @Test func `Responses and unknown notifications are ignored`() {
        let client = Client()
        #expect(client.say(#"{"jsonrpc":"2.0","id":1,"result":{}}"#).isEmpty)
        #expect(client.say(#"{"jsonrpc":"2.0","id":1,"error":{}}"#).isEmpty)
        #expect(client.say(#"{"jsonrpc":"2.0","method":"notifications/unknown","params":[]}"#).isEmpty)
        #expect(client.say(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#).isEmpty)
    }

    @Test func `Batches belong to the one revision that has them`() {
        let client = Client()
        _ = client.shake("2025-03-26")
        let ping = #"{"jsonrpc":"2.0","id":"p","method":"ping"}"#
        let note = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
        let answers = client.say("[\(ping),\(note),7,{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"none\"}]")
        #expect(answers.count == 1 && answers[0].array?.count == 3)
        #expect(answers[0].array?.map { $0["error"]?["code"]?.number?.int64 } == [nil, -32600, -32601])
        #expect(client.say("[\(note)]").isEmpty)
        #expect(client.say("[]").first?["error"]?["code"] == -32600)
        _ = client.shake("2025-06-18")
        #expect(client.say("[\(ping)]").first?["error"]?["code"] == -32600)
    }

    // MARK: - Tools

    private static let always = ["list_objects", "read_object", "object_info", "list_transfers"]

    private static func names(_ client: Client) -> [String] {
        client.ask("tools/list", stateless())["result"]?["tools"]?.array?.compactMap { $0["name"]?.string } ?? []
    }

    @Test func `There are four tools without flags, and thirteen with all of them`() {
        #expect(Self.names(Client()) == Self.always)
        #expect(Self.names(Client { $0.writable = ["/w"] }) == Self.always + ["download", "control_transfer"])
        #expect(Self.names(Client { $0.readable = ["/r"] }) == Self.always)
        let changes = [
            "write_object", "copy_objects", "move_objects", "delete_objects", "set_metadata", "share_url",
            "control_transfer",
        ]
        #expect(Self.names(Client { $0.allowsChanges = true }) == Self.always + changes)
        let all = Client { ($0.allowsChanges, $0.readable, $0.writable) = (true, ["/r"], ["/w"]) }
        #expect(Self.names(all) == Self.always + ["download", "upload"] + changes)
    }

    /// Whether each value of a schema is one that a metaschema takes, with one type, and each object has members.
    private static func isStrict(_ schema: JSON) -> Bool {
        guard let members = schema.object, schema["type"]?.string != nil else { return false }
        let known: Set = [
            "type", "properties", "required", "additionalProperties", "description", "items", "enum", "minimum",
            "maximum",
        ]
        return members.allSatisfy { member in
            guard known.contains(member.key) else { return false }
            return switch member.key {
            case "properties":
                member.value.object?.isEmpty == false
                    && member.value.object?.allSatisfy { isStrict($0.value) } == true
            case "items": isStrict(member.value)
            case "additionalProperties": member.value == false || isStrict(member.value)
            case "minimum", "maximum": member.value.number?.int64 != nil
            case "required", "enum": member.value.array?.isEmpty == false
            default: member.value.string?.isEmpty == false
            }
        }
    }

    @Test(arguments: [
        (false, false, false), (true, false, false), (true, true, false), (false, false, true), (true, true, true),
    ])
    func `The schemas of the tools are those that strict hosts take`(
        changes: Bool, reads: Bool, writes: Bool
    ) throws {
        let client = Client {
            ($0.allowsChanges, $0.readable, $0.writable) = (changes, reads ? ["/r"] : [], writes ? ["/w"] : [])
        }
        let list = try #require(client.ask("tools/list", Self.stateless())["result"]?["tools"])
        #expect(list.text.utf8.count < 20_000, "\(list.text.utf8.count)")
        for word in ["$ref", "anyOf", "oneOf", "allOf", "$schema", "null"] {
            #expect(!list.text.contains("\"\(word)\""))
        }
        for tool in list.array ?? [] {
            let name = tool["name"]?.string ?? ""
            #expect(name.utf8.count <= 20 && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
            #expect(tool["title"]?.string != nil && tool["annotations"]?.object?.count == 5, "\(name)")
            let input = tool["inputSchema"]
            #expect(input?["type"] == "object" && input?["additionalProperties"] == false, "\(name)")
            #expect(input?["properties"]?.object?.isEmpty == false, "\(name)")
            for property in input?["properties"]?.object ?? [] {
                #expect(property.value["type"]?.string != nil && property.value["description"]?.string != nil)
            }
            #expect((tool["outputSchema"] == nil) == (name == "read_object"), "\(name)")
            #expect(input.map(Self.isStrict) == true, "\(input?.text ?? name)")
            #expect(tool["outputSchema"].map(Self.isStrict) ?? true, "\(name)")
        }
    }

    @Test(arguments: [
        (#"{"reference":"gs://b/a","maximum":1}"#, "maximum"), (#"{"reference":7}"#, "reference"), ("{}", "reference"),
        (#"{"reference":"gs://b/a","offset":-1}"#, "offset"), (#"{"reference":"gs://b/a","length":1e9}"#, "length"),
        (#"{"reference":"b/a"}"#, "reference"), (#"{"reference":"gs://b"}"#, "reference"), ("[]", "arguments"),
    ])
    func `What a model can mend is a sentence that names the argument`(arguments: String, name: String) {
        let result = Client().ask(
            "tools/call", Self.stateless(#""name":"read_object","arguments":\#(arguments)"#))["result"]
        #expect(result?["isError"] == true && result?["structuredContent"] == nil)
        #expect(result?["content"]?.array?.first?["text"]?.string?.contains(name) == true, "\(result?.text ?? "")")
    }

    @Test func `Errors of the protocol are for unknown tools and malformed requests`() {
        let client = Client()
        for params in [#""name":"none""#, #""name":7"#, #""name":"upload""#, ""] {
            #expect(client.ask("tools/call", Self.stateless(params))["error"]?["code"] == -32602)
        }
        #expect(client.ask("tools/list", Self.stateless(#""cursor":"x""#))["error"]?["code"] == -32602)
    }

    @Test func `Tokens of the client's own texts are not repeated`() {
        let client = Client { ($0.allowsChanges, $0.readable) = (true, ["/r"]) }
        let secret = "f902155a-a328-4575-b0eb-094e6f1dcf73"
        let url = "https://firebasestorage.googleapis.com/v0/b/b/o/x?alt=media&token=\(secret)"
        for (method, params) in [
            ("tools/call", #""name":"upload","arguments":{"path":"\#(url)","reference":"gs://b/q"}"#),
            ("tools/call", #""name":"read_object","arguments":{"reference":"\#(url)"}"#),
            ("tools/call", #""name":"read_object","arguments":{"\#(url)":1}"#), ("tools/call", #""name":"\#(url)""#),
            ("resources/read", #""uri":"\#(url)""#), (url, ""),
        ] {
            let answer = client.ask(method, Self.stateless(params)).text
            #expect(!answer.contains(secret) && answer.contains("(…)"), "\(answer)")
        }
    }

    @Test func `A service that cannot be reached is a sentence for the model`() async throws {
        let said = Mail<JSON>()
        let conversation = Conversation(
            Permissions(root: "/root", engine: "embedded", version: "1"), time: TimeSource(clock: ManualClock())
        ) {
            said.deliver($0)
        } connect: { () throws(Unreachable) in
            throw Unreachable("the root is locked.")
        }
        let line =
            #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":\#(Self.stateless(#""name":"list_objects""#))}"#
        Array(line.utf8).withUnsafeBytes { conversation.receive($0) }
        let result = try await said.next()["result"]
        #expect(result?["isError"] == true)
        #expect(
            result?["content"]?.array?.first?["text"]?.string == "The service cannot be reached: the root is locked.")
    }

    // MARK: - The service

    /// A conversation with a service that the test plays.
    private func converse(
        _ wire: Wire, _ said: Mail<JSON>, _ clock: ManualClock = ManualClock()
    ) throws -> Conversation {
        let socket = try #require(wire.takeServer())
        return Conversation(
            Permissions(root: "/root", engine: "embedded", version: "1"), time: TimeSource(clock: clock)
        ) {
            said.deliver($0)
        } connect: { () throws(Unreachable) in
            socket
        }
    }

    private static func call(_ id: Int) -> [UInt8] {
        let params = stateless(#""name":"list_objects""#)
        return Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":\#(params)}"#.utf8)
    }

    /// Answers the next request of the conversation. Returns the request.
    private func answer(_ wire: Wire, _ result: String) async throws -> JSON {
        let request = try parse(try #require(await wire.line()))
        await wire.sendLine(#"{"jsonrpc":"2.0","id":\#(request["id"]?.text ?? ""),"result":\#(result)}"#)
        return request
    }

    @Test func `A call fails whose service does not confine the connection`() async throws {
        let (wire, said) = (Wire(), Mail<JSON>())
        let conversation = try converse(wire, said)
        Self.call(1).withUnsafeBytes { conversation.receive($0) }
        let hello = try await answer(wire, #"{"server":{"version":"0.0.9"}}"#)
        #expect(hello["method"] == "initialize" && hello["params"]?["readOnly"] == true)
        #expect(hello["params"]?["allowRead"] == [] && hello["params"]?["allowWrite"] == [])
        let result = try await said.next()["result"]
        let sentence = result?["content"]?.array?.first?["text"]?.string ?? ""
        #expect(result?["isError"] == true && sentence.contains("0.0.9") && sentence.contains("service/stop"))
    }

    @Test(arguments: [
        ("tools/call", #""name":"list_objects""#), ("resources/read", #""uri":"gs://b/a""#), ("resources/list", ""),
        (
            "completion/complete",
            #""ref":{"type":"ref/resource","uri":"gs://{bucket}/{+object}"},"argument":{"name":"bucket","value":""}"#
        ),
        ("subscriptions/listen", #""notifications":{"resourceSubscriptions":["gs://b/a"]}"#),
    ])
    func `A request without an answer of the service is answered after fifty seconds`(
        method: String, params: String
    ) async throws {
        let (wire, said, clock) = (Wire(), Mail<JSON>(), ManualClock())
        let conversation = try converse(wire, said, clock)
        let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(Self.stateless(params))}"#
        Array(line.utf8).withUnsafeBytes { conversation.receive($0) }
        _ = try await answer(wire, #"{"rights":{"readOnly":true}}"#)
        _ = try #require(await wire.line())
        while try await clock.nextSleep() != .seconds(50) {}
        clock.advance(by: .seconds(51))
        let answer = try await said.next()
        #expect(answer["id"] == 1 && answer.text.contains("stopped after 50 s"), "\(answer.text)")
        #expect((answer["result"]?["isError"] == true) == (method == "tools/call"))
        #expect((answer["error"]?["code"] == -32603) == (method != "tools/call"))
        #expect(conversation.pending == 0)
    }

    @Test func `A cancelled call has no answer, and the next one has`() async throws {
        let (wire, said) = (Wire(), Mail<JSON>())
        let conversation = try converse(wire, said)
        Self.call(1).withUnsafeBytes { conversation.receive($0) }
        _ = try await answer(wire, #"{"rights":{"readOnly":true}}"#)
        let first = try parse(try #require(await wire.line()))
        Array(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.utf8)
            .withUnsafeBytes { conversation.receive($0) }
        #expect(conversation.pending == 0)
        Self.call(2).withUnsafeBytes { conversation.receive($0) }
        let second = try await answer(wire, #"{"buckets":["b","a"]}"#)
        await wire.sendLine(#"{"jsonrpc":"2.0","id":\#(first["id"]?.text ?? ""),"result":{"buckets":[]}}"#)
        #expect(second["method"] == "storage/buckets")
        let answer = try await said.next()
        #expect(answer["id"] == 2 && answer["result"]?["structuredContent"]?["prefixes"] == ["gs://a/", "gs://b/"])
        #expect(said.waiting.isEmpty)
    }
}
