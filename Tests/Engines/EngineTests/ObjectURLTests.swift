import ClientMemory
import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// URLs that the engines make lead back to the object that they were made for, whatever its name.
@Suite(.watchdog(minutes: 10)) struct ObjectURLTests {
    private static let parts = [
        "/", "//", "a", "docs", ".", "..", "%", "%2F", "%25", "+", " ", "?", "#", "&", "=", "é", "e\u{301}", "😀", "\0",
        "\t", "\\", "\"", "*", "[x]", "v0", "b", "o", "storage", "v1", "upload", "download", "gs:", "http:", "@", ":",
    ]

    private static func reference(_ random: inout SeededGenerator) throws -> Reference {
        let count = Int.random(in: 1...8, using: &random)
        let name = (0..<count).map { _ in parts.randomElement(using: &random) ?? "a" }.joined()
        let buckets = ["b", "my.bucket", "storage", "upload", "download", "a_b-c"]
        return try Reference(bucket: buckets.randomElement(using: &random) ?? "b", object: name)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `A URL leads back to its object`(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        for _ in 0..<20 {
            let reference = try Self.reference(&random)
            var urls = ["http://127.0.0.1:9199", "https://storage.example:8443", Endpoint.firebase.url].map {
                FirebaseDialect(version: "1").downloadURL(of: reference, "t", at: Self.endpoint($0))
            }
            urls += ["https://storage.example:8443", Endpoint.gcs.url].map {
                DownloadLink(
                    endpoint: Self.endpoint($0), reference: reference, account: "a@b",
                    time: Timestamp(microseconds: 0), lifetime: 60
                ).url(signature: [1])
            }
            let media = GCSDialect().media(of: reference, generation: nil, isGzip: false, from: 0, to: nil)
            urls.append("http://127.0.0.1:9000\(media.target)")
            for url in urls {
                #expect(try Reference(url: url) == reference, "\(url) of \(reference.url.debugDescription)")
            }
        }
    }

    private static func endpoint(_ url: String) -> Endpoint {
        (try? Endpoint(url, from: "--endpoint", allowInsecure: false)) ?? .gcs
    }

    @Test func `The embedded engine serves the very object, and its URL names no other`() async throws {
        let place = try await EmbeddedFixture()
        let server = ObjectServer(place.backend, address: nil, memory: ConnectionMemory())
        place.backend.urlBase = { () async throws(StorageError) in try await server.start() }
        defer { place.backend.urlBase = nil }
        let (client, caller) = (HTTPClient.direct, Caller(retryTime: .zero))
        var random = SeededGenerator(state: 7)
        for number in 0..<100 {
            let reference = number == 0 ? try Reference(bucket: "b", object: "docs/") : try Self.reference(&random)
            let bytes = Array(reference.url.utf8)
            _ = try await place.backend.run(.data(bytes, to: reference))
            let url = try await place.backend.downloadURL(of: reference, expiresIn: nil, for: caller)
            #expect(try Reference(url: url) == reference)
            let response = try await client.perform(HTTPRequest("GET", url))
            #expect(response.status == 200 && response.body == bytes, "\(url)")
        }
    }

    @Test func `Deleting by a URL leaves objects with similar names`() async throws {
        for place in ConformanceTests.places where place != GCSGatewayFixture.self {
            let place = try await place.init()
            if let embedded = place as? EmbeddedFixture {
                embedded.backend.urlBase = { () async throws(StorageError) in "http://h" }
            }
            let caller = Caller(retryTime: .seconds(600))
            let names = ["docs", "docs/", "/docs", "docs//"]
            for name in names { _ = try await place.backend.run(.data([1], to: Reference(bucket: "b", object: name))) }
            let url = try await place.backend.downloadURL(
                of: Reference(bucket: "b", object: "docs/"), expiresIn: nil, for: caller)
            try await place.backend.delete(Reference(url: url), if: .init(), for: caller)
            for name in names where name != "docs/" {
                _ = try await place.backend.metadata(of: Reference(bucket: "b", object: name), for: caller)
            }
        }
    }
}
