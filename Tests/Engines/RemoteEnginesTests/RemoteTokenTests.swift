import HTTPClient
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// The tokens that a remote engine requests from its source, and how long it waits for them.
@Suite(.watchdog(minutes: 10)) struct RemoteTokenTests {
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]

    @Test func `Only tokens of kinds that the engine sends are requested`() async throws {
        for (type, expected) in zip(Self.places, [[Token.Kind.idToken, .accessToken, .appCheckToken], [.accessToken]]) {
            let place = try await type.init()
            try place.fixture.put([1], "b", "a")
            let tokens = AskedTokens()
            _ = try await place.backend.metadata(of: ref("a"), for: Caller(tokens: tokens, retryTime: .seconds(600)))
            #expect(tokens.asked.withLock { $0 } == expected)
        }
    }

    @Test func `A token that is at hand needs no timer`() async throws {
        for type in Self.places {
            let clock = ManualClock()
            let place = try type.init(StorageFixture(), limits: .patient, clock: clock)
            try place.fixture.put([1], "b", "a")
            let caller = Caller(tokens: ReadyTokens(), retryTime: .seconds(5000))
            _ = try await place.backend.metadata(of: ref("a"), for: caller)
            #expect(!clock.hasSlept)
        }
    }

    @Test func `The wait for a token ends after the caller's retry time, by the engine's clock`() async throws {
        for type in Self.places {
            let clock = ManualClock()
            let place = try type.init(StorageFixture(), limits: .patient, clock: clock)
            let caller = Caller(tokens: NeverTokens(), retryTime: .seconds(5000))
            async let outcome = failure { _ = try await place.backend.metadata(of: ref("a"), for: caller) }
            #expect(try await clock.nextSleep() == .seconds(5000))
            clock.advance(by: .seconds(5000))
            let error = try await outcome
            #expect(error.code == .unauthenticated && error.message.contains("took more than 5000 seconds"))
            #expect(place.fixture.requests.isEmpty)
        }
    }
}

/// Has its token at hand.
private struct ReadyTokens: TokenSource {
    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        try Token(kind, checking: "token")
    }
}

/// Has no tokens, and records the requested kinds.
private final class AskedTokens: TokenSource {
    let asked = Mutex<[Token.Kind]>([])

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        asked.withLock { $0.append(kind) }
        return nil
    }
}

/// Returns only after its caller is cancelled.
private struct NeverTokens: TokenSource {
    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        let (endless, continuation) = AsyncStream<Void>.makeStream()
        for await _ in endless {}
        continuation.finish()
        throw StorageError(.cancelled, "Nobody waits.")
    }
}
