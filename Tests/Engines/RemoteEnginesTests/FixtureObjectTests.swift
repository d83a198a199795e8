import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// The fixture's answers about its objects.
@Suite(.watchdog(minutes: 10)) struct FixtureObjectTests {
    let user: FixtureUser
    var fixture: StorageFixture { user.fixture }

    init() throws { user = try FixtureUser() }

    private func patch(_ path: String, _ body: String) async throws -> HTTPResponse {
        try await user.send("PATCH", path, [:], Array(body.utf8))
    }

    @Test func `A patch changes only the named properties`() async throws {
        let path = "/v0/b/box/o/a"
        try fixture.put([1], "box", "a", metadata: ["cacheControl": "c", "metadata": ["x": "1", "y": "2"]])
        let first = try await patch(path, #"{"metadata":{"x":null,"z":""},"size":7,"cacheControl":null}"#).json
        #expect(first["metadata"] == ["y": "2", "z": ""] && first["size"] == "1" && first["cacheControl"] == nil)
        #expect(first["metageneration"] == "2" && first["downloadTokens"]?.string?.count == 36)
        let second = try await patch(path, #"{"metadata":null,"contentEncoding":null,"downloadTokens":null}"#).json
        #expect(second["metadata"] == nil && second["contentEncoding"] == "identity")
        #expect(second["downloadTokens"] == first["downloadTokens"] && second["etag"] != first["etag"])
        let value = String(repeating: "v", count: 8191)
        #expect(try await patch(path, #"{"metadata":{"k":"\#(value)"}}"#).status == 200)
        #expect(try await patch(path, #"{"metadata":{"kk":"\#(value)"}}"#).status == 400)
        #expect(try await patch(path, "[]").status == 400)
        #expect(try await patch(path + "b", "{}").status == 403)
        #expect(try await patch("/storage/v1/b/box/o/b", "{}").status == 404)
    }

    @Test func `The first request for Firebase metadata creates a download token`() async throws {
        try fixture.put([1], "box", "a", by: .gcs)
        #expect(fixture.metadata("box", "a")?["downloadTokens"] == nil)
        let shown = try await user.send("GET", "/v0/b/box/o/a").json
        #expect(shown["downloadTokens"] != nil && shown["metageneration"] == "2")
        let more = try await user.send("POST", "/v0/b/box/o/a?create_token=true").json["downloadTokens"]?.string
        #expect(more?.split(separator: ",").count == 2)
    }

    @Test func `The fixture serves ranges of an object`() async throws {
        try fixture.put(Array("hello".utf8), "box", "a/%2F+ü", metadata: ["contentType": "t/x"])
        let path = "/v0/b/box/o/a%2F%252F+%C3%BC?alt=media"
        let all = try await user.send("GET", path)
        #expect(all.text == "hello" && all.headers["ETag"] == "\"5d41402abc4b2a76b9719d911017c592\"")
        #expect(all.headers["x-goog-hash"] == "crc32c=mnG7TA==,md5=XUFAKrxLKna5cZ2REBfFkg==")
        #expect(all.headers["Content-Type"] == "t/x" && all.headers["Last-Modified"]?.hasSuffix(" GMT") == true)
        for (range, text) in [("1-2", "el"), ("3-", "lo"), ("-1", "o"), ("0-9", "hello")] {
            let part = try await user.send("GET", path, ["Range": "bytes=\(range)"])
            #expect(part.status == 206 && part.text == text)
        }
        #expect(try await user.send("GET", path, ["Range": "bytes=1-2"]).headers["Content-Range"] == "bytes 1-2/5")
        let beyond = try await user.send("GET", path, ["Range": "bytes=5-"])
        #expect(beyond.status == 416 && beyond.text.contains("InvalidRange"))
        #expect(try await user.send("GET", path, ["Range": "bytes=2-1"]).status == 200)
        #expect(try await user.send("GET", "/v0/b/box/o/%zz").status == 400)
        #expect(try await user.send("GET", "/v0/b/box/o/a/b").status == 404)
    }

    @Test func `Pages count items and prefixes together`() async throws {
        for name in ["l/a", "l/b", "l/c/1", "l/c/2", "l//x", "l/d/", "m"] { try fixture.put([], "box", name) }
        let first = try await user.send("GET", "/v0/b/box/o?prefix=l/&delimiter=/&maxResults=2").json
        #expect(first["items"]?.array?.map { $0["name"] } == ["l/a", "l/b"] && first["prefixes"] == [])
        let token = try #require(first["nextPageToken"]?.string).replacing("=", with: "%3D")
        let second = try await user.send("GET", "/v0/b/box/o?prefix=l/&delimiter=/&maxResults=2&pageToken=\(token)")
            .json
        #expect(second["items"] == [] && second["prefixes"] == ["l/c/", "l/d/"] && second["nextPageToken"] == nil)
        let within = try await user.send("GET", "/v0/b/box/o?prefix=l/d/&delimiter=/").json
        #expect(within["items"] == [] && within["prefixes"] == [])
        #expect(try await user.send("GET", "/v0/b/box/o?prefix=l").status == 400)
        #expect(try await user.send("GET", "/v0/b/box/o?maxResults=0").status == 400)
        let all = try await user.send("GET", "/storage/v1/b/box/o?prefix=l").json
        #expect(all["items"]?.array?.count == 6 && all["prefixes"] == nil && all["kind"] == "storage#objects")
    }

    @Test func `Multipart bodies have two parts`() async throws {
        let path = "/upload/storage/v1/b/box/o?uploadType=multipart"
        let headers: HTTPHeaders = ["Content-Type": "multipart/related; boundary=\"x y\""]
        func body(_ metadata: String, _ rest: String = "Content-Type: t/y\r\n\r\nhello\r\n") -> [UInt8] {
            Array("--x y\r\nContent-Type: application/json\r\n\r\n\(metadata)\r\n--x y\r\n\(rest)--x y--\r\n".utf8)
        }
        let good = #"{"name":"n","md5Hash":"XUFAKrxLKna5cZ2REBfFkg=="}"#
        #expect(try await user.send("POST", path, headers, body(good)).status == 200)
        #expect(fixture.bytes("box", "n") == Array("hello".utf8))
        #expect(fixture.metadata("box", "n", as: .gcs)?["contentType"] == "t/y")
        for broken in [
            body(#"{"name":"n","crc32c":"AAAAAA=="}"#), body(#"{"name":""}"#), body("{"), body(good, "\r\nhello\r\n"),
            body(good, "Content-Type: t/y\r\n\r\nhello\r\n--x y\r\nContent-Type: t/y\r\n\r\n\r\n"),
        ] {
            #expect(try await user.send("POST", path, headers, broken).status == 400)
        }
    }

    @Test func `The fixture checks credentials while they are set`() async throws {
        try fixture.put([1], "box", "a")
        let url = try await user.start()
        fixture.credentials = .init(["Bearer abc"], appCheck: "app")
        #expect(try await user.command("upload", url, 0..<262_144).status == 200)
        fixture.credentials?.coverSessions = true
        #expect(try await user.command("upload", url, 262_144..<524_288).status == 401)
        let path = "/v0/b/box/o/a"
        #expect(try await user.send("GET", path, ["Authorization": "Bearer abc"]).status == 401)
        let full: HTTPHeaders = ["Authorization": "Bearer abc", "X-Firebase-AppCheck": "app"]
        let shown = try await user.send("GET", path, full)
        #expect(shown.status == 200)
        let token = try #require(try shown.json["downloadTokens"]?.string)
        #expect(try await user.send("GET", path + "?alt=media&token=" + token).status == 200)
        #expect(try await user.send("GET", path + "?alt=media&token=x").status == 403)
        let refused = try await user.send("GET", "/storage/v1/b/box/o/a", ["Authorization": "Bearer old"])
        #expect(try refused.status == 401 && refused.json["error"]?["errors"]?.array?.first?["reason"] == "authError")
    }

    @Test func `A bucket that does not exist is a 404`() async throws {
        let fixture = try StorageFixture(buckets: ["box"])
        let client = HTTPClient.direct
        for (path, status) in [("/v0/b/box/o", 200), ("/v0/b/tub/o", 404), ("/storage/v1/b/tub/o", 404)] {
            #expect(try await client.perform(HTTPRequest("GET", fixture.url + path)).status == status)
        }
    }
}
