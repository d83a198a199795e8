import ClientMemory
import HTTPClient
import HTTPText
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Download URLs of the embedded engine, requested by an HTTP client.
@Suite(.watchdog(minutes: 10)) struct ObjectServerTests {
    let place: EmbeddedFixture
    let server: ObjectServer
    let client = HTTPClient.direct
    let bytes = noise(300_000)

    init() async throws {
        place = try await EmbeddedFixture()
        server = ObjectServer(place.backend, address: nil, memory: ConnectionMemory())
        place.backend.urlBase = { [unowned server] () async throws(StorageError) in try await server.start() }
    }

    private func store(_ path: String, _ metadata: SettableMetadata = .init()) async throws -> String {
        _ = try await place.backend.run(.data(bytes, to: ref(path), metadata))
        return try await url(path)
    }

    private func url(_ path: String) async throws -> String {
        try await place.backend.downloadURL(of: ref(path), expiresIn: nil, for: Caller(retryTime: .zero))
    }

    private func get(_ url: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        try await client.perform(HTTPRequest("GET", url, headers: headers))
    }

    @Test(arguments: ["a", "dir/b c.txt", "100% +ü?#&=", "%2F/..x"])
    func `A download URL returns the object's bytes and headers without credentials`(path: String) async throws {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "image/png", .cacheControl: "public", .contentLanguage: "it"]
        metadata.custom = ["mood": "good"]
        let url = try await store(path, metadata)
        let response = try await get(url)
        #expect(response.status == 200 && response.body == bytes)
        let expected: [(String, String)] = [
            ("Content-Type", "image/png"), ("Cache-Control", "public"), ("Content-Language", "it"),
            ("Content-Length", "300000"), ("Accept-Ranges", "bytes"), ("x-goog-meta-mood", "good"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        for (name, value) in expected { #expect(response.headers[name] == value) }
        #expect(response.headers["Content-Disposition"]?.hasPrefix("inline; filename*=utf-8''") == true)
        let head = try await client.perform(HTTPRequest("HEAD", url))
        #expect(head.status == 200 && head.body.isEmpty && head.headers["Content-Length"] == "300000")
        #expect(head.headers["ETag"] == response.headers["ETag"])
        #expect(try Reference(url: url) == ref(path))
    }

    @Test(arguments: ["text/html", "image/svg+xml", "text/javascript", "application/pdf", ""])
    func `A stored object cannot run in a browser, whatever its content type`(type: String) async throws {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: type, .contentDisposition: "inline"]
        metadata.custom = ["Content-Security-Policy": "none"]
        let url = try await store("page.html", metadata)
        let whole = try await get(url)
        let etag = try #require(whole.headers["ETag"])
        let answers = [
            whole, try await get(url, ["Range": "bytes=0-9"]), try await client.perform(HTTPRequest("HEAD", url)),
            try await get(url, ["If-None-Match": etag]),
        ]
        #expect(answers.map(\.status) == [200, 206, 200, 304])
        for answer in answers { #expect(answer.headers.all("Content-Security-Policy") == ["sandbox"]) }
        for answer in answers.dropLast() { #expect(answer.headers.all("X-Content-Type-Options") == ["nosniff"]) }
        for name in ["Service-Worker", "service-worker"] {
            for value in ["script", "SCRIPT", "x"] { #expect(try await get(url, [name: value]).status == 403) }
        }
    }

    @Test func `Ranges and conditional requests are answered`() async throws {
        let url = try await store("a")
        let part = try await get(url, ["Range": "bytes=100000-100009"])
        #expect(part.status == 206 && part.body == Array(bytes[100_000..<100_010]))
        #expect(part.headers["Content-Range"] == "bytes 100000-100009/300000")
        #expect(try await get(url, ["Range": "bytes=-5"]).body == Array(bytes.suffix(5)))
        #expect(try await get(url, ["Range": "bytes=300000-"]).status == 416)
        let etag = try #require(part.headers["ETag"])
        #expect(try await get(url, ["If-None-Match": etag]).status == 304)
        let modified = try #require(part.headers["Last-Modified"])
        #expect(try await get(url, ["If-Modified-Since": modified]).status == 304)
        #expect(try await get(url, ["If-Range": "\"other\"", "Range": "bytes=0-1"]).status == 200)
    }

    @Test func `A request without a valid token is refused without telling whether the object exists`() async throws {
        let url = try await store("a")
        let token = try #require(url.split(separator: "token=").last.map(String.init))
        let bare = url.replacing("&token=" + token, with: "")
        let wrong = [
            bare, bare + "&token=", bare + "&token=x" + token.dropFirst(), url.replacing("/o/a?", with: "/o/b?"),
        ]
        for url in wrong { #expect(try await get(url).status == 403) }
        #expect(try await get(url.replacing("alt=media", with: "alt=json")).status == 400)
        for path in ["/", "/v0/b/b/o", "/v0/b/b/o/", "/v1/b/b/o/a"] {
            #expect(try await get(url.replacing("/v0/b/b/o/a", with: path)).status == 404)
        }
        #expect(try await client.perform(HTTPRequest("POST", url)).status == 405)
        #expect(try await get(url).status == 200)
    }

    @Test func `A revoked download URL is refused, and the new one is served`() async throws {
        let old = try await store("a")
        #expect(try await url("a") == old)
        let new = try await place.backend.revokeDownloadURL(of: ref("a"), for: Caller(retryTime: .zero))
        #expect(new != old)
        #expect(try await get(old).status == 403)
        #expect(try await get(new).body == bytes)
        try await place.backend.delete(ref("a"), if: .init(), for: Caller(retryTime: .zero))
        #expect(try await get(new).status == 403)
        let error = try await failure { _ = try await url("a") }
        #expect(error.code == .objectNotFound)
    }

    @Test func `An address in use is an error that names it`() async throws {
        let first = ObjectServer(place.backend, address: "127.0.0.1:0", memory: ConnectionMemory())
        let address = try await first.start().dropFirst("http://".count)
        let second = ObjectServer(place.backend, address: String(address), memory: ConnectionMemory())
        let error = try await failure { _ = try await second.start() }
        #expect(error.message.contains(address))
    }
}
