import HTTPClient
import HTTPText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// The URLs that a server names: nothing goes to another host.
@Suite(.watchdog(minutes: 10)) struct SessionPlaceTests {
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]

    @Test func `An upload whose session is at another server is refused, and nothing is sent there`() async throws {
        for type in Self.places {
            let (place, other) = (try await type.init(), try StorageFixture())
            let port = try #require(place.fixture.url.split(separator: ":").last)
            for url in [
                other.url, "https://127.0.0.1:\(port)", "http://storage.example", "https://storage.googleapis.com",
            ] {
                let session = "\(url)/upload?upload_id=SECRETSESSION"
                let headers: HTTPHeaders = [
                    "Location": session, "X-Goog-Upload-URL": session, "X-Goog-Upload-Status": "active",
                ]
                place.fixture.faults = [.init(.first(.start), .answer(200, headers: headers, body: session))]
                let error = try await failure { _ = try await place.backend.run(.data(noise(600_000), to: ref("a"))) }
                #expect(error.code == .unknown && !error.retryable && error.httpStatus == 200)
                #expect(error.message.contains("an upload session at \(url), where nothing is sent"))
                #expect(error.message.contains(place.fixture.url) && !"\(error)".contains("SECRETSESSION"))
            }
            #expect(other.requests.isEmpty && place.fixture.objects.isEmpty)
        }
    }

    @Test func `The same port of this machine may have another name`() throws {
        let endpoint = try Endpoint("http://127.0.0.1:9199", from: "--endpoint", allowInsecure: false)
        for url in ["http://localhost:9199/x", "http://[::1]:9199/x"] { #expect(endpoint.allows(url)) }
        for url in ["http://localhost:1/x", "https://localhost:9199/x", "http://localhost/x", "http://h:9199/x"] {
            #expect(!endpoint.allows(url))
        }
    }

    @Test(arguments: [
        ("https://firebasestorage.googleapis.com:443/v0/b", true), ("https://storage.googleapis.com/upload", true),
        ("https://www.googleapis.com/upload", true), ("https://STORAGE.googleapis.com/", true),
        ("https://googleapis.com.evil/", false), ("https://evilgoogleapis.com/", false),
        ("https://storage.googleapis.com:8443/", false), ("http://storage.googleapis.com/", false),
        ("https://storage.googleapis.com@evil/", false), ("https://evil/.googleapis.com", false),
        ("https://evil?.googleapis.com", false), ("https://evil%2F.googleapis.com/", false),
        ("https://evil\\.googleapis.com/", false), ("https://127.0.0.1/", false), ("file:///etc/passwd", false),
        ("//storage.googleapis.com/", false), ("", false),
    ])
    func `A session of Google may be at any host of Google, and nowhere else`(url: String, isAllowed: Bool) throws {
        #expect(Endpoint.gcs.allows(url) == isAllowed && Endpoint.firebase.allows(url) == isAllowed)
        let own = try Endpoint("https://storage.example:8443", from: "--endpoint", allowInsecure: false)
        #expect(!own.allows(url) && own.allows("https://STORAGE.example:8443/x"))
    }

    @Test func `A redirect is an error, and nothing follows it`() async throws {
        for type in Self.places {
            let (place, other) = (try await type.init(), try StorageFixture())
            try place.fixture.put([1], "b", "a", by: type.dialect)
            let headers: HTTPHeaders = ["Location": other.url + "/x", "X-Goog-Upload-URL": other.url + "/x"]
            for kind in [StorageFixture.Kind.getMetadata, .list, .media, .multipart, .start, .chunk, .delete, .patch] {
                for status in [301, 302, 303, 307] {
                    place.fixture.faults = [.init(.first(kind), .answer(status, headers: headers))]
                    let caller = Caller(retryTime: .zero)
                    let size = kind == .multipart ? 1 : 600_000
                    _ = try? await place.backend.run(.data(noise(size), to: ref("a")))
                    _ = try? await place.backend.data(of: ref("a"), maxSize: .max, for: caller)
                    _ = try? await place.backend.list(ListQuery(ref(""), maxResults: 1), for: caller)
                    _ = try? await place.backend.updateMetadata(of: ref("a"), .init(), if: .init(), for: caller)
                    _ = try? await place.backend.delete(ref("a"), if: .init(), for: caller)
                }
            }
            #expect(other.requests.isEmpty && other.connections == 0)
        }
    }
}
