import Platform
import Roots
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog(minutes: 10)) struct RecentAnswerTests {
    private let place: EmbeddedFixture
    private var engine: EmbeddedBackend { place.backend }
    private let caller = Caller(retryTime: .seconds(600))

    init() async throws { place = try await EmbeddedFixture() }

    /// Reads until the answer is known. It is known for a short time.
    private func known(_ reference: Reference) async throws -> Result<ObjectMetadata, StorageError> {
        while true {
            _ = try? await engine.metadata(of: reference)
            if let known = engine.knownMetadata(of: reference) { return known }
        }
    }

    private func known(_ query: ListQuery) async throws -> Listing {
        while true {
            _ = try await engine.list(query, for: caller)
            if let known = engine.knownList(query) { return known }
        }
    }

    @Test func `What was read is known, found or not, until objects change`() async throws {
        let stored = try await engine.put([1], at: "a")
        #expect(engine.knownMetadata(of: try ref("a")) == nil)
        #expect(try await known(ref("a")).get() == stored)
        let missing = await #expect(throws: StorageError.self) { try await known(ref("b")).get() }
        #expect(missing?.code == .objectNotFound)
        _ = try await engine.put([2], at: "c")
        #expect(try engine.knownMetadata(of: ref("a")) == nil && engine.knownMetadata(of: ref("b")) == nil)
    }

    @Test func `Each kind of change makes answers unknown`() async throws {
        let folder = ListQuery(try ref("x"))
        var change = MetadataChange()
        change.custom = .merge(["k": "v"])
        let update = change
        let changes: [() async throws -> Void] = [
            { _ = try await engine.put([1, 2], at: "x/a") },
            { _ = try await engine.updateMetadata(of: ref("x/a"), update) },
            { try await engine.putAll([.data([3], to: ref("x/b"))]) },
            { try await engine.delete(ref("x/a"), if: .init(), for: caller) },
            { _ = try await engine.make(StoredBucket("new")) },
            { await engine.close() },
        ]
        _ = try await engine.put([1], at: "x/a")
        for change in changes {
            _ = try await known(folder)
            _ = try await known(ref("x/a"))
            try await change()
            #expect(try engine.knownMetadata(of: ref("x/a")) == nil && engine.knownList(folder) == nil)
        }
    }

    @Test func `Lists are known by all that they depend on`() async throws {
        for name in ["x/a", "x/b", "x/c/d"] { _ = try await engine.put([1], at: name) }
        let queries = [
            ListQuery(try ref("x")), ListQuery(try ref("x"), maxResults: 1), ListQuery(try ref("x"), isRecursive: true),
            ListQuery(try ref("x"), wantsMetadata: true), ListQuery(try ref("")),
        ]
        for query in queries {
            let listing = try await engine.list(query, for: caller)
            #expect(try await known(query) == listing)
        }
        for number in 0...RecentAnswers.longestList { _ = try await engine.put([1], at: "many/\(number)") }
        let many = ListQuery(try ref("many"))
        #expect(try await engine.list(many, for: caller).items.count == 51 && engine.knownList(many) == nil)
    }

    private final class Shared: Sendable {
        let acknowledged = Atomic<Int>(0)
    }

    @Test func `What is known is never older than what was acknowledged`() async throws {
        let shared = Shared()
        _ = try await engine.put([], at: "a")
        var change = MetadataChange()
        change.custom = .merge(["n": "0"])
        _ = try await engine.updateMetadata(of: ref("a"), change)
        try await withThrowingTaskGroup { group in
            group.addTask {
                for number in 1...300 {
                    var change = MetadataChange()
                    change.custom = .merge(["n": "\(number)"])
                    _ = try await engine.updateMetadata(of: ref("a"), change)
                    shared.acknowledged.store(number, ordering: .sequentiallyConsistent)
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    var last = 0
                    while last < 300 {
                        let least = shared.acknowledged.load(ordering: .sequentiallyConsistent)
                        let answer = engine.knownMetadata(of: try ref("a"))
                        let metadata =
                            if let answer { try answer.get() } else { try await engine.metadata(of: ref("a")) }
                        let number = try #require(Int(metadata.settable.custom["n"] ?? ""))
                        #expect(number >= max(least, last))
                        last = number
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `What is known is used for a short time after a read that has found the root`() async throws {
        let clock = ManualClock()
        let place = try await EmbeddedFixture(time: TimeSource(clock: clock))
        let stored = try await place.backend.put([1], at: "a")
        _ = try await place.backend.metadata(of: ref("a"))
        #expect(try place.backend.knownMetadata(of: ref("a"))?.get() == stored)
        clock.advance(by: .milliseconds(100))
        #expect(try place.backend.knownMetadata(of: ref("a")) == nil)
        _ = try await place.backend.metadata(of: ref("a"))
        #expect(try place.backend.knownMetadata(of: ref("a")) != nil)
    }

    @Test func `Answers are kept in a bounded memory`() async throws {
        var change = MetadataChange()
        change.custom = .merge(["k": String(repeating: "v", count: 8000)])
        let metadata = try SettableMetadata.ofUpload(change, named: ["a"])
        for number in 0..<300 {
            _ = try await engine.run(Upload(reference: ref("\(number)"), source: .data([]), metadata: metadata))
        }
        for number in 0..<300 { _ = try await engine.metadata(of: ref("\(number)")) }
        let known = try (0..<300).filter { engine.knownMetadata(of: try ref("\($0)")) != nil }
        #expect(known.count <= 128)
    }
}
