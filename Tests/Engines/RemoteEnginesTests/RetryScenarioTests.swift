import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// The scenarios of the conformance tests for Google's client libraries: operations, sequences of faults,
/// and preconditions. Where those libraries do not retry because a retry could undo another write, the engines
/// retry with a precondition.
@Suite(.watchdog(minutes: 10)) struct RetryScenarioTests {
    enum Operation: String, CaseIterable, Sendable {
        case get, list, read, insert, update, delete

        static let writes: [Operation] = [.insert, .update, .delete]

        var kind: StorageFixture.Kind {
            switch self {
            case .get: .getMetadata
            case .list: .list
            case .read: .media
            case .insert: .multipart
            case .update: .patch
            case .delete: .delete
            }
        }
    }

    enum Instruction: Sendable {
        case answer(Int), reset, obeyAndAnswer(Int), obeyAndReset

        var deed: StorageFixture.Fault.Action {
            switch self {
            case .answer(let status): .answer(status)
            case .reset: .reset
            case .obeyAndAnswer(let status): .answerAfterHandling(status)
            case .obeyAndReset: .resetAfterHandling
            }
        }
    }

    struct Scenario: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let operations: [Operation]
        let instructions: [[Instruction]]
        var hasPreconditions = [false]
        /// The number of requests of the kind; nil for one more than the number of instructions.
        var requests: Int?
        /// The status that the operation fails with.
        var status: Int?
    }

    private static let passing: [[Instruction]] = [
        [.answer(503), .answer(503)], [.reset, .reset], [.reset, .answer(503)], [.answer(408)], [.answer(429)],
    ]

    static let scenarios = [
        Scenario(testDescription: "always idempotent", operations: [.get, .list, .read], instructions: passing),
        Scenario(
            testDescription: "writes, with preconditions and without", operations: Operation.writes,
            instructions: passing, hasPreconditions: [true, false]),
        Scenario(
            testDescription: "writes that were executed but failed", operations: Operation.writes,
            instructions: [[.obeyAndAnswer(503)], [.obeyAndReset]], hasPreconditions: [true, false], requests: 1),
        Scenario(
            testDescription: "permanent refusals", operations: Operation.allCases,
            instructions: [[.answer(400)]],
            hasPreconditions: [true, false], requests: 1, status: 400),
        Scenario(
            testDescription: "unauthenticated requests", operations: Operation.writes + [.list, .read],
            instructions: [[.answer(401)]], hasPreconditions: [true, false], requests: 1, status: 401),
        Scenario(
            testDescription: "a temporary failure, then a permanent one", operations: Operation.allCases,
            instructions: [[.answer(503), .answer(400)], [.reset, .answer(400)]], hasPreconditions: [true, false],
            requests: 2, status: 400),
    ]

    @Test(arguments: scenarios) func `Operations are retried after temporary failures and executed once`(
        scenario: Scenario
    )
        async throws
    {
        for type in RemoteStopTests.places {
            for operation in scenario.operations {
                for instructions in scenario.instructions {
                    for isBound in scenario.hasPreconditions {
                        try await check(scenario, type, operation, instructions, isBound)
                    }
                }
            }
        }
    }

    private func check(
        _ scenario: Scenario, _ type: any RemoteFixture.Type, _ operation: Operation, _ instructions: [Instruction],
        _ isBound: Bool
    ) async throws {
        let what = Comment("\(type) \(operation) \(instructions) \(isBound)")
        let place = try type.init(StorageFixture(), limits: .patient, clock: HurriedClock())
        try place.fixture.put([1], "b", "a", by: type.dialect)
        let stored = try await place.backend.metadata(of: ref("a"))
        let before = place.fixture.log.requests(operation.kind).count
        place.fixture.faults = instructions.enumerated().map { .init(.nth($0 + 1, operation.kind), $1.deed) }
        let conditions = isBound ? Preconditions(stored.version) : Preconditions()
        if let status = scenario.status {
            let error = try await failure { try await perform(operation, place.backend, conditions) }
            #expect(error.httpStatus == status && error.bucket == "b", what)
            #expect(place.fixture.bytes("b", "a") == [1], what)
        } else {
            try await perform(operation, place.backend, conditions)
            #expect(place.fixture.unfired.isEmpty, what)
        }
        let requests = place.fixture.log.requests(operation.kind).count - before
        #expect(requests == scenario.requests ?? instructions.count + 1, what)
        if scenario.status == nil { try await expectOnce(operation, place, stored, what) }
    }

    private func perform(
        _ operation: Operation, _ backend: RemoteBackend, _ conditions: Preconditions
    ) async throws {
        let caller = Caller(retryTime: .seconds(60))
        switch operation {
        case .get: _ = try await backend.metadata(of: ref("a"), for: caller)
        case .list: _ = try await backend.list(ListQuery(ref(""), maxResults: 10), for: caller)
        case .read: _ = try await backend.data(of: ref("a"), maxSize: 10, for: caller)
        case .insert:
            let upload = Upload(reference: try ref("a"), source: .data([1, 2]), metadata: .init(), if: conditions)
            _ = try await backend.run(upload, retryTime: .seconds(60))
        case .update: _ = try await backend.updateMetadata(of: ref("a"), .init(), if: conditions, for: caller)
        case .delete: try await backend.delete(ref("a"), if: conditions, for: caller)
        }
    }

    private func expectOnce(
        _ operation: Operation, _ place: any RemoteFixture, _ before: ObjectMetadata, _ what: Comment
    ) async throws {
        let now = try? await place.backend.metadata(of: ref("a"))
        switch operation {
        case .get, .list, .read: #expect(now == before, what)
        case .insert: #expect(now?.size == 2 && now?.metageneration == 1, what)
        case .update: #expect(now?.generation == before.generation && now?.metageneration == 2, what)
        case .delete: #expect(now == nil, what)
        }
    }

    // MARK: - Faults within the bytes

    private static let size = (8 << 20) + 300_000

    static let uploads: [[StorageFixture.Fault]] = [
        [.init(.first(.chunk, .finalize), .reset), .init(.nth(2, .chunk, .finalize), .answer(503))],
        [.init(.first(.chunk, .finalize), .answer(408))],
        [.init(.byte(256 << 10), .answer(503))],
        [.init(.byte(8 << 20), .answer(503)), .init(.first(.query), .answer(408))],
    ]

    @Test(arguments: uploads.indices, [true, false])
    func `Resumable uploads do not resend received bytes`(number: Int, isBound: Bool) async throws {
        let bytes = noise(Self.size)
        for type in RemoteStopTests.places {
            let place = try type.init(StorageFixture(), limits: .patient, clock: HurriedClock())
            place.fixture.faults = Self.uploads[number]
            let upload = Upload(
                reference: try ref("a"), source: .data(bytes), metadata: .init(),
                if: Preconditions(generation: isBound ? 0 : nil))
            let stored = try await place.backend.run(upload, retryTime: .seconds(60))
            #expect(stored.size == bytes.count && place.fixture.bytes("b", "a") == bytes)
            #expect(place.fixture.unfired.isEmpty && place.fixture.log.resentPersistedBytes == 0)
        }
    }

    static let downloads: [[StorageFixture.Fault]] = [
        [.init(.byte(10), .reset), .init(.byte(200_000), .reset)], [.init(.byte(256 << 10), .reset)],
    ]

    @Test(arguments: downloads.indices) func `Downloads continue after a broken connection`(number: Int) async throws {
        let bytes = noise(Self.size)
        for type in RemoteStopTests.places {
            let place = try type.init(StorageFixture(), limits: .patient, clock: HurriedClock())
            try place.fixture.put(bytes, "b", "a", by: type.dialect)
            place.fixture.faults = Self.downloads[number]
            let caller = Caller(retryTime: .seconds(60))
            #expect(try await place.backend.data(of: ref("a"), maxSize: .max, for: caller) == bytes)
            #expect(place.fixture.unfired.isEmpty)
        }
    }
}
