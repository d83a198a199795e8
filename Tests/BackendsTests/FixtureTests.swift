import HTTP
import JSONText
import TestSupport
import Testing

/// Tests of what other tests rely on.
@Suite(.timeLimit(.minutes(1))) struct FixtureTests {
    let fixture: StorageFixture
    let client = HTTPClient(environment: HTTPEnvironment { _ in nil })
    private let bytes = pattern(600_000)

    init() throws { fixture = try StorageFixture() }

    private func send(
        _ method: String, _ path: String, _ headers: HTTPHeaders = [:], _ body: [UInt8]? = nil
    ) async throws(HTTPError) -> HTTPResponse {
        let url = path.hasPrefix("/") ? fixture.url + path : path
        return try await client.perform(
            HTTPRequest(method, url, headers: headers, body: body.map { .bytes($0) } ?? .none))
    }

    // MARK: Firebase

    /// The address of a new session.
    private func start(_ name: String = "a%2Fb", total: Int? = 600_000) async throws -> String {
        var headers: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        headers["X-Goog-Upload-Header-Content-Length"] = total.map(String.init)
        let answer = try await send("POST", "/v0/b/box/o?name=\(name)", headers, Array(#"{"contentType":"x/y"}"#.utf8))
        #expect(answer.status == 200 && answer.headers["X-Goog-Upload-Status"] == "active" && answer.body.isEmpty)
        #expect(answer.headers["X-Goog-Upload-Chunk-Granularity"] == "262144")
        return try #require(answer.headers["X-Goog-Upload-URL"])
    }

    private func command(
        _ words: String, _ url: String, _ range: Range<Int>? = nil
    ) async throws(HTTPError) -> HTTPResponse {
        var headers: HTTPHeaders = ["X-Goog-Upload-Command": words]
        headers["X-Goog-Upload-Offset"] = range.map { "\($0.lowerBound)" }
        return try await send("POST", url, headers, range.map { Array(bytes[$0]) })
    }

    @Test func `Firebase takes chunks, tells how many, and stores the object`() async throws {
        let url = try await start()
        let first = try await command("upload", url, 0..<262_144)
        #expect(first.status == 200 && first.headers["X-Goog-Upload-Status"] == "active")
        let query = try await command("query", url)
        #expect(query.headers["X-Goog-Upload-Size-Received"] == "262144" && query.body.isEmpty)
        let last = try await command("upload, finalize", url, 262_144..<600_000)
        #expect(last.headers["X-Goog-Upload-Status"] == "final" && fixture.bytes("box", "a/b") == bytes)
        let metadata = try JSON(parsing: String(decoding: last.body, as: UTF8.self))
        #expect(metadata == fixture.metadata("box", "a/b") && metadata["contentType"] == "x/y")
        #expect(metadata["size"] == "600000" && metadata["contentDisposition"] == "inline; filename*=utf-8''b")
        let after = try await command("query", url)
        #expect(after.headers["X-Goog-Upload-Size-Received"] == "600000" && after.body == last.body)
        #expect(fixture.log.sessions.map(\.state) == [.final] && fixture.log.resentPersistedBytes == 0)
        #expect(fixture.requests.map(\.kind) == [.start, .chunk, .query, .finalize, .query])
        #expect(try await command("upload, finalize", url, 262_144..<600_000).status == 400)
    }

    @Test func `Firebase refuses what is out of place, and the session goes on`() async throws {
        let url = try await start()
        #expect(try await command("upload", url, 0..<262_143).status == 400)
        let wrong = try await command("upload", url, 1..<262_145)
        #expect(wrong.status == 400 && wrong.headers["X-Goog-Upload-Status"] == nil)
        #expect(String(decoding: wrong.body, as: UTF8.self) == "Client uploaded to the wrong offset (1 instead of 0).")
        #expect(try await command("upload, finalize", url, 0..<262_144).status == 400)
        #expect(try await command("upload", url, 0..<262_144).status == 400)
        #expect(fixture.log.resentPersistedBytes == 262_144)
        #expect(try await command("upload, finalize", url, 262_144..<600_000).status == 200)
        #expect(try await command("query", url.replacing("upload_id=", with: "upload_id=x")).status == 404)
        let other = try await start("c", total: nil)
        #expect(try await command("cancel", other).headers["X-Goog-Upload-Status"] == "cancelled")
        let query = try await command("query", other)
        #expect(query.status == 200 && query.headers["X-Goog-Upload-Status"] == "cancelled")
        #expect(query.headers["X-Goog-Upload-Size-Received"] == nil && fixture.log.cancelledSessions.count == 1)
        #expect(try await command("upload", other, 0..<262_144).status == 400)
    }

    // MARK: GCS

    private func startGCS(_ total: Int? = 600_000, query: String = "") async throws -> String {
        var headers: HTTPHeaders = ["X-Upload-Content-Type": "x/y"]
        headers["X-Upload-Content-Length"] = total.map(String.init)
        let path = "/upload/storage/v1/b/box/o?uploadType=resumable&name=a%2Fb" + query
        return try #require(try await send("POST", path, headers).headers["Location"])
    }

    private func put(_ url: String, _ contentRange: String, _ range: Range<Int>? = nil) async throws -> HTTPResponse {
        try await send("PUT", url, ["Content-Range": contentRange], range.map { Array(bytes[$0]) })
    }

    @Test func `GCS takes chunks, tells how many, and stores the object`() async throws {
        let url = try await startGCS()
        let none = try await put(url, "bytes */600000")
        #expect(none.status == 308 && none.headers["Range"] == nil)
        let first = try await put(url, "bytes 0-262143/600000", 0..<262_144)
        #expect(first.status == 308 && first.headers["Range"] == "bytes=0-262143")
        let again = try await put(url, "bytes 0-262143/600000", 0..<262_144)
        #expect(again.status == 308 && again.headers["Range"] == "bytes=0-262143")
        #expect(try await put(url, "bytes 524288-599999/600000", 524_288..<600_000).status == 503)
        #expect(try await put(url, "bytes 262144-262150/600000", 262_144..<262_151).status == 400)
        #expect(try await put(url, "bytes 262144-524287/*", 262_144..<524_288).status == 308)
        let last = try await put(url, "bytes 262144-599999/600000", 262_144..<600_000)
        #expect(last.status == 200 && fixture.bytes("box", "a/b") == bytes)
        #expect(fixture.log.resentPersistedBytes == 524_288)
        let metadata = try JSON(parsing: String(decoding: last.body, as: UTF8.self))
        #expect(metadata == fixture.metadata("box", "a/b", as: .gcs) && metadata["kind"] == "storage#object")
        #expect(try await put(url, "bytes */*").status == 200)
    }

    @Test func `GCS ends sessions, and knows empty objects and conditions`() async throws {
        let gone = try await startGCS()
        #expect(try await send("DELETE", gone).status == 499)
        #expect(try await put(gone, "bytes */600000").status == 410)
        fixture.cancelledStatus = 404
        #expect(try await send("DELETE", gone).status == 404)
        let empty = try await startGCS(0, query: "&ifGenerationMatch=0")
        #expect(try await put(empty, "bytes */0").status == 200)
        let path = "/upload/storage/v1/b/box/o?uploadType=media&name=a%2Fb&ifGenerationMatch="
        #expect(try await send("POST", path + "0", [:], [1]).status == 412)
        let generation = try #require(fixture.metadata("box", "a/b")?["generation"]?.string)
        #expect(generation.count == 16)
        #expect(try await send("POST", path + generation, [:], [1]).status == 200)
        let object = "/storage/v1/b/box/o/a%2Fb"
        #expect(try await send("DELETE", object + "?ifGenerationMatch=" + generation).status == 412)
        #expect(try await send("DELETE", object).status == 204 && fixture.objects.isEmpty)
        let missing = try await send("GET", object)
        let error = try JSON(parsing: String(decoding: missing.body, as: UTF8.self))["error"]
        #expect(missing.status == 404 && error?["message"] == "No such object: box/a/b")
        #expect(error?["errors"]?.array?.first?["reason"] == "notFound")
    }
}

private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }
