import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// The protocols of the fixture that other tests use.
@Suite(.watchdog(minutes: 10)) struct FixtureTests {
    let user: FixtureUser
    var fixture: StorageFixture { user.fixture }

    init() throws { user = try FixtureUser() }

    @Test func `The Firebase dialect receives chunks, reports the offset and stores the object`() async throws {
        let url = try await user.start()
        let first = try await user.command("upload", url, 0..<262_144)
        #expect(first.status == 200 && first.headers["X-Goog-Upload-Status"] == "active")
        let query = try await user.command("query", url)
        #expect(query.headers["X-Goog-Upload-Size-Received"] == "262144" && query.body.isEmpty)
        let last = try await user.command("upload, finalize", url, 262_144..<600_000)
        #expect(last.headers["X-Goog-Upload-Status"] == "final" && fixture.bytes("box", "a/b") == user.bytes)
        let metadata = try last.json
        #expect(metadata == fixture.metadata("box", "a/b") && metadata["contentType"] == "x/y")
        #expect(metadata["size"] == "600000" && metadata["contentDisposition"] == "inline; filename*=utf-8''b")
        let after = try await user.command("query", url)
        #expect(after.headers["X-Goog-Upload-Size-Received"] == "600000" && after.body == last.body)
        #expect(fixture.log.sessions.map(\.state) == [.final] && fixture.log.resentPersistedBytes == 0)
        #expect(fixture.requests.map(\.kind) == [.start, .chunk, .query, .finalize, .query])
        #expect(try await user.command("upload, finalize", url, 262_144..<600_000).status == 400)
    }

    @Test func `The Firebase dialect refuses wrong offsets, and the session continues`() async throws {
        let url = try await user.start()
        #expect(try await user.command("upload", url, 0..<262_143).status == 400)
        let wrong = try await user.command("upload", url, 1..<262_145)
        #expect(wrong.status == 400 && wrong.headers["X-Goog-Upload-Status"] == nil)
        #expect(wrong.text == "Client uploaded to the wrong offset (1 instead of 0).")
        #expect(try await user.command("upload, finalize", url, 0..<262_144).status == 400)
        #expect(try await user.command("upload", url, 0..<262_144).status == 200)
        #expect(try await user.command("upload", url, 0..<262_144).status == 400)
        #expect(fixture.log.resentPersistedBytes == 262_144)
        #expect(try await user.command("upload, finalize", url, 262_144..<600_000).status == 200)
        #expect(try await user.command("query", url.replacing("upload_id=", with: "upload_id=x")).status == 404)
        let other = try await user.start("c", total: nil)
        #expect(try await user.command("cancel", other).headers["X-Goog-Upload-Status"] == "cancelled")
        let query = try await user.command("query", other)
        #expect(query.status == 200 && query.headers["X-Goog-Upload-Status"] == "cancelled")
        #expect(query.headers["X-Goog-Upload-Size-Received"] == nil && fixture.log.cancelledSessions.count == 1)
        #expect(try await user.command("upload", other, 0..<262_144).status == 400)
    }

    @Test func `The GCS dialect receives chunks, reports the offset and stores the object`() async throws {
        let url = try await user.startGCS()
        let none = try await user.put(url, "bytes */600000")
        #expect(none.status == 308 && none.headers["Range"] == nil)
        let first = try await user.put(url, "bytes 0-262143/600000", 0..<262_144)
        #expect(first.status == 308 && first.headers["Range"] == "bytes=0-262143")
        let again = try await user.put(url, "bytes 0-262143/600000", 0..<262_144)
        #expect(again.status == 308 && again.headers["Range"] == "bytes=0-262143")
        #expect(try await user.put(url, "bytes 524288-599999/600000", 524_288..<600_000).status == 503)
        #expect(try await user.put(url, "bytes 262144-262150/600000", 262_144..<262_151).status == 400)
        #expect(try await user.put(url, "bytes 262144-524287/*", 262_144..<524_288).status == 308)
        let last = try await user.put(url, "bytes 262144-599999/600000", 262_144..<600_000)
        #expect(last.status == 200 && fixture.bytes("box", "a/b") == user.bytes)
        #expect(fixture.log.resentPersistedBytes == 524_288)
        let metadata = try last.json
        #expect(metadata == fixture.metadata("box", "a/b", as: .gcs) && metadata["kind"] == "storage#object")
        #expect(try await user.put(url, "bytes */*").status == 200)
    }

    @Test func `The GCS dialect cancels sessions, stores empty objects and checks preconditions`() async throws {
        let gone = try await user.startGCS()
        #expect(try await user.send("DELETE", gone).status == 499)
        #expect(try await user.put(gone, "bytes */600000").status == 410)
        fixture.cancelledStatus = 404
        #expect(try await user.send("DELETE", gone).status == 404)
        let empty = try await user.startGCS(0, query: "&ifGenerationMatch=0")
        #expect(try await user.put(empty, "bytes */0").status == 200)
        let path = "/upload/storage/v1/b/box/o?uploadType=media&name=a%2Fb&ifGenerationMatch="
        #expect(try await user.send("POST", path + "0", [:], [1]).status == 412)
        let generation = try #require(fixture.metadata("box", "a/b")?["generation"]?.string)
        #expect(generation.count == 16)
        #expect(try await user.send("POST", path + generation, [:], [1]).status == 200)
        let object = "/storage/v1/b/box/o/a%2Fb"
        #expect(try await user.send("DELETE", object + "?ifGenerationMatch=" + generation).status == 412)
        #expect(try await user.send("DELETE", object).status == 204 && fixture.objects.isEmpty)
        let missing = try await user.send("GET", object)
        let error = try missing.json["error"]
        #expect(missing.status == 404 && error?["message"] == "No such object: box/a/b")
        #expect(error?["errors"]?.array?.first?["reason"] == "notFound")
    }
}
