import HTTPClient
import HTTPText
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Interruptions of uploads to a remote engine: aborts, and tokens that become invalid.
@Suite(.watchdog(minutes: 10)) struct RemoteStopTests {
    static let granule = Int64(256 << 10)
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]
    let bytes = noise(5 * Int(granule))

    private func begin(_ place: any RemoteFixture) async throws -> UploadSteps {
        let session = place.backend.stoppable(.data(bytes, to: try ref("a")))
        #expect(await session.perform(.open) == .opened(granularity: Self.granule))
        #expect(await session.perform(.send(0..<Self.granule)) == .received(upTo: Self.granule))
        return session
    }

    @Test func `An abort ends a stalled upload, which continues at the server's offset or is cancelled`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let session = try await begin(place)
            let held = Signal()
            defer { held.fire() }
            place.fixture.faults = [.init(.byte(3 * Self.granule + 7), .stall(until: held))]
            async let answer = session.perform(.send(Self.granule..<4 * Self.granule))
            try await place.fixture.until { $0.unfired.isEmpty }
            session.abort()
            let told = await answer
            #expect(told == .aborted, "\(told)")
            #expect(await session.perform(.query) == .received(upTo: 3 * Self.granule))
            session.discard()
            try await place.fixture.until { !$0.cancelledSessions.isEmpty }
            #expect(place.fixture.objects.isEmpty && place.fixture.log.resentPersistedBytes == 0)
        }
    }

    @Test func `An upload that completes during an abort succeeds`() async throws {
        for type in Self.places {
            for whole in [false, true] {
                let clock = ManualClock()
                let place = try type.init(StorageFixture(), limits: .patient, clock: clock)
                let upload = Upload.data(bytes, to: try ref("a"))
                let session = whole ? place.backend.stoppable(upload) : try await begin(place)
                let late = Signal()
                defer { late.fire() }
                place.fixture.faults = [.init(.first(.finalize, .multipart), .answerLate(late))]
                let step: UploadMachine.Step = whole ? .sendWhole : .send(Self.granule..<5 * Self.granule)
                async let answer = session.perform(step)
                try await place.fixture.until { $0.unfired.isEmpty }
                try await eventually { !place.fixture.objects.isEmpty }
                try await eventually { session.isThrough }
                session.abort()
                clock.advance(by: try await clock.nextSleep())
                guard case .unsettled = await answer else { return #expect(Bool(false), "\(type) \(whole)") }
                let stored = try await place.backend.metadata(of: ref("a"))
                #expect(await session.perform(.settle) == .completed(stored))
            }
        }
    }

    @Test func `Tokens refused during an upload are replaced without sending bytes twice`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let tokens = Renewing(scheme: type.dialect == .gcs ? "Bearer" : "Firebase")
            let accept: @Sendable () -> Void = {
                place.fixture.credentials = .init(
                    [tokens.wanted.withLock { "\(tokens.scheme) \($0)" }], coverSessions: true)
            }
            accept()
            var upload = Upload.data(bytes, to: try ref("a"))
            upload.caller = Caller(tokens: tokens, retryTime: .seconds(600))
            let stored = try await place.backend.run(upload, chunks: .fixed(Self.granule)) { step in
                guard case .send(let range) = step, range.lowerBound % (2 * Self.granule) == 0 else { return }
                tokens.wanted.withLock { $0 += 1 }
                accept()
            }
            #expect(stored.size == bytes.count && place.fixture.bytes("b", "a") == bytes)
            #expect(place.fixture.log.resentPersistedBytes == 0 && tokens.renewals.withLock { $0 } == 3)
        }
    }

    @Test func `Without a better token the error is unauthenticated and names auth/setToken`() async throws {
        for type in Self.places {
            let place = try await type.init()
            place.fixture.credentials = .init(["Bearer other"])
            let error = try await failure { _ = try await place.backend.metadata(of: ref("a")) }
            #expect(error.code == .unauthenticated && error.httpStatus == 401 && !error.retryable)
            #expect(error.message.contains("auth/setToken"))
        }
    }

    @Test func `Only the refused App Check token is replaced`() async throws {
        let place = try await FirebaseFixture()
        place.fixture.credentials = .init(["Firebase 0"], appCheck: "1")
        try place.fixture.put([1], "b", "a")
        let tokens = Renewing(scheme: "Firebase")
        let caller = Caller(tokens: tokens, retryTime: .seconds(600))
        #expect(try await place.backend.metadata(of: ref("a"), for: caller).size == 1)
        #expect(tokens.renewals.withLock { $0 } == 1)
    }

    @Test func `Operations are retried within the retry time, and the error lists the attempts`() async throws {
        for type in Self.places {
            let place = try await type.init()
            try place.fixture.put([1], "b", "a")
            place.fixture.faults = [
                .init(.first(.getMetadata), .answer(503)), .init(.first(.patch), .resetAfterHandling),
            ]
            let caller = Caller(retryTime: .seconds(600))
            #expect(try await place.backend.metadata(of: ref("a"), for: caller).size == 1)
            #expect(try await place.backend.updateMetadata(of: ref("a"), .init(), if: .init(), for: caller).size == 1)
            // More than the retry time: the first attempt is the last.
            place.fixture.faults = [.init(.first(.getMetadata), .answer(429, headers: ["Retry-After": "3600"]))]
            let error = try await failure { _ = try await place.backend.metadata(of: ref("a"), for: caller) }
            #expect(error.code == .retryLimitExceeded && error.attempts.map(\.httpStatus) == [429])
        }
    }
}

/// Returns "0", and the next number after each refusal.
private final class Renewing: TokenSource {
    let scheme: String
    let wanted = Mutex(0)
    let renewals = Mutex(0)
    private let numbers = Mutex<[Token.Kind: Int]>([:])

    init(scheme: String) { self.scheme = scheme }

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == .appCheckToken || (kind == .accessToken) == (scheme == "Bearer") else { return nil }
        let number = numbers.withLock { numbers in
            if let refused, refused.secret == "\(numbers[kind] ?? 0)" {
                numbers[kind, default: 0] += 1
                renewals.withLock { $0 += 1 }
            }
            return numbers[kind] ?? 0
        }
        return Token(kind, "\(number)")
    }
}

/// Whether the object that is found after an upload is that of the upload.
@Suite(.watchdog(minutes: 10)) struct RemoteOwnershipTests {
    @Test func `An object that another client stored meanwhile is not deleted`() async throws {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            let held = Signal()
            place.fixture.faults = [
                .init(.first(.multipart), .answerAfterHandling(200)), .init(.nth(2, .getMetadata), .stall(until: held)),
            ]
            async let outcome = failure { _ = try await place.backend.run(.data([1], to: ref("a"))) }
            try await place.fixture.until { $0.unfired.isEmpty }
            try place.fixture.put([2, 3], "b", "a")
            held.fire()
            #expect(try await outcome.code == .nonMatchingChecksum)
            #expect(place.fixture.bytes("b", "a") == [2, 3])
            #expect(place.fixture.log.requests(.delete).isEmpty)
        }
    }
}
