import Checksums
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Behaviour of every engine. A new engine is another line here; the remote ones have the gateway of another process
/// as
/// their service.
@Suite(.watchdog(minutes: 10)) struct ConformanceTests {
    static let places: [any EngineFixture.Type] = [
        EmbeddedFixture.self, FirebaseGatewayFixture.self, GCSGatewayFixture.self, S3GatewayFixture.self,
    ]

    @Test(arguments: [0, 1, 64 << 10, (64 << 10) + 1, (1 << 20) + 1, (5 << 20) + 12_345])
    func `An upload from memory or from a file stores the same bytes`(size: Int) async throws {
        let bytes = noise(size, seed: UInt64(size))
        let expected = Checksum(of: bytes)
        let scratch = try Scratch()
        let file = try scratch.file("source", bytes)
        for place in Self.places {
            let place = try await place.init()
            let fromMemory = try await place.backend.run(.data(bytes, to: ref("memory")))
            let fromFile = try await place.backend.run(place.backend.upload(file: file, to: "file"))
            for (name, stored) in [("memory", fromMemory), ("file", fromFile)] {
                #expect(
                    stored.size == size && stored.checksums.md5 == expected.md5
                        && stored.checksums.crc32c == expected.crc32c)
                #expect(try await place.backend.metadata(of: ref(name)) == stored)
                #expect(try await place.bytes(of: ref(name)) == bytes)
            }
        }
    }

    @Test(arguments: [1, 1000, 300_000])
    func `Chunks of any size make the same object`(chunk: Int64) async throws {
        let bytes = noise(1_000_001 % Int(chunk * 40) + 1)
        for place in Self.places {
            let place = try await place.init()
            let stored = try await place.backend.run(
                .data(bytes, to: ref("a")), chunks: ChunkSizes(first: chunk, largest: chunk))
            #expect(stored.checksums.prove(bytes))
            #expect(try await place.bytes(of: ref("a")) == bytes)
        }
    }

    @Test func `An overwrite keeps only the newest generation and frees the space of the old one`() async throws {
        for type in Self.places {
            let place = try await type.init()
            var last: ObjectMetadata?
            for (round, size) in [10, 200_000, 100_000, 0, 300_000, 20].enumerated() {
                let bytes = noise(size, seed: UInt64(round))
                let stored = try await place.backend.put(bytes, at: "a")
                #expect(stored.generation > last?.generation ?? 0 && stored.metageneration == 1)
                #expect(try await place.bytes(of: ref("a")) == bytes)
                last = stored
            }
            let expected = Contents(objects: 1, rows: 1, files: 0, filesOnDisk: 0)
            if let place = place as? EmbeddedFixture {
                #expect(try await place.settledContents(expected) == expected)
            }
        }
    }

    @Test func `Generations grow across restarts, and metadata is kept`() async throws {
        for type in Self.places {
            var place: any EngineFixture = try await type.init()
            var generation: Int64 = 0
            for round in 0..<3 {
                for path in ["a", "b"] {
                    let stored = try await place.backend.put([UInt8(round)], at: path)
                    #expect(stored.generation > generation)
                    generation = stored.generation
                }
                place = try await place.reopened()
                #expect(try await place.backend.metadata(of: ref("b")).generation == generation)
            }
        }
    }

    @Test func `Metadata is set, kept and removed`() async throws {
        for place in Self.places {
            let place = try await place.init()
            var metadata = SettableMetadata()
            for property in ContentProperty.allCases { metadata.content[property] = "\(property) é" }
            metadata.content[.contentType] = "a/b; c=d"
            metadata.custom = ["": "", "key": "value", "\u{E9}": "1", "e": "2"]
            let uploaded = try await place.backend.run(.data([1], to: ref("a"), metadata))
            #expect(uploaded.settable == metadata)
            var change = MetadataChange()
            change.content = [.contentType: "", .cacheControl: nil]
            change.custom = .merge(["key": nil, "new": "x"])
            let updated = try await place.backend.updateMetadata(of: ref("a"), change)
            try metadata.apply(change)
            metadata.content = metadata.content.filter { $0.key != .cacheControl }
            #expect(updated.settable == metadata && updated.metageneration == 2)
            #expect(updated.generation == uploaded.generation && updated.updated >= uploaded.updated)
            #expect(updated.timeCreated == uploaded.timeCreated && updated.checksums.md5 == uploaded.checksums.md5)
            #expect(try await place.backend.metadata(of: ref("a")) == updated)
            change = MetadataChange()
            change.custom = .removeAll
            let cleared = try await place.backend.updateMetadata(of: ref("a"), change)
            #expect(cleared.settable.custom == [:] && cleared.metageneration == 3)
            #expect(cleared.settable.content == metadata.content)
            #expect(try await place.backend.updateMetadata(of: ref("a"), .init()).metageneration == 4)
            #expect(try await place.backend.put([2], at: "a").settable.custom == [:])
        }
    }

    @Test func `Keys of custom metadata are compared by bytes`() async throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        for place in Self.places {
            let place = try await place.init()
            var metadata = SettableMetadata()
            metadata.custom = [composed: "1", decomposed: "2"]
            #expect(try await place.backend.run(.data([1], to: ref("a"), metadata)).settable.custom.count == 2)
            let again = try await place.reopened()
            #expect(metadata.isMet(by: try await again.backend.metadata(of: ref("a")).settable))
            var change = MetadataChange()
            change.custom = .merge([composed: nil, decomposed: composed, "\u{212B}": "3", "\u{C5}": "4"])
            let updated = try await place.backend.updateMetadata(of: ref("a"), change).settable
            metadata.custom = [decomposed: composed, "\u{212B}": "3", "\u{C5}": "4"]
            #expect(metadata.isMet(by: updated))
            #expect(metadata.isMet(by: try await place.backend.metadata(of: ref("a")).settable))
        }
    }

    @Test func `A missing object is not found by any operation`() async throws {
        for place in Self.places {
            let place = try await place.init()
            try await place.backend.put([1], at: "dir/below")
            for (path, bucket) in [("a", "b"), ("dir", "b"), ("dir/below/x", "b"), ("dir/below", "other"), ("di", "b")]
            {
                let reference = try ref(path, in: bucket)
                let errors = [
                    try await failure { _ = try await place.backend.metadata(of: reference) },
                    try await failure { _ = try await place.backend.updateMetadata(of: reference, .init()) },
                ]
                for error in errors {
                    let expected = StorageError.objectNotFound(reference)
                    #expect(error.code == expected.code && error.message == expected.message)
                    #expect(error.bucket == bucket && error.object == path && !error.retryable)
                }
            }
        }
    }

    @Test func `A refused change of metadata changes nothing`() async throws {
        for place in Self.places {
            let place = try await place.init()
            let before = try await place.backend.put([1], at: "a")
            var change = MetadataChange()
            change.content = [.contentType: "new"]
            change.custom = .merge(["k": String(repeating: "x", count: 8192)])
            #expect(
                try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), change) }.code
                    == .invalidArgument)
            #expect(try await place.backend.metadata(of: ref("a")) == before)
        }
    }

    @Test(arguments: [10, 200_000])
    func `Bytes with another MD5 than the expected one are not stored`(size: Int) async throws {
        for place in Self.places {
            let place = try await place.init()
            let before = try await place.backend.put([1], at: "a")
            var upload = Upload.data(noise(size), to: try ref("a"))
            upload.expectedMD5 = "AAAAAAAAAAAAAAAAAAAAAA=="
            let error = try await failure { _ = try await place.backend.run(upload) }
            #expect(error.code == .nonMatchingChecksum && error.message.contains("AAAAAAAAAAAAAAAAAAAAAA=="))
            #expect(try await place.backend.metadata(of: ref("a")) == before)
            if let place = place as? EmbeddedFixture {
                let expected = Contents(objects: 1, rows: 1, files: 0, filesOnDisk: 0)
                #expect(try await place.settledContents(expected) == expected)
            }
        }
    }

    @Test func `Concurrent small uploads are all stored`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let stored = try await withThrowingTaskGroup(of: ObjectMetadata.self) { group in
                for number in 0..<64 {
                    group.addTask { try await place.backend.put([UInt8(number)], at: "\(number % 60)") }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(stored.map(\.generation)).count == 64)
            let again = try await place.reopened()
            for number in 4..<60 {
                #expect(try await again.bytes(of: ref("\(number)")) == [UInt8(number)])
            }
            #expect(try await again.contents().objects == 60)
        }
    }
}
