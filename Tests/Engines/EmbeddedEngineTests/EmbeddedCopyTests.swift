import Database
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog) struct EmbeddedCopyTests {
    @Test(arguments: [0, 10, 200_000])
    func `A moved object keeps bytes, metadata and tokens, and what it replaces is removed`(size: Int) async throws {
        var place = try await EmbeddedFixture()
        var metadata = SettableMetadata()
        metadata.custom = ["k": "v", SettableMetadata.tokensKey: "one,two"]
        let before = try await place.backend.run(.data(noise(size), to: ref("a"), metadata))
        #expect(before.downloadTokens == ["one", "two"] && before.settable.custom == ["k": "v"])
        try await place.backend.put(noise(150_000), at: "b")
        let moved = try await place.backend.run(.copy(of: ref("a"), to: ref("b"), isMove: true))
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
                _ = try await place.backend.run(
                    .copy(of: ref("a"), to: ref("b"), isMove: true, if: conditions, ifSource: sourceConditions))
            }
            #expect(error.code == code)
            #expect(try await place.backend.metadata(of: ref("a")) == a)
            #expect(try await place.backend.metadata(of: ref("b")) == b)
        }
        let missing = try await failure {
            _ = try await place.backend.run(.copy(of: ref("c"), to: ref("b"), isMove: true))
        }
        #expect(missing.code == .objectNotFound)
    }

    @Test func `Copies share a file until the last of them is deleted, in any order`() async throws {
        let names = ["a", "b", "c", "d"]
        let bytes = noise(200_000)
        try await forEachAtOnce([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]]) { order in
            var place = try await EmbeddedFixture()
            try await place.backend.put(bytes, at: "a")
            for (source, copy) in [("a", "b"), ("b", "c"), ("a", "d")] {
                _ = try await place.backend.run(.copy(of: ref(source), to: ref(copy)))
            }
            var shared = Contents(objects: 4, rows: 0, files: 1, filesOnDisk: 1)
            #expect(try await place.settledContents(shared) == shared)
            place = try await place.reopened()
            for (step, index) in order.enumerated() {
                // Overwritten, moved over another, or deleted.
                switch step {
                case 0:
                    try await place.backend.put([1], at: names[index])
                    (shared.rows) = 1
                default:
                    try await place.backend.delete(names[index])
                    shared.objects -= 1
                }
                if step == 3 { (shared.files, shared.filesOnDisk) = (0, 0) }
                #expect(try await place.settledContents(shared) == shared)
                for other in order[(step + 1)...] { #expect(try await place.bytes(of: ref(names[other])) == bytes) }
                place = try await place.reopened()
            }
        }
    }

    @Test func `A copy onto itself is another generation of the same bytes`() async throws {
        try await forEachAtOnce([10, 200_000]) { size in
            let place = try await EmbeddedFixture()
            let before = try await place.backend.put(noise(size), at: "a")
            var metadata = SettableMetadata()
            metadata.content[.cacheControl] = "no-store"
            let after = try await place.backend.run(.copy(of: ref("a"), to: ref("a"), metadata))
            #expect(after.generation > before.generation && after.settable.content[.cacheControl] == "no-store")
            #expect(after.settable.content[.contentType] == before.settable.content[.contentType])
            let file: Int64 = size > 100_000 ? 1 : 0
            let expected = Contents(objects: 1, rows: 1 - file, files: file, filesOnDisk: file)
            #expect(try await place.settledContents(expected) == expected)
            #expect(try await place.bytes(of: ref("a")) == noise(size))
            try await place.backend.delete("a")
            #expect(try await place.settledContents(.none) == .none)
        }
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
