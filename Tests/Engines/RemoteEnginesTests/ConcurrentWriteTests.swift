import HTTPClient
import JSONText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Servers that execute a request but answer with an error, and other clients that write before the retry.
@Suite(.watchdog(minutes: 10)) struct ConcurrentWriteTests {
    static let others: [UInt8] = [7, 7]
    let caller = Caller(retryTime: .seconds(60))

    private func places() throws -> [any RemoteFixture] {
        try RemoteStopTests.places.map { try $0.init(StorageFixture(), limits: .patient, clock: HurriedClock()) }
    }

    typealias Deed = @Sendable (StorageFixture) -> Void

    private let overwrite: Deed = { fixture in
        do { try fixture.put(Self.others, "b", "a", by: .gcs) } catch { Issue.record(error) }
    }

    @Test func `A retried deletion does not delete an object that another client has stored`() async throws {
        for place in try places() {
            try place.fixture.put([1], "b", "a", by: .gcs)
            place.fixture.faults = [
                .init(.first(.delete), .answerAfterHandling(503)), next(.getMetadata, 2, overwrite, place),
            ]
            try await place.backend.delete(ref("a"), if: .init(), for: caller)
            #expect(place.fixture.bytes("b", "a") == Self.others && place.fixture.log.requests(.delete).count == 1)
        }
    }

    private func next(
        _ kind: StorageFixture.Kind, _ number: Int, _ deed: @escaping Deed, _ place: any RemoteFixture
    ) -> StorageFixture.Fault {
        let fixture = place.fixture
        return .init(.nth(number, kind), .meanwhile { [weak fixture] in if let fixture { deed(fixture) } })
    }

    @Test func `A retried update does not revert the change of another client`() async throws {
        var change = MetadataChange()
        change.content = [.cacheControl: "ours"]
        for place in try places() {
            try place.fixture.put([1], "b", "a", metadata: ["cacheControl": "old"])
            place.fixture.faults = [
                .init(.first(.patch), .answerAfterHandling(503)),
                next(.getMetadata, 2, { $0.change("b", "a", ["cacheControl": "theirs"]) }, place),
            ]
            let error = try await failure {
                _ = try await place.backend.updateMetadata(of: ref("a"), change, if: .init(), for: caller)
            }
            #expect(error.message.contains("another client") && !error.retryable)
            #expect(place.fixture.metadata("b", "a")?["cacheControl"] == "theirs")
            #expect(place.fixture.log.requests(.patch).count == 1)
        }
    }

    @Test(arguments: [true, false])
    func `A retried update is executed exactly once`(isCarriedOut: Bool) async throws {
        var change = MetadataChange()
        change.content = [.cacheControl: "ours"]
        for place in try places() {
            try place.fixture.put([1], "b", "a")
            place.fixture.faults = [.init(.first(.patch), isCarriedOut ? .answerAfterHandling(503) : .answer(503))]
            let stored = try await place.backend.updateMetadata(of: ref("a"), change, if: .init(), for: caller)
            #expect(stored.metageneration == 2 && stored.settable.content[.cacheControl] == "ours")
            #expect(place.fixture.log.requests(.patch).count == (isCarriedOut ? 1 : 2))
        }
    }

    @Test(arguments: [true, false])
    func `A retried upload does not replace an object that another client has stored`(isThere: Bool) async throws {
        for place in try places() {
            if isThere { try place.fixture.put([1], "b", "a") }
            place.fixture.faults = [
                .init(.first(.multipart), .answerAfterHandling(503)), next(.getMetadata, 2, overwrite, place),
            ]
            let error = try await failure { try await retried(place) }
            #expect(error.message.contains("another client") && !error.retryable)
            #expect(place.fixture.bytes("b", "a") == Self.others)
            #expect(place.fixture.log.requests(.multipart).count == 1)
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `A retried upload is distinguished from an identical older object`(isThere: Bool, isCarriedOut: Bool)
        async throws
    {
        for place in try places() {
            if isThere { try place.fixture.put([1, 2], "b", "a", by: type(of: place).dialect) }
            let before = place.fixture.metadata("b", "a")?["generation"]
            place.fixture.faults = [.init(.first(.multipart), isCarriedOut ? .answerAfterHandling(503) : .answer(503))]
            try await retried(place)
            #expect(place.fixture.metadata("b", "a")?["generation"] != before)
            #expect(place.fixture.log.requests(.multipart).count == (isCarriedOut ? 1 : 2))
        }
    }

    private func retried(_ place: any RemoteFixture) async throws {
        _ = try await place.backend.run(.data([1, 2], to: ref("a")), retryTime: .seconds(600))
    }

    /// The engines whose servers do not compare, so that the engine itself does.
    private func comparing() throws -> [any RemoteFixture] {
        [try FirebaseFixture(StorageFixture()), try S3Fixture(StorageFixture())]
    }

    /// Runs calls at the same time, and counts those that succeed.
    private func successes(
        _ count: Int, _ call: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                group.addTask {
                    do { try await call(number) } catch let error as StorageError {
                        guard error.code == .preconditionFailed else { throw error }
                        return false
                    }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
    }

    @Test func `Of concurrent uploads with one generation as precondition exactly one succeeds`() async throws {
        for place in try comparing() {
            let first = try await place.backend.run(.data([1], to: ref("a")))
            let winners = try await successes(8) { number in
                _ = try await place.backend.run(
                    Upload(
                        reference: ref("a"), source: .data([UInt8(number)]), metadata: .init(),
                        if: Preconditions(first.version)))
            }
            #expect(winners == 1, "\(type(of: place))")
        }
    }

    @Test func `Concurrent updates of metadata are all in the object`() async throws {
        for place in try comparing() {
            _ = try await place.backend.run(.data([1], to: ref("a")))
            let winners = try await successes(8) { [caller] number in
                var change = MetadataChange()
                change.custom = .merge(["k\(number)": "v"])
                _ = try await place.backend.updateMetadata(of: ref("a"), change, if: .init(), for: caller)
            }
            let stored = try await place.backend.metadata(of: ref("a"))
            #expect(winners == 8 && stored.settable.custom.count == 8 && stored.metageneration == 9)
        }
    }

    @Test(arguments: 0..<8)
    func `A deletion with a precondition removes no object of a concurrent upload`(round: Int) async throws {
        for place in try comparing() {
            let first = try await place.backend.run(.data([1], to: ref("a")))
            async let deletion = successes(1) { [caller] _ in
                try await place.backend.delete(ref("a"), if: Preconditions(first.version), for: caller)
            }
            let second = try await place.backend.run(.data([2], to: ref("a")))
            _ = try await deletion
            #expect(try await place.backend.metadata(of: ref("a")).generation == second.generation)
        }
    }

    @Test func `A write that is cancelled before its turn lets the others go first`() async throws {
        let turns = WriteTurns()
        let begin = { @Sendable (name: String) in
            try await turns.begin(ref(name), within: .seconds(3600), by: ContinuousClock())
        }
        let first = try await begin("a")
        let cancelled = Task { try await begin("a").done() }
        let last = Task { try await begin("a").done() }
        cancelled.cancel()
        await #expect(throws: StorageError.self) { try await cancelled.value }
        first.done()
        first.done()
        try await last.value
        // Another object has a turn of its own, and the next write to this one begins immediately.
        let other = try await begin("b")
        try await begin("a").done()
        other.done()
    }

    @Test func `A retried upload has the generation of the existing object as its precondition`() async throws {
        let place = try GCSFixture(StorageFixture(), limits: .patient, clock: HurriedClock())
        try place.fixture.put([1], "b", "a")
        let generation = try #require(place.fixture.metadata("b", "a", as: .gcs)?["generation"]?.string)
        place.fixture.faults = [.init(.first(.multipart), .answer(503))]
        try await retried(place)
        let targets = place.fixture.log.requests(.multipart).map(\.target)
        #expect(!targets[0].contains("ifGenerationMatch") && targets[1].contains("ifGenerationMatch=\(generation)"))
    }

    @Test(arguments: [StorageFixture.Variant.service, .testbench], [400, 412])
    func `An upload whose last bytes were refused does not succeed`(variant: StorageFixture.Variant, status: Int)
        async throws
    {
        let place = try GCSFixture(StorageFixture(variant), limits: .patient, clock: HurriedClock())
        let phantom = #"{"name":"a","generation":"1795364457466","metageneration":"1","size":"2"}"#
        place.fixture.faults = [
            .init(.first(.finalize), .answer(status)), .init(.first(.query), .answer(200, body: phantom)),
            .init(.nth(2, .finalize), .answer(200, body: phantom)),
        ]
        let error = try await failure {
            _ = try await place.backend.run(.data([1, 2], to: ref("a")), chunks: .fixed(1), retryTime: .seconds(600))
        }
        #expect(error.code == .unknown && error.httpStatus == status && place.fixture.objects.isEmpty)
    }
}
