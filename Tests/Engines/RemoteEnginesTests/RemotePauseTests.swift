import Platform
import HTTPClient
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Pauses and cancellations of uploads to a remote engine: without unnecessary queries, and without abandoned
/// sessions.
@Suite(.watchdog(minutes: 10)) struct RemotePauseTests {
    static let granule = Int64(256 << 10)
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]
    let bytes = noise(5 * Int(granule))
    let clock = ManualClock()
    private let second = granule..<2 * granule

    private func place(_ type: any RemoteFixture.Type) throws -> any RemoteFixture {
        // The limit is long, so that only the test decides how long an answer takes.
        var limits = HTTPLimits.patient
        limits.answer = .seconds(3600)
        return try type.init(StorageFixture(), limits: limits, clock: clock)
    }

    private func begin(_ place: any RemoteFixture, tokens: (any TokenSource)? = nil) async throws -> UploadSteps {
        var upload = Upload.data(bytes, to: try ref("a"))
        upload.caller.tokens = tokens
        return place.backend.stoppable(upload)
    }

    /// An upload whose first chunk the server has received.
    private func sending(_ place: any RemoteFixture, tokens: (any TokenSource)? = nil) async throws -> UploadSteps {
        let session = try await begin(place, tokens: tokens)
        #expect(await session.perform(.open, replacesNewer: true) == .opened(granularity: Self.granule))
        #expect(await session.perform(.send(0..<Self.granule), replacesNewer: true) == .received(upTo: Self.granule))
        return session
    }

    /// An upload whose session is being opened: the server has the request, and answers after the signal.
    private func opening(
        _ place: any RemoteFixture, answeredAt late: Signal
    ) async throws -> (UploadSteps, Task<UploadMachine.Answer, Never>) {
        let session = try await begin(place)
        place.fixture.faults = [.init(.first(.start), .answerLate(late))]
        let answer = begin(.open, of: session)
        try await place.fixture.until { $0.unfired.isEmpty }
        await isUnderWay()
        return (session, answer)
    }

    private func hasSent(_ session: UploadSteps, atLeast count: Int64) async throws {
        // Until then the count is that of the step before.
        await isUnderWay()
        try await eventually { session.sent >= count }
        await isUnderWay()
    }

    /// Begins a step as a task does, on the loop.
    private func begin(_ step: UploadMachine.Step, of session: UploadSteps) -> Task<UploadMachine.Answer, Never> {
        Task { @Loop in await session.perform(step, replacesNewer: true) }
    }

    /// Returns when a step whose request was seen can be stopped: its beginning is one turn of the loop.
    private func isUnderWay() async { await Task { @Loop in }.value }

    @Test func `A pause waits for a chunk that is nearly sent, without a query`() async throws {
        for type in Self.places {
            let (place, late) = (try place(type), Signal())
            let session = try await sending(place)
            place.fixture.faults = [.init(.first(.chunk), .answerLate(late))]
            let answer = begin(.send(second), of: session)
            try await place.fixture.until { $0.unfired.isEmpty }
            try await hasSent(session, atLeast: Self.granule)
            session.stopSoon()
            late.fire()
            #expect(await answer.value == .received(upTo: second.upperBound))
            #expect(place.fixture.log.requests(.query).isEmpty)
        }
    }

    @Test func `A pause waits for a response only during the grace period`() async throws {
        for type in Self.places {
            let (place, late) = (try place(type), Signal())
            defer { late.fire() }
            let session = try await sending(place)
            place.fixture.faults = [.init(.first(.chunk), .answerLate(late))]
            let answer = begin(.send(second), of: session)
            try await place.fixture.until { [second] in $0.sessions.last?.persisted == second.upperBound }
            try await hasSent(session, atLeast: Self.granule)
            session.stopSoon()
            #expect(try await clock.nextSleep() == RemoteUpload.grace)
            clock.advance(by: RemoteUpload.grace)
            #expect(await answer.value == .aborted)
            late.fire()
            #expect(await session.perform(.query, replacesNewer: true) == .received(upTo: second.upperBound))
        }
    }

    @Test func `The remaining time of a body is estimated from its speed`() {
        let body = BodyProgress(count: 100, elapsed: clock.stopwatch())
        #expect(!body.isThrough(within: .seconds(1)))
        clock.advance(by: .seconds(2))
        for (sent, isSoon) in [(0, false), (50, false), (66, false), (67, true), (100, true)] as [(Int64, Bool)] {
            body.note(sent: sent)
            #expect(body.isThrough(within: .seconds(1)) == isSoon)
        }
    }

    @Test func `A stop before the first byte keeps the server's offset without a query`() async throws {
        for type in Self.places {
            let (place, tokens) = (try place(type), StuckTokens(kind: type.dialect == .gcs ? .accessToken : .idToken))
            let session = try await sending(place, tokens: tokens)
            tokens.isStuck = true
            let answer = begin(.send(second), of: session)
            try await tokens.asked.next()
            await isUnderWay()
            session.stopSoon()
            #expect(await answer.value == .received(upTo: Self.granule))
            tokens.isStuck = false
            #expect(await session.perform(.send(second), replacesNewer: true) == .received(upTo: second.upperBound))
            #expect(place.fixture.log.requests(.query).isEmpty && place.fixture.log.resentPersistedBytes == 0)
        }
    }

    @Test func `Cancelling an upload while its session opens cancels the session at the server`() async throws {
        for type in Self.places {
            for isLate in [false, true] {
                let (place, late) = (try place(type), Signal())
                let (session, answer) = try await opening(place, answeredAt: late)
                session.abort()
                #expect(await answer.value == .aborted)
                if !isLate { late.fire() }
                session.discard()
                late.fire()
                try await place.fixture.until { $0.cancelledSessions.count == 1 }
                await place.backend.settle()
                #expect(place.fixture.log.sessions.count == 1 && place.fixture.objects.isEmpty)
            }
        }
    }

    @Test func `A session that opens during a pause is used by the resumed upload`() async throws {
        for type in Self.places {
            let (place, late) = (try place(type), Signal())
            let (session, answer) = try await opening(place, answeredAt: late)
            session.stopSoon()
            #expect(try await clock.nextSleep() == RemoteUpload.grace)
            clock.advance(by: RemoteUpload.grace)
            #expect(await answer.value == .aborted)
            let again = begin(.open, of: session)
            late.fire()
            #expect(await again.value == .opened(granularity: Self.granule))
            #expect(place.fixture.log.sessions.count == 1 && place.fixture.log.requests(.start).count == 1)
            #expect(await session.perform(.send(0..<5 * Self.granule), replacesNewer: true).isCompleted)
        }
    }

    @Test func `A session that opens within the grace period is kept by the pause`() async throws {
        for type in Self.places {
            let (place, late) = (try place(type), Signal())
            let (session, answer) = try await opening(place, answeredAt: late)
            session.stopSoon()
            late.fire()
            #expect(await answer.value == .opened(granularity: Self.granule))
            #expect(await session.bookmark() != nil)
        }
    }
}

typealias UploadSteps = StoppableSession<UploadStrategy>

extension UploadSteps {
    var sent: Int64 { (session as? RemoteUpload)?.sent ?? 0 }
    var isThrough: Bool { (session as? RemoteUpload)?.isThrough ?? false }
}

extension UploadStrategy.Answer {
    fileprivate var isCompleted: Bool { if case .completed = self { true } else { false } }
}

/// Returns a token, unless it is stuck: then it waits until the caller is cancelled.
private final class StuckTokens: TokenSource {
    let asked = Mail<Void>()
    private let kind: Token.Kind
    private let stuck = Mutex(false)

    init(kind: Token.Kind) { self.kind = kind }

    var isStuck: Bool {
        get { stuck.withLock { $0 } }
        set { stuck.withLock { $0 = newValue } }
    }

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        if isStuck {
            asked.deliver(())
            // This clock stands still.
            do { try await ManualClock().sleep(for: .seconds(1)) } catch { throw StorageError(.unknown, "given up") }
        }
        return Token(kind, "0")
    }
}
