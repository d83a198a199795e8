import Database
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog) struct MoveTests {
    private let caller = Caller(retryTime: .zero)

    @Test(arguments: [0, 10, 200_000])
    func `A moved object keeps bytes, metadata and tokens, and what it replaces is removed`(size: Int) async throws {
        var place = try await EmbeddedFixture()
        var metadata = SettableMetadata()
        metadata.custom = ["k": "v", SettableMetadata.tokensKey: "one,two"]
        let before = try await place.backend.run(.data(noise(size), to: ref("a"), metadata))
        #expect(before.downloadTokens == ["one", "two"] && before.settable.custom == ["k": "v"])
        try await place.backend.put(noise(150_000), at: "b")
        let moved = try await place.backend.move(ref("a"), to: ref("b"), if: .init(), ifSource: .init(), for: caller)
        #expect(moved.generation > before.generation && moved.metageneration == 1 && moved.size == before.size)
        #expect(moved.downloadTokens == before.downloadTokens && moved.settable == before.settable)
        let file: Int64 = size > 100_000 ? 1 : 0
        let expected = Contents(objects: 1, rows: 1 - file, files: file, filesOnDisk: file)
        #expect(try await place.settledContents(expected) == expected)
        place = try await place.reopened()
        #expect(try await place.backend.metadata(of: ref("b")) == moved)
        #expect(try await place.bytes(of: ref("b")) == noise(size))
        #expect(try await failure { _ = try await place.backend.metadata(of: ref("a")) }.code == .objectNotFound)
        try await place.backend.delete("b")
        #expect(try await place.settledContents(.none) == .none)
    }

    @Test func `A move is refused by the conditions of both names, and changes nothing`() async throws {
        let place = try await EmbeddedFixture()
        let (a, b) = (try await place.backend.put([1], at: "a"), try await place.backend.put([2], at: "b"))
        let refused: [(Preconditions, Preconditions, StorageError.Code)] = [
            (.init(generation: 0), .init(), .preconditionFailed),
            (.init(notGeneration: b.generation), .init(), .preconditionFailed),
            (.init(), .init(generation: b.generation), .preconditionFailed),
            (.init(), .init(notMetageneration: 1), .preconditionFailed),
            (.init(), .init(named: b.generation), .objectNotFound),
        ]
        for (conditions, sourceConditions, code) in refused {
            let error = try await failure {
                _ = try await place.backend.move(
                    ref("a"), to: ref("b"), if: conditions, ifSource: sourceConditions, for: caller)
            }
            #expect(error.code == code)
            #expect(try await place.backend.metadata(of: ref("a")) == a)
            #expect(try await place.backend.metadata(of: ref("b")) == b)
        }
        let missing = try await failure {
            _ = try await place.backend.move(ref("c"), to: ref("b"), if: .init(), ifSource: .init(), for: caller)
        }
        #expect(missing.code == .objectNotFound)
    }

    @Test func `Tokens in custom metadata are download tokens, and do not count as custom metadata`() async throws {
        let place = try await EmbeddedFixture()
        var metadata = SettableMetadata()
        metadata.custom = ["k": String(repeating: "x", count: 8191)]
        let stored = try await place.backend.run(.data([1], to: ref("a"), metadata))
        #expect(stored.downloadTokens?.count == 1)
        var change = MetadataChange()
        change.custom = .merge([SettableMetadata.tokensKey: "one"])
        let changed = try await place.backend.updateMetadata(of: ref("a"), change)
        #expect(changed.downloadTokens == ["one"] && changed.settable == stored.settable)
        change.custom = .removeAll
        #expect(try await place.backend.updateMetadata(of: ref("a"), change).downloadTokens == ["one"])
        change.custom = .merge([SettableMetadata.tokensKey: String(repeating: "x", count: 8193)])
        #expect(
            try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), change) }.code
                == .invalidArgument)
        #expect(try await place.backend.metadata(of: ref("a")).downloadTokens == ["one"])
    }
}
