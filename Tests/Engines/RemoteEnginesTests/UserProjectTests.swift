import HTTPClient
import HTTPText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// The user project, which pays for requests, is sent only to the endpoint.
@Suite(.watchdog(minutes: 10)) struct UserProjectTests {
    private struct Tokens: TokenSource {
        let project: String?

        func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
            var token = Token(kind, "t")
            token.userProject = project
            return kind == .accessToken ? token : nil
        }
    }

    private func told(to fixture: StorageFixture) -> Set<String?> {
        Set(fixture.requests.map { $0.headers["x-goog-user-project"] })
    }

    @Test(arguments: [
        (nil, nil, nil), ("file", nil, "file"), (nil, "setting", "setting"), ("file", "setting", "setting"),
    ])
    func `Every request carries the user project`(ofToken: String?, set: String?, told: String?) async throws {
        for type in [FirebaseFixture.self, GCSFixture.self] as [any RemoteFixture.Type] {
            let place = try await type.init()
            let caller = Caller(tokens: Tokens(project: ofToken), retryTime: .seconds(600), userProject: set)
            var upload = Upload.data(noise(600_000), to: try ref("a"))
            upload.caller = caller
            _ = try await place.backend.run(upload)
            _ = try await place.backend.data(of: ref("a"), maxSize: .max, for: caller)
            _ = try await place.backend.list(ListQuery(ref(""), maxResults: 5), for: caller)
            try await place.backend.delete(ref("a"), if: .init(), for: caller)
            #expect(self.told(to: place.fixture) == [told])
        }
    }

    @Test func `A configured user project is sent even without tokens`() async throws {
        let place = try GCSFixture(StorageFixture())
        try place.fixture.put([1], "b", "a")
        _ = try await place.backend.metadata(of: ref("a"), for: Caller(retryTime: .seconds(600), userProject: "payer"))
        #expect(told(to: place.fixture) == ["payer"])
    }

    @Test func `The user project is not sent to a session at another server`() async throws {
        let (place, other) = (try GCSFixture(StorageFixture()), try StorageFixture())
        let session = "\(other.url)/upload/storage/v1/b/b/o?upload_id=1"
        place.fixture.faults = [.init(.first(.start), .answer(200, headers: ["Location": session]))]
        var upload = Upload.data(noise(600_000), to: try ref("a"))
        upload.caller = Caller(tokens: Tokens(project: "file"), retryTime: .seconds(600), userProject: "payer")
        let error = try await failure { _ = try await place.backend.run(upload) }
        #expect(error.message.hasPrefix("The server answered 200 in a way that is no answer"))
        #expect(other.requests.isEmpty && told(to: place.fixture) == ["payer"])
    }
}
