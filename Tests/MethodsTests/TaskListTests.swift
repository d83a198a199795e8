import Platform
import JSONRPC
import JSONText
import Storage
import TestSupport
import Testing

/// Lists of many tasks, as clients get them.
@Loop @Suite(.timeLimit(.minutes(5))) struct TaskListTests {
    private let scene = Scene(ScriptedBackend()), wire = Wire()

    @Test func `A request behind a long list does not wait until that is encoded`() async throws {
        let connection = scene.serve(try #require(wire.takeServer()))
        for _ in 1...100 { _ = try await wire.ask("reference/putData", ["reference": "gs://b/a", "text": "x"]) }
        await wire.send(
            #"{"jsonrpc":"2.0","id":"list","method":"uploadTask/list"}"# + "\n"
                + #"{"jsonrpc":"2.0","id":"ping","method":"service/ping"}"# + "\n")
        let answers = try await wire.lines(2).map { try JSON(line: $0) }
        #expect(answers.map { $0["id"] } == ["ping", "list"])
        #expect(answers.last?["result"]?["tasks"]?.array?.count == 100)
        connection.close()
    }

    @Test func `A page of large tasks ends at 4 MiB`() async throws {
        let connection = scene.serve(try #require(wire.takeServer()))
        let text = JSON.string(String(repeating: "x", count: 8000))
        let properties = ContentProperty.allCases.map { JSON.Member(key: $0.rawValue, value: text) }
        let metadata = JSON.object(properties + [.init(key: "customMetadata", value: ["a": text])])
        let put: JSON = ["reference": "gs://b/a", "text": "x", "metadata": metadata]
        for _ in 1...100 { _ = try await wire.ask("reference/putData", put) }
        let first = try await wire.ask("uploadTask/list", ["maxResults": 1000])
        #expect((4 << 20) - 50_000...4 << 20 ~= first["result"]?["tasks"]?.text.utf8.count ?? 0)
        let token = try #require(first["result"]?["pageToken"])
        let rest = try await wire.ask("uploadTask/list", ["maxResults": 1000, "pageToken": token])
        let counts = [first, rest].map { $0["result"]?["tasks"]?.array?.count ?? 0 }
        #expect(counts.reduce(0, +) == 100 && rest["result"]?["pageToken"] == nil)
        connection.close()
    }
}

extension Wire {
    /// The answer to a request.
    func ask(_ method: String, _ params: JSON) async throws -> JSON {
        await sendLine((["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params] as JSON).text)
        return try JSON(line: try #require(await line()))
    }
}

extension JSON {
    init(line: String) throws { self = try Array(line.utf8).withUnsafeBytes { try JSON(parsing: $0) } }
}
