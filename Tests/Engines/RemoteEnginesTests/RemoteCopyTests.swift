import JSONText
import Platform
import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// Copies and moves at a service, where requests fail and other clients write.
@Suite(.watchdog) struct RemoteCopyTests {
    private let bytes = noise(300_000)

    private func place(_ type: any RemoteFixture.Type) async throws -> any RemoteFixture {
        let place = try await type.init()
        try await place.backend.put(bytes, at: "a")
        place.fixture.bytesPerRewrite = 100_000
        return place
    }

    private func expectCopy(_ place: any RemoteFixture, isMove: Bool = false) async throws {
        #expect(place.fixture.bytes("b", "b") == bytes)
        #expect((place.fixture.bytes("b", "a") == nil) == isMove)
        #expect(place.fixture.log.unfired.isEmpty)
    }

    @Test func `Google Cloud Storage copies by itself, in as many calls as it wants`() async throws {
        let place = try await place(GCSFixture.self)
        let count = place.fixture.log.requests.count
        _ = try await place.backend.run(.copy(of: ref("a"), to: ref("b")))
        let kinds = place.fixture.log.requests.dropFirst(count).map(\.kind)
        #expect(kinds == [.getMetadata, .getMetadata, .rewrite, .rewrite, .rewrite])
        try await expectCopy(place)
    }

    @Test func `Firebase Storage gets the bytes of a copy in pieces`() async throws {
        let place = try await place(FirebaseFixture.self)
        let count = place.fixture.log.requests.count
        _ = try await place.backend.run(.copy(of: ref("a"), to: ref("b")), chunks: .fixed(262_144))
        let kinds = place.fixture.log.requests.dropFirst(count).map(\.kind)
        #expect(kinds == [.getMetadata, .getMetadata, .start, .media, .chunk, .media, .finalize])
        try await expectCopy(place)
    }

    @Test func `A copy continues after failures of each of its requests`() async throws {
        let faults: [StorageFixture.Fault.Action] = [
            .answer(503), .answerAfterHandling(503), .reset, .resetAfterHandling, .closeAfterHandling,
        ]
        let kinds: [(any RemoteFixture.Type, [StorageFixture.Kind])] = [
            (GCSFixture.self, [.getMetadata, .rewrite, .delete]),
            (FirebaseFixture.self, [.getMetadata, .start, .media, .chunk, .finalize, .delete]),
        ]
        for (type, kinds) in kinds {
            for kind in kinds {
                try await forEachAtOnce(faults) { fault in
                    for isMove in kind == .delete ? [true] : [false, true] {
                        let place = try await place(type)
                        place.fixture.faults = ([.init(.first(kind), fault)])
                        _ = try await place.backend.run(
                            .copy(of: ref("a"), to: ref("b"), isMove: isMove), chunks: .fixed(262_144),
                            retryTime: .seconds(600))
                        try await expectCopy(place, isMove: isMove)
                    }
                }
            }
        }
    }

    @Test func `A rewrite whose token is refused starts again`() async throws {
        let place = try await place(GCSFixture.self)
        place.fixture.faults = ([.init(.nth(2, .rewrite), .answer(400))])
        _ = try await place.backend.run(.copy(of: ref("a"), to: ref("b")), retryTime: .seconds(600))
        try await expectCopy(place)
    }

    @Test func `A source that is replaced while it is copied is copied again, unless its client wants the old one`()
        async throws
    {
        let other = noise(290_000, seed: 7)
        for (type, kind) in [
            (GCSFixture.self, StorageFixture.Kind.rewrite), (FirebaseFixture.self, .media),
        ] as [(any RemoteFixture.Type, StorageFixture.Kind)] {
            for wantsOld in [false, true] {
                let place = try await place(type)
                let fixture = place.fixture
                let old = try await place.backend.metadata(of: ref("a"))
                fixture.faults = [.init(.nth(2, kind), .meanwhile { try? fixture.put(other, "b", "a") })]
                func copy() async throws {
                    _ = try await place.backend.run(
                        .copy(
                            of: ref("a"), to: ref("b"),
                            ifSource: wantsOld ? Preconditions(generation: old.generation) : Preconditions()),
                        chunks: .fixed(262_144), retryTime: .seconds(600))
                }
                if wantsOld {
                    let error = try await failure { try await copy() }
                    #expect(error.code == .preconditionFailed && error.object == "a" && error.version != nil)
                    #expect(fixture.bytes("b", "b") == nil)
                } else {
                    try await copy()
                    #expect(fixture.bytes("b", "b") == other)
                }
            }
        }
    }

