import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Malformed answers: a request that a server may have executed is not repeated.
@Suite(.watchdog(minutes: 10)) struct MalformedAnswerTests {
    typealias Deed = @Sendable (RemoteBackend, Caller) async throws -> Void

    private func check(
        _ type: any RemoteFixture.Type, _ kind: StorageFixture.Kind, _ body: String, _ deed: Deed
    ) async throws {
        let place = try type.init(StorageFixture(), limits: .patient, clock: HurriedClock())
        try place.fixture.put([1], "b", "a", by: type.dialect)
        place.fixture.faults = [.init(.first(kind), .answerAfterHandling(200, body: body))]
        let error = try await failure { try await deed(place.backend, Caller(retryTime: .seconds(60))) }
        let what = Comment("\(type) \(kind) \(body)")
        #expect(error.code == .unknown && error.httpStatus == 200 && !error.retryable, what)
        #expect(error.message.contains("no answer") && place.fixture.log.requests(kind).count == 1, what)
    }

    @Test(arguments: ["", "hello", "[1]", "{}", #"{"generation": "x", "size": "1"}"#, #"{"size": "1"}"#])
    func `A malformed response is an error without a second write`(body: String) async throws {
        for type in RemoteStopTests.places {
            try await check(type, .getMetadata, body) { _ = try await $0.metadata(of: ref("a"), for: $1) }
            try await check(type, .patch, body) {
                _ = try await $0.updateMetadata(of: ref("a"), .init(), if: .init(), for: $1)
            }
            guard body != "{}" && !body.contains("size") else { continue }
            try await check(type, .list, body) {
                _ = try await $0.list(ListQuery(ref(""), maxResults: 1), for: $1)
            }
        }
    }

    @Test(arguments: ["", "hello", #"{"generation": "1", "size": "1", "downloadTokens": 7}"#])
    func `A malformed response is not an object without a download token`(body: String) async throws {
        try await check(FirebaseFixture.self, .getMetadata, body) {
            _ = try await $0.downloadURL(of: ref("a"), expiresIn: nil, for: $1)
        }
        try await check(FirebaseFixture.self, .token, body) {
            _ = try await $0.revokeDownloadURL(of: ref("a"), for: $1)
        }
    }

    @Test func `An object without a size in its metadata is empty`() async throws {
        let place = try GCSFixture(StorageFixture(.testbench))
        #expect(try await place.backend.put([], at: "a").size == 0)
        #expect(try await place.backend.metadata(of: ref("a")).size == 0)
        #expect(try await place.backend.data("a") == [])
        #expect(place.fixture.log.requests(.multipart).count == 1)
    }

    @Test func `An upload response without metadata is not reported as a missing object`() async throws {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            place.fixture.faults = [.init(.first(.multipart), .answer(200))]
            let error = try await failure { try await place.backend.put([1], at: "a") }
            #expect(error.code == .unknown && error.httpStatus == 200 && error.object == "a")
        }
    }

    @Test func `A 404 for a listing is a missing bucket only if the response says so`() async throws {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            let texts = [("", StorageError.Code.objectNotFound), ("The bucket does not exist.", .bucketNotFound)]
            for (text, code) in texts {
                place.fixture.faults = [.init(.first(.list), .answer(404, body: text))]
                let error = try await failure { _ = try await place.backend.list("dir") }
                #expect(error.code == code && error.httpStatus == 404 && error.bucket == "b")
            }
        }
    }

    @Test func `Errors about tokens name the object`() async throws {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            let caller = Caller(tokens: NoTokens(), retryTime: .seconds(600))
            let error = try await failure { _ = try await place.backend.metadata(of: ref("a"), for: caller) }
            #expect(error.code == .unauthenticated && error.bucket == "b" && error.object == "a")
        }
    }

    private struct NoTokens: TokenSource {
        func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
            throw StorageError(.unauthenticated, "There is none.")
        }
    }

    @Test func `Time limits of a request leave time for retries`() {
        let small = RemoteRequest(method: "GET", target: "/")
        for (retryTime, longest) in [(600, 120), (120, 30), (20, 5), (4, 4)] {
            let limits = HTTPLimits().within(.seconds(retryTime), of: small)
            #expect(limits.answer == .seconds(longest) && limits.stall <= limits.answer)
            #expect(limits.total == .seconds(max(30, retryTime / 4)))
        }
    }
}
