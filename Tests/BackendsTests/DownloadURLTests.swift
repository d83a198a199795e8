import Storage
import TestSupport
import Testing

@testable import Backends

/// What the engines give as URLs is read as references.
@Suite(.timeLimit(.minutes(10))) struct DownloadURLTests {
    private let names = NameTests.odd.filter { ![".", ".."].contains($0) }

    @Test func `A download URL names the object that it was given for`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            if let embedded = place as? EmbeddedUnderTest {
                embedded.backend.urlBase = { () async throws(StorageError) in "http://127.0.0.1:8080" }
            }
            for name in names {
                try await place.backend.put([], at: name)
                #expect(
                    try await Reference(url: place.backend.downloadURL(name)) == ref(name), "\(name.debugDescription)")
            }
        }
    }

    @Test(arguments: ["https://storage.googleapis.com", "https://storage.example.com:8443"])
    func `A signed URL names the object that it was signed for`(server: String) throws {
        let endpoint = try Endpoint(server, from: "--endpoint", allowInsecure: false)
        for name in names {
            let signed = SignedURL(endpoint: endpoint, reference: try ref(name), account: "a@b", time: .now)
            #expect(try Reference(url: signed.url(signature: [1])) == ref(name), "\(name.debugDescription)")
        }
    }
}
