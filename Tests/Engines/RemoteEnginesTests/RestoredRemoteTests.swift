import Checksums
import HTTPText
import JSONText
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Uploads and copies at remote engines that one process began and the next one continues.
@Suite(.watchdog(minutes: 10)) struct RestoredRemoteTests {
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]
    let bytes = noise(5 * granule + 1000)
    let scratch: Scratch
    let path: String

    init() throws {
        scratch = try Scratch()
        path = try scratch.file("source", bytes)
    }

    private func expectStored(_ place: any RemoteFixture, _ stored: ObjectMetadata) async throws {
        #expect(stored.checksums.crc32c == Checksum(of: bytes).crc32c && stored.size == bytes.count)
        #expect(place.fixture.bytes("b", "a") == bytes && place.fixture.objects == ["b/a"])
        #expect(try await place.backend.metadata(of: ref("a")) == stored)
        #expect(place.fixture.log.openSessions.isEmpty)
    }

    @Test(arguments: 0...5)
    func `A restored upload continues its session from every chunk boundary`(chunks: Int) async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: chunks * granule)
            let again = try type.init(place.fixture)
            let stored = try await again.backend.continueUpload(upload)
            try await expectStored(again, stored)
            #expect(place.fixture.log.sessions.count == 1 && place.fixture.log.resentPersistedBytes == 0)
        }
    }

    @Test func `A restored upload does not resend bytes that the server received after the checkpoint`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: granule, thenSending: 2 * granule)
            let again = try type.init(place.fixture)
            let steps = Steps()
            let stored = try await again.backend.continueUpload(upload, between: steps.take)
            #expect(steps.all.first == .query && steps.sent.first?.lowerBound == Int64(3 * granule))
            try await expectStored(again, stored)
            #expect(place.fixture.log.sessions.count == 1 && place.fixture.log.resentPersistedBytes == 0)
        }
    }

    @Test func `A restored upload sends chunks that are multiples of the server's granularity`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            let session = try type.init(place.fixture).backend.beginUpload(upload)
            #expect(await session.perform(.query) == .received(upTo: Int64(granule)))
            #expect(await session.perform(.send(262_144..<600_000)) == .received(upTo: 524_288))
            #expect(await session.perform(.send(524_288..<524_289)) == .received(upTo: 786_432))
        }
    }

    @Test func `Damage before a crash is detected after it`() async throws {
        for type in Self.places {
            let place = try await type.init()
            place.fixture.faults = [.init(.byte(7), .corrupt)]
            let upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
            let again = try type.init(place.fixture)
            let error = try await failure { _ = try await again.backend.continueUpload(upload) }
            #expect(error.code == .nonMatchingChecksum)
            // Firebase's protocol cannot delete one generation alone.
            #expect(place.fixture.objects.isEmpty == (type == GCSFixture.self))
        }
    }

    @Test(arguments: [404, 410])
    func `A restored upload opens a new session if its session is lost`(status: Int) async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
            place.fixture.faults = [.init(.first(.query), .forget(status))]
            let again = try type.init(place.fixture)
            let steps = Steps()
            let stored = try await again.backend.continueUpload(upload, between: steps.take)
            #expect(steps.all.starts(with: [.query, .open]) && steps.sent.first?.lowerBound == 0)
            try await expectStored(again, stored)
            #expect(place.fixture.log.sessions.count == 2)
        }
    }

    @Test(arguments: [false, true])
    func `An upload that completed before the crash succeeds without a second object`(isForgotten: Bool) async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: 4 * granule)
            let first = try await type.init(place.fixture).backend.continueUpload(upload)
            if isForgotten { place.fixture.faults = [.init(.first(.query), .forget(404))] }
            let again = try type.init(place.fixture)
            let steps = Steps()
            let stored = try await again.backend.continueUpload(upload, between: steps.take)
            #expect(stored == first && steps.all == [.query])
            try await expectStored(again, stored)
        }
    }

    @Test func `A restored upload of one request that was stored is not sent again`() async throws {
        let small = try scratch.file("small", [1, 2, 3])
        for type in Self.places {
            let place = try await type.init()
            var upload = try await place.backend.upload(file: small, to: "a")
            let first = try await place.backend.run(upload)
            upload.isRestored = true
            let stored = try await type.init(place.fixture).backend.continueUpload(upload)
            #expect(stored == first && place.fixture.log.requests(.multipart, .raw).count == 1)
        }
    }

    @Test func `A restored upload does not use a session at another server`() async throws {
        for type in Self.places {
            let place = try await type.init(), other = try StorageFixture()
            var upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
            let text = try #require(upload.bookmark?.text.replacing(#"\/"#, with: "/"))
            #expect(text.contains(place.fixture.url))
            upload.bookmark = Bookmark(text.replacing(place.fixture.url, with: other.url))
            let again = try type.init(place.fixture)
            let stored = try await again.backend.continueUpload(upload)
            #expect(other.requests.isEmpty && place.fixture.bytes("b", "a") == bytes)
            #expect(stored.checksums.crc32c == Checksum(of: bytes).crc32c && place.fixture.log.sessions.count == 2)
            #expect(!place.fixture.log.sessions.contains { $0.dialect != type.dialect })
        }
    }

    @Test(arguments: ["", "{}", "null"])
    func `A restored upload with an invalid bookmark starts over`(text: String) async throws {
        for type in Self.places {
            let place = try await type.init()
            var upload = try await place.backend.upload(file: path, to: "a")
            (upload.isRestored, upload.bookmark) = (true, Bookmark(text))
            try await expectStored(place, place.backend.continueUpload(upload))
        }
    }

    @Test func `A restored upload that is discarded is cancelled at the server`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            let again = try type.init(place.fixture)
            let session = again.backend.beginUpload(upload)
            #expect(await session.bookmark() == upload.bookmark && upload.bookmark != nil)
            session.discard()
            await again.backend.settle()
            #expect(place.fixture.log.cancelledSessions.count == 1 && place.fixture.objects.isEmpty)
        }
    }

    @Test(arguments: [0, 17, granule, 600_000])
    func `A restored copy or move that has sent nothing completes in its session`(size: Int) async throws {
        for (type, isMove) in [(Self.places[0], false), (Self.places[0], true), (Self.places[1], false)] {
            let place = try await type.init(), bytes = noise(size)
            try place.fixture.put(bytes, "b", "source")
            let upload = try await place.backend.interrupted(
                copy: .copy(of: ref("source"), to: ref("a"), isMove: isMove))
            let again = try type.init(place.fixture)
            let steps = Steps()
            let stored = try await again.backend.continueUpload(upload, between: steps.take)
            #expect(stored.size == size && place.fixture.bytes("b", "a") == bytes)
            #expect(steps.all.first == .query && !steps.all.contains(.open))
            #expect(place.fixture.objects == (isMove ? ["b/a"] : ["b/a", "b/source"]))
        }
    }

    @Test func `A restored copy checks the preconditions on its source before the last bytes`() async throws {
        for type in Self.places {
            let place = try await type.init()
            try place.fixture.put(noise(17), "b", "source")
            let upload = try await place.backend.interrupted(
                copy: .copy(of: ref("source"), to: ref("a"), ifSource: Preconditions(metageneration: 1)))
            place.fixture.change("b", "source", ["cacheControl": "n"])
            let again = try type.init(place.fixture)
            let error = try await failure { _ = try await again.backend.continueUpload(upload) }
            #expect(error.code == .preconditionFailed && place.fixture.bytes("b", "a") == nil)
        }
    }

    // MARK: Copies at S3

    private static let s3Servers = [StorageFixture.S3Settings.Server.ceph, .aws]
    /// In one request, and in parts of 6 MiB before and after the first one.
    private static let s3Copies: [(size: Int, sent: Int)] = [(17, 0), (7 << 20, 0), (7 << 20, 1)]

    private func store(_ bytes: [UInt8], _ type: String, at place: S3Fixture) async throws {
        var metadata = SettableMetadata()
        (metadata.content[.contentType], metadata.custom["k"]) = (type, type)
        _ = try await place.backend.run(.data(bytes, to: ref("source"), metadata))
    }

    private func interruptedCopy(
        _ size: Int, sent: Int, at server: StorageFixture.S3Settings.Server, isMove: Bool
    ) async throws -> (S3Fixture, Upload) {
        let fixture = try StorageFixture(buckets: ["b"])
        fixture.s3.server = server
        let place = try S3Fixture(fixture, largestCopy: 6 << 20)
        try await store(noise(size), "x/y", at: place)
        let upload = try await place.backend.interrupted(
            copy: .copy(of: ref("source"), to: ref("a"), isMove: isMove), afterSending: sent, isRecorded: true)
        return (try S3Fixture(fixture, largestCopy: 6 << 20), upload)
    }

    private func expectCopy(
        _ stored: ObjectMetadata, _ bytes: [UInt8], _ type: String, at place: S3Fixture, isMove: Bool
    ) async throws {
        #expect(place.fixture.bytes("b", "a") == bytes && stored.checksums.md5 == Checksum(of: bytes).md5)
        #expect(stored.settable.content[.contentType] == type && stored.settable.custom["k"] == type)
        #expect(try await place.backend.metadata(of: ref("a")) == stored)
        #expect(place.fixture.objects == (isMove ? ["b/a"] : ["b/a", "b/source"]))
        await place.backend.settle()
        #expect(place.fixture.log.openSessions.isEmpty)
    }

    @Test(arguments: s3Servers, [false, true])
    func `A restored copy or move at S3 has the bytes and metadata of its source, also of a new one`(
        server: StorageFixture.S3Settings.Server, isMove: Bool
    ) async throws {
        for (size, sent) in Self.s3Copies {
            for (bytes, type) in [(noise(size), "x/y"), (noise(size, seed: 99), "z/z")] {
                let (place, upload) = try await interruptedCopy(size, sent: sent, at: server, isMove: isMove)
                if type == "z/z" { try await store(bytes, type, at: place) }
                let stored = try await place.backend.continueUpload(upload)
                try await expectCopy(stored, bytes, type, at: place, isMove: isMove)
                guard type == "x/y" else { continue }
                #expect(place.fixture.log.requests(.copyPart).count == (size == 17 ? 0 : 2))
            }
        }
    }

    @Test func `A restored copy at S3 that is discarded leaves no upload, unless Complete may have been sent`()
        async throws
    {
        let rest = UploadMachine.Step.send(6 << 20..<7 << 20)
        for (sent, steps, isCancelled) in [
            (1, [], true), (1, [.query, rest], true), (7 << 20, [], false), (7 << 20, [.query], false),
        ] as [(Int, [UploadMachine.Step], Bool)] {
            let (place, upload) = try await interruptedCopy(7 << 20, sent: sent, at: .ceph, isMove: false)
            let session = place.backend.beginUpload(upload)
            for step in steps {
                guard case .received = await session.perform(step) else { throw Aborted() }
            }
            session.discard()
            await Task { @Loop in }.value
            await place.backend.settle()
            #expect(place.fixture.log.cancelledSessions.count == (isCancelled ? 1 : 0), "\(sent) \(steps)")
        }
    }

    @Test func `A restored copy at S3 is bound to the bytes of its earlier parts`() async throws {
        let (place, upload) = try await interruptedCopy(7 << 20, sent: 1, at: .aws, isMove: false)
        _ = try await place.backend.continueUpload(upload)
        let tags = place.fixture.log.requests(.copyPart).map { $0.headers["x-amz-copy-source-if-match"] }
        #expect(tags.count == 2 && tags[0] != nil && tags[0] == tags[1])
    }

    @Test(arguments: [(400, "InvalidArgument"), (404, "NoSuchUpload")])
    func `A restored copy at S3 starts over if the server refuses its parts`(status: Int, code: String) async throws {
        let (place, upload) = try await interruptedCopy(7 << 20, sent: 1, at: .ceph, isMove: true)
        place.fixture.faults = [
            .init(.first(.copyPart), .answer(status, body: StorageFixture.s3Error(code)))
        ]
        let session = place.backend.stoppable(upload)
        #expect(await session.perform(.query) == .received(upTo: 6 << 20))
        guard case .failed(let error) = await session.perform(.send(6 << 20..<7 << 20)) else { throw Aborted() }
        #expect(error.retryable)
        guard case .forgotten = await session.perform(.query) else { throw Aborted() }
    }
}
