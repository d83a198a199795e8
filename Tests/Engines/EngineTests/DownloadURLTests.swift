import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Download URLs of the engines can be parsed as references.
@Suite(.watchdog(minutes: 10)) struct DownloadURLTests {
    private let names = NameTests.odd.filter { ![".", ".."].contains($0) }

    @Test func `A download URL can be parsed as a reference to its object`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            if let embedded = place as? EmbeddedFixture {
                embedded.backend.urlBase = { () async throws(StorageError) in "http://127.0.0.1:8080" }
            }
            for name in names {
                try await place.backend.put([], at: name)
                #expect(
                    try await Reference(url: place.backend.downloadURL(name)) == ref(name), "\(name.debugDescription)")
            }
        }
    }

    @Test func `URLs expire after at most a week, except those of Firebase Storage`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await place.backend.put([1], at: "a")
            if let embedded = place as? EmbeddedFixture {
                embedded.backend.urlBase = { () async throws(StorageError) in "http://127.0.0.1:8080" }
            }
            let mayExpire = !(place is FirebaseGatewayFixture)
            for seconds in [1, 604_800] where mayExpire {
                _ = try await place.backend.downloadURL("a", expiresIn: Int64(seconds))
            }
            let refused: [Int64] = mayExpire ? [0, -1, 604_801, .min, .max] : [1, 0, .max]
            for seconds in refused {
                let error = try await failure { _ = try await place.backend.downloadURL("a", expiresIn: seconds) }
                #expect(error.code == .invalidArgument && error.param == "expiresIn")
            }
        }
    }

    @Test func `A signed URL contains its lifetime and the user project`() throws {
        let url = DownloadLink(
            endpoint: .gcs, reference: try ref("a"), account: "a@b", time: TimeSource.system.now(), lifetime: 60,
            userProject: "my:project"
        )
        #expect(
            url.canonicalRequest.contains("&X-Goog-Expires=60&X-Goog-SignedHeaders=host&userProject=my%3Aproject\n"))
        #expect(url.url(signature: [1]).hasSuffix("&userProject=my%3Aproject&X-Goog-Signature=01"))
    }

    @Test(arguments: ["https://storage.googleapis.com", "https://storage.example.com:8443"])
    func `A signed URL can be parsed as a reference to its object`(server: String) throws {
        let endpoint = try Endpoint(server, from: "--endpoint", allowInsecure: false)
        for name in names {
            let signed = DownloadLink(
                endpoint: endpoint, reference: try ref(name), account: "a@b", time: TimeSource.system.now(),
                lifetime: 60)
            #expect(try Reference(url: signed.url(signature: [1])) == ref(name), "\(name.debugDescription)")
        }
    }
}
