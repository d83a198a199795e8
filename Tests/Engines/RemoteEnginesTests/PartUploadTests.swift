import Checksums
import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// Uploads to Amazon S3 in parts. The fixture destroys the object of a completed upload that is completed again or
/// cancelled, as Ceph does.
@Suite(.watchdog(minutes: 10)) struct PartUploadTests {
    /// Three parts, the last one short.
    private static let bytes: [UInt8] = {
        let block = noise(1 << 20)
        return Array((0..<17).flatMap { _ in block }) + [1, 2, 3]
    }()

    private typealias Action = StorageFixture.Fault.Action

    private func place(_ faults: [StorageFixture.Fault] = []) throws -> S3Fixture {
        let place = try S3Fixture(StorageFixture())
        place.fixture.faults = faults
        return place
    }

    private func upload() throws -> Upload { .data(Self.bytes, to: try ref("a")) }

    /// A recorded upload, which another process can continue.
    private func recorded() throws -> Upload {
        var upload = try upload()
        upload.record.id = "task-1"
        upload.isRecorded = true
        return upload
    }

    private func cancellations(at place: S3Fixture) -> Int {
        place.fixture.requests.count { $0.kind == .cancel }
    }

    @Test func `An upload in parts has the bytes of all parts, and their checksums`() async throws {
        let place = try place()
        let stored = try await place.backend.run(upload())
        #expect(place.fixture.requests.count { $0.kind == .chunk } == 3)
        #expect(stored.size == Self.bytes.count && stored.checksums.prove(Self.bytes))
        #expect(stored.checksums.crc32c != nil && stored.checksums.parts?.count == 3)
        #expect(try await place.bytes(of: ref("a")) == Self.bytes)
        #expect(try await place.backend.metadata(of: ref("a")) == stored)
    }

    @Test(arguments: [[], [1], [2], [1, 2]])
    func `A file is read ahead part by part, and its object has all bytes also after pauses`(
        parks: [Int]
    ) async throws {
        let place = try place()
        let scratch = try Scratch()
        let session = place.backend.stoppable(
            try await place.backend.upload(file: scratch.file("source", Self.bytes), to: "a"))
        guard case .opened(let granularity, _) = await session.perform(.open) else { return #expect(Bool(false)) }
        let size = Int64(Self.bytes.count)
        for part in 1...3 {
            let start = Int64(part - 1) * granularity
            let answer = await session.perform(.send(start..<min(size, start + granularity)))
            if part < 3 {
                #expect(answer == .received(upTo: start + granularity))
            } else {
                guard case .completed(let stored) = answer else { return #expect(Bool(false), "\(answer)") }
                #expect(stored.checksums.crc32c == Checksum(of: Self.bytes).crc32c && stored.size == size)
            }
            if parks.contains(part) { session.park() }
        }
        #expect(try await place.bytes(of: ref("a")) == Self.bytes)
        // A pause ends the request with a part that was being sent ahead.
        let requests = place.fixture.requests.count { $0.kind == .chunk }
        #expect(parks.isEmpty ? requests == 3 : requests >= 3)
    }

    @Test func `A part is sent before the server has answered the one before it`() async throws {
        let answer = Signal(), never = Signal()
        let place = try place([
            .init(.first(.chunk), .answerLate(answer)), .init(.nth(2, .chunk), .stall(until: never)),
        ])
        let session = place.backend.stoppable(try upload())
        guard case .opened(let granularity, _) = await session.perform(.open) else { return #expect(Bool(false)) }
        async let sent = session.perform(.send(0..<granularity))
        try await eventually { place.fixture.requests.count { $0.kind == .chunk } == 2 }
        answer.fire()
        #expect(await sent == .received(upTo: granularity))
        // The pause ends the request, and the part is sent again.
        session.park()
        #expect(await session.perform(.send(granularity..<2 * granularity)) == .received(upTo: 2 * granularity))
        guard case .completed = await session.perform(.send(2 * granularity..<Int64(Self.bytes.count))) else {
            return #expect(Bool(false))
        }
        #expect(try await place.bytes(of: ref("a")) == Self.bytes)
    }

    @Test func `An upload continues although the server has a part that was sent ahead, and not the one before it`()
        async throws
    {
        let place = try place()
        var upload = try recorded()
        let first = try #require(place.backend.beginUpload(upload) as? RemoteUpload)
        guard case .opened(let granularity, _) = await first.perform(.open) else { return #expect(Bool(false)) }
        let bytes = Array(Self.bytes[Int(granularity)..<2 * Int(granularity)])
        let dialect = try #require(place.backend.dialect as? S3Dialect)
        let ahead = dialect.send(
            part: 2, to: try #require(await first.session), .bytes(bytes), md5: Checksum(of: bytes).md5)
        let answer = try await place.backend.ask(ahead, for: upload.caller, about: upload.reference)
        #expect(answer.status == 200)
        upload.bookmark = await first.bookmark()
        upload.isRestored = true
        _ = try await place.backend.continueUpload(upload)
        #expect(try await place.bytes(of: ref("a")) == Self.bytes)
        #expect(place.fixture.requests.count { $0.kind == .start } == 1)
    }

    /// Carried out or not, each with an answer that is lost, late, or an error.
    private static let unanswered: [(name: String, action: Action)] = [
        ("reset before", .reset), ("500 before", .answer(500)),
        ("HTML before", .answer(502, body: StorageFixture.htmlError)),
        ("error in 200 before", .answer(200, body: StorageFixture.s3Error("InternalError"))),
        ("reset after", .resetAfterHandling), ("close after", .closeAfterHandling),
        ("500 after", .answerAfterHandling(500)),
        ("HTML after", .answerAfterHandling(502, body: StorageFixture.htmlError)),
        ("error in 200 after", .answerAfterHandling(200, body: StorageFixture.s3Error("InternalError"))),
    ]

    @Test(arguments: unanswered.indices, [0, 3])
    func `A Complete without an answer neither loses nor destroys the object`(index: Int, locked: Int) async throws {
        let place = try place([.init(.first(.finalize), Self.unanswered[index].action)])
        place.fixture.s3.lockedCompletes = locked
        let stored = try await place.backend.run(upload(), retryTime: .seconds(600))
        let name = Comment(rawValue: Self.unanswered[index].name)
        #expect(try await place.bytes(of: ref("a")) == Self.bytes, name)
        #expect(try await place.backend.metadata(of: ref("a")) == stored, name)
        #expect(try await place.data("a") == Self.bytes, name)
        #expect(cancellations(at: place) == 0, name)
    }

    @Test(arguments: unanswered.indices)
    func `The next process finds what a Complete of the last one has done`(index: Int) async throws {
        let place = try place([.init(.first(.finalize), Self.unanswered[index].action)])
        var upload = try recorded()
        let session = place.backend.stoppable(upload)
        guard case .opened(let granularity, _) = await session.perform(.open) else { return #expect(Bool(false)) }
        var offset: Int64 = 0
        while case .received(let end) = await session.perform(
            .send(offset..<min(offset + granularity, upload.source.size ?? 0))),
            end < Self.bytes.count
        {
            offset = end
            upload.bookmark = await session.bookmark()
        }
        // The record of the last part is lost with the process.
        upload.isRestored = true
        _ = try await place.backend.continueUpload(upload)
        let name = Comment(rawValue: Self.unanswered[index].name)
        #expect(try await place.bytes(of: ref("a")) == Self.bytes, name)
        #expect(try await place.data("a") == Self.bytes, name)
        #expect(cancellations(at: place) == 0, name)
    }

    @Test func `An upload is cancelled at the server unless its Complete was sent`() async throws {
        let place = try place()
        let early = place.backend.stoppable(try upload())
        guard case .opened(let granularity, _) = await early.perform(.open) else { return #expect(Bool(false)) }
        _ = await early.perform(.send(0..<granularity))
        early.discard()
        await place.backend.settle()
        try await eventually { cancellations(at: place) == 1 }
        #expect(place.fixture.objects.isEmpty)

        place.fixture.faults = [.init(.first(.finalize), .resetAfterHandling)]
        let late = place.backend.stoppable(try upload())
        guard case .opened = await late.perform(.open) else { return #expect(Bool(false)) }
        for start in [0, granularity] { _ = await late.perform(.send(start..<start + granularity)) }
        guard case .unsettled = await late.perform(.send(2 * granularity..<Int64(Self.bytes.count))) else {
            return #expect(Bool(false))
        }
        late.discard()
        await place.backend.settle()
        #expect(cancellations(at: place) == 1)
        #expect(try await place.data("a") == Self.bytes)
    }

    @Test(arguments: [[3], [1, 3], [2, 3], [1, 2, 3]])
    func `An upload of an earlier process is cancelled unless the server has its last two parts`(
        sent: [Int]
    ) async throws {
        let place = try place()
        var upload = try recorded()
        let first = try #require(place.backend.beginUpload(upload) as? RemoteUpload)
        guard case .opened(let granularity, _) = await first.perform(.open) else { return #expect(Bool(false)) }
        let dialect = try #require(place.backend.dialect as? S3Dialect)
        for number in sent {
            let bytes = Array(Self.bytes.dropFirst((number - 1) * Int(granularity)).prefix(Int(granularity)))
            let part = dialect.send(
                part: number, to: try #require(await first.session), .bytes(bytes), md5: Checksum(of: bytes).md5)
            let answer = try await place.backend.ask(part, for: upload.caller, about: upload.reference)
            #expect(answer.status == 200)
        }
        upload.bookmark = await first.bookmark()
        upload.isRestored = true
        place.backend.beginUpload(upload).discard()
        try await eventually { place.fixture.requests.contains { $0.kind == .query } }
        await place.backend.settle()
        #expect(cancellations(at: place) == (sent.contains(2) ? 0 : 1))
    }

    @Test func `A settled cancellation knows the object by its mark`() async throws {
        let place = try place([.init(.first(.finalize), .resetAfterHandling)])
        let session = place.backend.stoppable(try upload())
        guard case .opened(let granularity, _) = await session.perform(.open) else { return #expect(Bool(false)) }
        for start in [0, granularity] { _ = await session.perform(.send(start..<start + granularity)) }
        _ = await session.perform(.send(2 * granularity..<Int64(Self.bytes.count)))
        let answer = await session.perform(.settle)
        #expect(answer == .completed(try await place.backend.metadata(of: ref("a"))))
    }

    @Test func `An upload whose session the server has lost starts again`() async throws {
        let place = try place([.init(.nth(2, .chunk), .forget(404))])
        let stored = try await place.backend.run(upload(), retryTime: .seconds(600))
        #expect(try await place.bytes(of: ref("a")) == Self.bytes)
        #expect(stored.checksums.prove(Self.bytes))
    }

    @Test func `An empty stream becomes an empty object`() async throws {
        let place = try place()
        let stored = try await place.backend.run(.data([], to: ref("a")), chunks: ChunkSizes(first: 1, largest: 1))
        #expect(stored.size == 0 && place.fixture.bytes("b", "a") == [])
        await place.backend.settle()
        #expect(cancellations(at: place) == 1)
    }

    @Test func `Damaged parts are refused, and the old object is kept`() async throws {
        let place = try place()
        try await place.backend.put([9], at: "a")
        place.fixture.faults = [.init(.first(.chunk), .answer(400, body: StorageFixture.s3Error("BadDigest")))]
        let error = try await failure { _ = try await place.backend.run(upload()) }
        #expect(error.code == .nonMatchingChecksum)
        #expect(try await place.bytes(of: ref("a")) == [9])
    }

    @Test func `Another client's object is kept if a Complete without an answer is repeated`() async throws {
        let place = try place()
        let other = Array("other".utf8)
        place.fixture.faults = [
            .init(.first(.finalize), .reset),
            .init(
                .first(.query),
                .meanwhile { [fixture = place.fixture] in try? fixture.put(other, "b", "a", by: .s3) }),
        ]
        let error = try await failure { _ = try await place.backend.run(upload(), retryTime: .seconds(600)) }
        #expect(error.code == .preconditionFailed)
        #expect(try await place.bytes(of: ref("a")) == other)
    }

    @Test(arguments: [StorageFixture.S3Settings.Server.ceph, .swift])
    func `A new object in one request replaces none that another client has just stored`(
        server: StorageFixture.S3Settings.Server
    ) async throws {
        let place = try place()
        place.fixture.s3.server = server
        let new = { (name: String) in
            Upload(
                reference: try ref(name), source: .data([1]), metadata: .init(), if: Preconditions(generation: 0))
        }
        // A server without conditions stores the object.
        #expect(try await place.backend.run(new("b")).size == 1)
        guard server == .ceph else { return }
        place.fixture.faults = [
            .init(
                .first(.multipart),
                .meanwhile { [fixture = place.fixture] in try? fixture.put([9], "b", "a", by: .s3) })
        ]
        let error = try await failure { _ = try await place.backend.run(new("a")) }
        #expect(error.code == .preconditionFailed)
        #expect(try await place.bytes(of: ref("a")) == [9])
    }

    // MARK: A refused Complete

    @Test func `The upload of a Complete that is finally refused is cancelled, and started again`() async throws {
        let place = try place([.init(.first(.finalize), .answer(400, body: StorageFixture.s3Error("InvalidPart")))])
        let stored = try await place.backend.run(upload(), retryTime: .seconds(600))
        await place.backend.settle()
        #expect(cancellations(at: place) == 1 && place.fixture.log.sessions.first?.state == .cancelled)
        #expect(try await place.data("a") == Self.bytes)
        #expect(try await place.backend.metadata(of: ref("a")) == stored)
    }

    @Test(
        arguments: [
            (401, nil, true), (403, "AccessDenied", true), (403, nil, false), (409, "BucketHasObjects", false),
        ] as [(Int, String?, Bool)])
    func `The upload of a refused Complete is cancelled only if the server says what it refuses`(
        status: Int, code: String?, isCancelled: Bool
    ) async throws {
        let body = code.map { StorageFixture.s3Error($0) } ?? ""
        let place = try place([.init(.first(.finalize), .answer(status, body: body))])
        _ = try await place.backend.run(upload(), retryTime: .seconds(600))
        await place.backend.settle()
        #expect(cancellations(at: place) == (isCancelled ? 1 : 0))
        #expect(try await place.data("a") == Self.bytes)
    }

    @Test(arguments: [301, 409, 501])
    func `A Complete whose answer leaves its effect open is not cancelled, and the error says so`(
        status: Int
    ) async throws {
        let place = try place([.init(.first(.finalize), .answer(status))])
        let error = try await failure { _ = try await place.backend.run(upload()) }
        await place.backend.settle()
        #expect(error.httpStatus == status && error.mayBeStored == true && error.message.contains("may be stored"))
        #expect(cancellations(at: place) == 0)
        place.fixture.faults = [.init(.first(.finalize), .answerAfterHandling(status))]
        _ = try await place.backend.run(upload())
        #expect(try await place.data("a") == Self.bytes)
    }

    @Test(arguments: [400, 405])
    func `A look that is refused after a lost answer leaves open whether the object is stored`(
        status: Int
    ) async throws {
        let place = try place([.init(.first(.multipart), .resetAfterHandling)])
        let session = place.backend.stoppable(.data([1], to: try ref("a")))
        guard case .unsettled = await session.perform(.sendWhole) else { return #expect(Bool(false)) }
        place.fixture.faults = [.init(.first(.getMetadata), .answer(status)), .init(.first(.media), .answer(status))]
        let answer = await session.perform(.sendWhole)
        guard case .failed(let error) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(error.httpStatus == status && error.mayBeStored == true && error.message.contains("may be stored"))
    }

    /// An upload whose first Complete has no answer. The server is still carrying it out: looks do not find the object
    /// yet, and the second Complete is refused.
    private func doubted(at place: S3Fixture, status: Int) async throws -> StoppableSession<UploadStrategy> {
        let session = place.backend.stoppable(try upload())
        guard case .opened(let granularity, _) = await session.perform(.open) else { throw Unopened() }
        for start in [0, granularity] { _ = await session.perform(.send(start..<start + granularity)) }
        place.fixture.faults = [.init(.first(.finalize), .resetAfterHandling)]
        guard case .unsettled = await session.perform(.send(2 * granularity..<Int64(Self.bytes.count))) else {
            throw Unopened()
        }
        let code = status == 404 ? "NoSuchUpload" : "InvalidPart"
        place.fixture.faults =
            [.init(.first(.finalize), .answer(status, body: StorageFixture.s3Error(code)))]
            + (1...3).map { .init(.nth($0, .getMetadata), .answer(404)) }
        return session
    }

    @Test func `A refusal after a Complete without an answer leaves open whether the object is stored`() async throws {
        let place = try place()
        let session = try await doubted(at: place, status: 400)
        let answer = await session.perform(.query)
        guard case .unsettled(let error) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(error.mayBeStored == true && error.retryable && error.message.contains("may be stored"))
        #expect(place.fixture.unfired.isEmpty)
        #expect(await session.perform(.query) == .completed(try await place.backend.metadata(of: ref("a"))))
        session.discard()
        await place.backend.settle()
        #expect(cancellations(at: place) == 0 && place.fixture.requests.count { $0.kind == .start } == 1)
        #expect(try await place.data("a") == Self.bytes)
    }

    @Test func `An upload that starts again after a Complete without an answer remains in doubt`() async throws {
        let place = try place()
        let session = try await doubted(at: place, status: 404)
        let answer = await session.perform(.query)
        guard case .forgotten(let error) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(error.mayBeStored == true)
        guard case .opened(let granularity, _) = await session.perform(.open) else { return #expect(Bool(false)) }
        place.fixture.faults = [.init(.first(.chunk), .answer(403, body: StorageFixture.s3Error("AccessDenied")))]
        let refused = await session.perform(.send(0..<granularity))
        guard case .failed(let error) = refused else { return #expect(Bool(false), "\(refused)") }
        #expect(error.code == .unauthorized && error.mayBeStored == true)
        #expect(await session.perform(.settle) == .completed(try await place.backend.metadata(of: ref("a"))))
        #expect(cancellations(at: place) == 0)
    }

    // MARK: Requests

    @Test func `A name that XML cannot have is uploaded in parts`() async throws {
        let place = try place()
        let name = "a\u{1}\u{1F}\u{FFFE}\u{FFFF}"
        #expect(try await place.backend.run(.data(Self.bytes, to: ref(name))).size == Self.bytes.count)
        #expect(try await place.bytes(of: ref(name)) == Self.bytes)
    }

    @Test func `A wrong clock is corrected once by the server's date`() async throws {
        let place = try place()
        place.fixture.s3.skew = 3600
        let stored = try await place.backend.put([1], at: "a")
        #expect(place.fixture.bytes("b", "a") == [1])
        let lead = stored.timeCreated.microseconds - TimeSource.system.now().microseconds
        #expect(lead > 3_500_000_000 && lead < 3_700_000_000)
    }

    @Test func `The region is the one that the server names`() async throws {
        let place = try place()
        place.fixture.s3.region = "eu-west-7"
        try await place.backend.put([1], at: "a")
        #expect(try await place.data("a") == [1])
    }

    @Test func `A parts' tag proves bytes that were uploaded as a stream`() async throws {
        var checksum = Checksum()
        let parts = Checksums.Parts(md5: [], size: 8 << 20, count: 3)
        Self.bytes.withUnsafeBytes { checksum.update($0, like: Checksums(parts: parts)) }
        let place = try place()
        let stored = try await place.backend.run(upload())
        #expect(checksum.parts?.md5 == stored.checksums.parts?.md5)
        // A copy of a checksum is a value of its own.
        var copy = checksum
        [UInt8](repeating: 0, count: 9 << 20).withUnsafeBytes { copy.update($0, like: Checksums(parts: parts)) }
        #expect(checksum.parts?.count == 3 && copy.parts?.count == 4)
    }

    @Test func `Metadata of any text comes back, and the limits of S3 are refused by name`() async throws {
        let place = try place()
        var metadata = SettableMetadata()
        for property in ContentProperty.allCases { metadata.content[property] = "\(property) é%20" }
        metadata.content[.contentType] = nil
        metadata.custom = ["": "", "Upper_Case": " é ", "100%": "50%25", "\u{1}": "a\nb"]
        let stored = try await place.backend.run(.data([1], to: ref("a"), metadata))
        #expect(stored.settable == metadata)
        #expect(try await place.backend.metadata(of: ref("a")) == stored)
        for custom in [
            ["k": String(repeating: "x", count: 2048)], [String(repeating: "X", count: 28): ""], ["storage-rpc": ""],
        ] as [ByteKeyedDictionary<String>] {
            metadata.custom = custom
            let error = try await failure { _ = try await place.backend.run(.data([1], to: ref("b"), metadata)) }
            #expect(error.code == .invalidArgument && error.param == "metadata.customMetadata")
        }
    }

    @Test func `The marks of other objects and programs do not count`() throws {
        let library = try CryptoLibrary.ofSystem.get()
        let mark = S3Mark(
            RemoteWrite(id: "x", generation: 7, time: Timestamp(microseconds: 8), partSize: 9, crc32c: 10))
        let text = mark.text(of: try ref("a"), library)
        #expect(S3Mark(text, of: try ref("a"), library) == mark && text.utf8.count <= S3Mark.longest)
        #expect(S3Mark(text, of: try ref("b"), library) == nil)
        for wrong in ["", "1", "2" + text.dropFirst(), text + ".", text.replacing(".7.", with: ".-7.")] {
            #expect(S3Mark(wrong, of: try ref("a"), library) == nil, "\(wrong)")
        }
    }

    @Test func `Parts are as large as the object needs`() {
        let sizes = PartSizes()
        #expect(sizes.size(of: nil, wanted: nil) == 8 << 20 && sizes.size(of: 1, wanted: 1) == 5 << 20)
        #expect(sizes.size(of: 1, wanted: (16 << 20) + 1) == (16 << 20) + ChunkSizes.granularity)
        for size in [80 << 30, (80 << 30) + 1, 48 << 40, .max] as [Int64] {
            let part = sizes.size(of: size, wanted: nil)
            #expect(part % ChunkSizes.granularity == 0)
            #expect((size - 1) / part + 1 <= 10_000 || part == sizes.largest)
        }
    }
}

private struct Unopened: Error {}

extension S3Fixture {
    fileprivate func data(_ path: String) async throws -> [UInt8] {
        try await backend.data(
            of: ref(path), part: nil, known: nil, maxSize: 64 << 20, for: Caller(retryTime: .seconds(600)))
    }
}