    @Test func `A source that is deleted while it is copied is not found`() async throws {
        for (type, kind) in [
            (GCSFixture.self, StorageFixture.Kind.rewrite), (FirebaseFixture.self, .media),
        ] as [(any RemoteFixture.Type, StorageFixture.Kind)] {
            let place = try await place(type)
            let fixture = place.fixture
            fixture.faults = [.init(.nth(2, kind), .meanwhile { fixture.remove("b", "a") })]
            let error = try await failure {
                _ = try await place.backend.run(
                    .copy(of: ref("a"), to: ref("b")), chunks: .fixed(262_144), retryTime: .seconds(600))
            }
            #expect(error.code == .objectNotFound && error.object == "a")
        }
    }

    @Test func `A source whose metadata changes before the end of its move is kept, with these metadata`()
        async throws
    {
        for (type, kind) in [
            (GCSFixture.self, StorageFixture.Kind.delete), (FirebaseFixture.self, .finalize),
        ] as [(any RemoteFixture.Type, StorageFixture.Kind)] {
            let place = try await place(type)
            let fixture = place.fixture
            fixture.faults = [.init(.first(kind), .meanwhile { fixture.change("b", "a", ["cacheControl": "n"]) })]
            let error = try await failure {
                _ = try await place.backend.run(
                    .copy(of: ref("a"), to: ref("b"), isMove: true), chunks: .fixed(262_144), retryTime: .seconds(600))
            }
            #expect(error.code == .preconditionFailed && error.object == "a")
            #expect(fixture.bytes("b", "a") == bytes)
        }
    }

    @Test func `A source that is replaced before the end of its move is kept, and the move fails`() async throws {
        // Firebase's protocol binds no deletion to a generation: the engine looks right before it.
        for (type, kind) in [
            (GCSFixture.self, StorageFixture.Kind.delete), (FirebaseFixture.self, .finalize),
        ] as [(any RemoteFixture.Type, StorageFixture.Kind)] {
            let place = try await place(type)
            let (fixture, other) = (place.fixture, noise(5, seed: 7))
            fixture.faults = [.init(.first(kind), .meanwhile { try? fixture.put(other, "b", "a") })]
            let error = try await failure {
                _ = try await place.backend.run(
                    .copy(of: ref("a"), to: ref("b"), isMove: true), chunks: .fixed(262_144), retryTime: .seconds(600))
            }
            #expect(error.code == .preconditionFailed && error.object == "a")
            #expect(fixture.bytes("b", "a") == other && fixture.bytes("b", "b") == bytes)
        }
    }

    /// A move whose first run has failed when it was to delete its source, as a retry finds it.
    private func failedMove(_ place: any RemoteFixture, _ fault: StorageFixture.Fault.Action) async throws -> Upload {
        place.fixture.faults = [.init(.first(.delete), fault)]
        let upload = try await place.backend.interrupted(
            copy: .copy(of: ref("a"), to: ref("b"), isMove: true), afterSending: bytes.count)
        #expect(place.fixture.bytes("b", "b") == bytes && place.fixture.log.unfired.isEmpty)
        return upload
    }

    @Test func `A retried move whose source is deleted has succeeded`() async throws {
        for type in [GCSFixture.self, FirebaseFixture.self] as [any RemoteFixture.Type] {
            let place = try await place(type)
            let upload = try await failedMove(place, .resetAfterHandling)
            let generation = try await place.backend.metadata(of: ref("b")).generation
            #expect(try await place.backend.continueUpload(upload).generation == generation)
            try await expectCopy(place, isMove: true)
        }
    }

    @Test func `A retried move leaves a source that was replaced since`() async throws {
        for type in [GCSFixture.self, FirebaseFixture.self] as [any RemoteFixture.Type] {
            let place = try await place(type), other = noise(290_000, seed: 7)
            let upload = try await failedMove(place, .answer(503))
            try place.fixture.put(other, "b", "a")
            let error = try await failure { _ = try await place.backend.continueUpload(upload) }
            #expect(error.code == .preconditionFailed && error.object == "a")
            #expect(place.fixture.bytes("b", "a") == other && place.fixture.bytes("b", "b") == bytes)
        }
    }

    @Test func `A move that is retried without a bookmark loses no bytes`() async throws {
        for type in [GCSFixture.self, FirebaseFixture.self] as [any RemoteFixture.Type] {
            let place = try await place(type), other = noise(290_000, seed: 7)
            var upload = try await failedMove(place, .answer(503))
            upload.bookmark = nil
            try place.fixture.put(other, "b", "a")
            _ = try await place.backend.continueUpload(upload)
            #expect(place.fixture.bytes("b", "a") == nil && place.fixture.bytes("b", "b") == other)
        }
    }
}
