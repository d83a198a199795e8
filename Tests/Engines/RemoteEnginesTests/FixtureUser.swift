import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// A client of a fixture.
struct FixtureUser: Sendable {
    let fixture: StorageFixture
    let bytes = noise(600_000)
    private var client = HTTPClient.direct

    init() throws { fixture = try StorageFixture() }

    /// The same client with new connections: a request that breaks on a reused connection is resent automatically.
    var afresh: FixtureUser {
        var user = self
        user.client = HTTPClient.direct
        return user
    }

    func send(
        _ method: String, _ path: String, _ headers: HTTPHeaders = [:], _ body: [UInt8]? = nil
    ) async throws(HTTPError) -> HTTPResponse {
        let url = path.hasPrefix("/") ? fixture.url + path : path
        return try await client.perform(
            HTTPRequest(method, url, headers: headers, body: body.map { .bytes($0) } ?? .none))
    }

    /// The address of a new session for a/b in box.
    func start(_ name: String = "a%2Fb", total: Int? = 600_000) async throws -> String {
        var headers: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        headers["X-Goog-Upload-Header-Content-Length"] = total.map(String.init)
        let answer = try await send("POST", "/v0/b/box/o?name=\(name)", headers, Array(#"{"contentType":"x/y"}"#.utf8))
        #expect(answer.status == 200 && answer.headers["X-Goog-Upload-Status"] == "active" && answer.body.isEmpty)
        #expect(answer.headers["X-Goog-Upload-Chunk-Granularity"] == "262144")
        return try #require(answer.headers["X-Goog-Upload-URL"])
    }

    @discardableResult
    func command(_ words: String, _ url: String, _ range: Range<Int>? = nil) async throws(HTTPError) -> HTTPResponse {
        var headers: HTTPHeaders = ["X-Goog-Upload-Command": words]
        headers["X-Goog-Upload-Offset"] = range.map { "\($0.lowerBound)" }
        return try await send("POST", url, headers, range.map { Array(bytes[$0]) })
    }

    /// The offset that the fixture reports.
    func size(_ url: String) async throws -> String? {
        try await command("query", url).headers["X-Goog-Upload-Size-Received"]
    }

    func startGCS(_ total: Int? = 600_000, query: String = "") async throws -> String {
        var headers: HTTPHeaders = ["X-Upload-Content-Type": "x/y"]
        headers["X-Upload-Content-Length"] = total.map(String.init)
        let path = "/upload/storage/v1/b/box/o?uploadType=resumable&name=a%2Fb" + query
        return try #require(try await send("POST", path, headers).headers["Location"])
    }

    func put(_ url: String, _ contentRange: String, _ range: Range<Int>? = nil) async throws(HTTPError) -> HTTPResponse
    {
        try await send("PUT", url, ["Content-Range": contentRange], range.map { Array(bytes[$0]) })
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSON { get throws { try JSON(parsing: text) } }
}
