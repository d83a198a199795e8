import HTTP
import Storage
import TestSupport
import Testing

@testable import Backends

/// Answers that are no answers: what a server may have carried out is not asked for again.
@Suite(.timeLimit(.minutes(10))) struct StrangeAnswerTests {
    typealias Deed = @Sendable (RemoteBackend, Caller) async throws -> Void

    private func check(
        _ type: any RemoteUnderTest.Type, _ kind: StorageFixture.Kind, _ body: String, _ deed: Deed
    ) async throws {
        let place = try type.init(StorageFixture(), limits: HTTPLimits(), clock: HurriedClock())
        try place.fixture.put([1], "b", "a", by: type.dialect)
        place.fixture.faults = [.init(.first(kind), .answerAfterHandling(200, body: body))]
        let error = try await failure { try await deed(place.backend, Caller(patience: .seconds(60))) }
        let what = Comment("\(type) \(kind) \(body)")
        #expect(error.code == .unknown && error.httpStatus == 200 && !error.retryable, what)
        #expect(error.message.contains("no answer") && place.fixture.log.requests(kind).count == 1, what)
    }

    @Test(arguments: ["", "hello", "[1]", "{}", #"{"generation": "x", "size": "1"}"#, #"{"size": "1"}"#])
    func `What cannot be understood is an error at once, and nothing is written twice`(body: String) async throws {
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
    func `Nonsense is not taken for an object without a download token`(body: String) async throws {
        try await check(FirebaseUnderTest.self, .getMetadata, body) {
            _ = try await $0.downloadURL(of: ref("a"), expiresIn: nil, for: $1)
        }
        try await check(FirebaseUnderTest.self, .token, body) {
            _ = try await $0.revokeDownloadURL(of: ref("a"), for: $1)
        }
    }

    @Test func `A server that says nothing leaves time to ask it again`() {
        let small = RemoteRequest(method: "GET", target: "/")
        for (patience, longest) in [(600, 120), (120, 30), (20, 5), (4, 4)] {
            let limits = HTTPLimits().within(.seconds(patience), of: small)
            #expect(limits.answer == .seconds(longest) && limits.stall <= limits.answer)
            #expect(limits.total == .seconds(max(30, patience / 4)))
        }
    }
}
