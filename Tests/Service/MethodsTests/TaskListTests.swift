import Platform
import JSONRPC
import JSONText
import Storage
import TestSupport
import Testing

/// Lists of many tasks over a connection.
@Loop @Suite(.watchdog) struct TaskListTests {
    private let scene = TestService(ScriptedBackend()), wire = Wire()

    @Test func `A request behind a long list does not wait until the list is encoded`() async throws {
        let connection = scene.serve(try #require(wire.takeServer()))
        try await wire.startUploads(100, ["reference": "gs://b/a", "text": "x"])
        let (isHeld, isFree) = (Signal(), Signal())  // the thread that encodes answers
        defer { isFree.fire() }
        async let other = SegmentedBytes.encode { text in
            isHeld.fire()
            isFree.block()
            text.add(verbatim: "{}")
        }
        try await isHeld.happened()
        await wire.send(
            #"{"jsonrpc":"2.0","id":"list","method":"uploadTask/list"}"# + "\n"
                + #"{"jsonrpc":"2.0","id":"ping","method":"service/ping"}"# + "\n")
        #expect(try await JSON(line: wire.lines(1)[0])["id"] == "ping")
        isFree.fire()
        #expect(try await JSON(line: wire.lines(1)[0])["result"]?["tasks"]?.array?.count == 100)
        #expect(await other.json == [:])
        connection.close()
    }

    @Test func `A page of large tasks ends at 4 MiB`() async throws {
        let connection = scene.serve(try #require(wire.takeServer()))
        let text = JSON.string(String(repeating: "x", count: 8000))
        let properties = ContentProperty.allCases.map { JSON.Member(key: $0.rawValue, value: text) }
        let metadata = JSON.object(properties + [.init(key: "customMetadata", value: ["a": text])])
        try await wire.startUploads(100, ["reference": "gs://b/a", "text": "x", "metadata": metadata])
        let first = try await wire.ask("uploadTask/list", ["maxResults": 1000])
        #expect((4 << 20) - 50_000...4 << 20 ~= first.bytes)
        let token = try #require(first.answer["result"]?["pageToken"])
        let rest = try await wire.ask("uploadTask/list", ["maxResults": 1000, "pageToken": token]).answer
        let counts = [first.answer, rest].map { $0["result"]?["tasks"]?.array?.count ?? 0 }
        #expect(counts.reduce(0, +) == 100 && rest["result"]?["pageToken"] == nil)
        connection.close()
    }
}

extension Wire {
    /// Sends a request, and returns its answer with its length. Parses a long answer off the loop, which all tests share.
    @concurrent func ask(_ method: String, _ params: JSON) async throws -> (answer: JSON, bytes: Int) {
        await sendLine(request(method, params))
        let line = try #require(await line())
        return (try JSON(line: line), line.utf8.count)
    }

    /// Sends the same upload many times, and returns when each is answered: a round trip for each of them would
    /// wait for the loop, which other tests keep busy.
    @concurrent func startUploads(_ count: Int, _ params: JSON) async throws {
        async let sent = send(String(repeating: request("reference/putData", params) + "\n", count: count))
        let answers = await lines(count)
        #expect(answers.count == count && answers.allSatisfy { $0.contains(#""result":"#) })
        _ = await sent
    }

    private func request(_ method: String, _ params: JSON) -> String {
        (["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params] as JSON).text
    }
}

extension JSON {
    init(line: String) throws { self = try Array(line.utf8).withUnsafeBytes { try JSON(parsing: $0) } }
}
