import Checksums
import HTTPText
import Storage
import TestSupport
import Testing

/// Copies and moves, at every engine.
@Suite(.watchdog(minutes: 10)) struct CopyTests {
    private static let places = ConformanceTests.places

    @Test(arguments: [0, 1, 200_000, (9 << 20) + 12_345])
    func `A copy has the bytes of its source, and its metadata or other ones`(size: Int) async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let bytes = noise(size, seed: UInt64(size))
            var metadata = SettableMetadata()
            metadata.content = [.contentType: "a/b", .cacheControl: "no-store"]
            metadata.custom = ["k": "v"]
            let source = try await place.backend.run(.data(bytes, to: ref("from/a"), metadata))
            let kept = try await place.backend.run(.copy(of: ref("from/a"), to: ref("to/a")))
            #expect(
                kept.checksums.agree(with: source.checksums) == true && kept.checksums.prove(bytes)
                    && kept.size == size)
            #expect(kept.settable == source.settable && kept.generation > source.generation)
            #expect(kept.metageneration == 1)
            metadata = SettableMetadata()
            metadata.custom = ["other": "w"]
            let replaced = try await place.backend.run(.copy(of: ref("from/a"), to: ref("to/b"), metadata))
            #expect(replaced.settable.custom == ["other": "w"])
            #expect(replaced.settable.content[.contentType] == "a/b")
            #expect(replaced.settable.content[.cacheControl] == nil)
            for name in ["from/a", "to/a", "to/b"] { #expect(try await place.bytes(of: ref(name)) == bytes) }
            #expect(try await place.backend.metadata(of: ref("from/a")) == source)
        }
    }

    @Test func `A copy goes to another bucket`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            try await place.backend.put([1, 2, 3], at: "a")
            let target = try Reference(bucket: "other", path: "a")
            _ = try await place.backend.run(.copy(of: ref("a"), to: target))
            #expect(try await place.bytes(of: target) == [1, 2, 3])
        }
    }

    @Test(arguments: [10, 200_000])
    func `A moved object is at its new name alone`(size: Int) async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let source = try await place.backend.put(noise(size), at: "a")
            try await place.backend.put([1], at: "b")
            let moved = try await place.backend.run(.copy(of: ref("a"), to: ref("b"), isMove: true))
            #expect(moved.checksums.md5 == source.checksums.md5 && moved.settable == source.settable)
            #expect(try await place.bytes(of: ref("b")) == noise(size))
            #expect(try await failure { _ = try await place.backend.metadata(of: ref("a")) }.code == .objectNotFound)
        }
    }

    @Test func `The conditions of source and target are those of a copy`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let a = try await place.backend.put([1], at: "a")
            let b = try await place.backend.put([2], at: "b")
            for isMove in [false, true] {
                for (conditions, sourceConditions) in [
                    (Preconditions(generation: 0), Preconditions()), (Preconditions(metageneration: 7), .init()),
                    (Preconditions(), Preconditions(generation: a.generation + 1)), (.init(), .init(metageneration: 2)),
                ] {
                    let error = try await failure {
                        _ = try await place.backend.run(
                            .copy(
                                of: ref("a"), to: ref("b"), isMove: isMove, if: conditions, ifSource: sourceConditions))
                    }
                    #expect(error.code == .preconditionFailed)
                    #expect(error.object == (conditions.isEmpty ? "a" : "b"))
                }
                let missing = try await failure {
                    _ = try await place.backend.run(.copy(of: ref("c"), to: ref("b"), isMove: isMove))
                }
                #expect(missing.code == .objectNotFound && missing.object == "c")
            }
            #expect(try await place.backend.metadata(of: ref("a")) == a)
            #expect(try await place.backend.metadata(of: ref("b")) == b)
            _ = try await place.backend.run(
                .copy(
                    of: ref("a"), to: ref("b"), isMove: true, if: .init(generation: b.generation),
                    ifSource: .init(generation: a.generation, metageneration: 1)))
            #expect(try await place.bytes(of: ref("b")) == [1])
        }
    }

    @Test func `A copy with another MD5 than its client expects is refused`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            try await place.backend.put([1], at: "a")
            var upload = try Upload.copy(of: ref("a"), to: ref("b"))
            upload.expectedMD5 = Checksum(of: [2]).md5.base64
            #expect(try await failure { _ = try await place.backend.run(upload) }.code == .nonMatchingChecksum)
            #expect(try await failure { _ = try await place.backend.metadata(of: ref("b")) }.code == .objectNotFound)
            upload.expectedMD5 = Checksum(of: [1]).md5.base64
            #expect(try await place.backend.run(upload).size == 1)
        }
    }
}
