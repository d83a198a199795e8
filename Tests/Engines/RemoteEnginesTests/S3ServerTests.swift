import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import RemoteEngines

/// What the engine `s3` learns about its server, and what it keeps of the objects of other programs.
@Suite(.watchdog(minutes: 10)) struct S3ServerTests {
    private let fixture: StorageFixture
    private let place: S3Fixture
    private let caller = Caller(retryTime: .seconds(600))

    init() throws {
        fixture = try StorageFixture(buckets: ["b"])
        place = try S3Fixture(fixture)
    }

    private func requests(_ kind: StorageFixture.Kind) -> [StorageFixture.Request] {
        fixture.requests.filter { $0.kind == kind }
    }

    /// An object of another program.
    private func store(_ headers: HTTPHeaders) async throws {
        let url = fixture.url + "/b/a"
        let answer = try await HTTPClient.direct.perform(
            HTTPRequest("PUT", url, headers: headers, body: .bytes([1])))
        #expect(answer.status == 200)
    }

    private func upload(_ bytes: [UInt8], if conditions: Preconditions) throws -> Upload {
        Upload(reference: try ref("a"), source: .data(bytes), metadata: .init(), if: conditions)
    }

    // MARK: Buckets

    @Test func `Buckets of S3 have no projects`() async throws {
        #expect(try await place.backend.buckets(of: nil, most: 10, for: caller) == ["b"])
        #expect(
            try await place.backend.buckets(of: nil, most: 10, for: Caller(retryTime: .zero, userProject: "p")) == ["b"]
        )
        let error = try await failure { _ = try await place.backend.buckets(of: "p", most: 10, for: caller) }
        #expect(error.code == .invalidArgument && error.param == "project")
    }

    @Test func `A missing bucket is distinguished from a missing object`() async throws {
        let (object, bucket) = (try ref("none"), try ref("none", in: "nowhere"))
        for (reference, code) in [(object, StorageError.Code.objectNotFound), (bucket, .bucketNotFound)] {
            let error = try await failure { _ = try await place.backend.metadata(of: reference) }
            #expect(error.code == code)
            let update = try await failure { _ = try await place.backend.updateMetadata(of: reference, .init()) }
            #expect(update.code == code)
            let deletion = try await failure { try await place.backend.delete(reference, if: .init(), for: caller) }
            #expect(deletion.code == code)
        }
    }

    @Test func `Each virtual host has a region of its own`() throws {
        var endpoint = try Endpoint("https://store.example", from: "--endpoint", allowInsecure: false)
        endpoint.hasVirtualHosts = true
        let signer = S3Signer(endpoint, region: "one", try CryptoLibrary.ofSystem.get()) { Timestamp(microseconds: 0) }
        var response = HTTPResponse(status: 400)
        response.headers["x-amz-bucket-region"] = "two"
        let request = RemoteRequest(method: "GET", target: "/")
        #expect(signer.adapts(to: response, nil, of: request, at: "https://b.store.example/a/1"))
        for (url, region) in [
            ("https://b.store.example/c/2", "two"), ("https://c.store.example/a/1", "one"),
            ("https://store.example/b/1", "two"), ("https://store.example/c/1", "one"),
        ] {
            var signed = HTTPRequest("GET", url)
            signer.sign(&signed, with: AccessKey(id: "i", secret: "s"))
            #expect(signed.headers["Authorization"]?.contains("/\(region)/s3/") == true, "\(url)")
        }
    }

    // MARK: Refusals without a body

    @Test func `The region is learnt from a read if the answer to HEAD does not name it`() async throws {
        (fixture.s3.server, fixture.s3.region) = (.swift, "eu-9")
        try fixture.put([1], "b", "a", by: .s3)
        #expect(try await place.backend.metadata(of: ref("a")).size == 1)
        #expect(fixture.requests.map(\.kind) == [.getMetadata, .media, .getMetadata])
    }

    @Test(arguments: ["expired", "unknown"])
    func `A key that a HEAD is refused for is fetched again`(id: String) async throws {
        fixture.s3.expiredKeys = ["expired"]
        try fixture.put([1], "b", "a", by: .s3)
        let tokens = RenewedKeys(first: "\(id):secret", then: fixture.s3.accessKey.text)
        let caller = Caller(tokens: tokens, retryTime: .zero)
        #expect(try await place.backend.metadata(of: ref("a"), for: caller).size == 1)
        #expect(fixture.requests.map(\.kind) == [.getMetadata, .media, .getMetadata])
        guard id == "expired" else { return }
        try await place.backend.delete(ref("a"), if: Preconditions(), for: caller)
        #expect(fixture.objects.isEmpty)
    }

    @Test func `A lasting difference of the clocks is reported`() async throws {
        try fixture.put([1], "b", "a", by: .s3)
        let skewed = StorageFixture.Fault.Action.answer(403, body: StorageFixture.s3Error("RequestTimeTooSkewed"))
        for kinds in [[.getMetadata, .media], [.multipart]] as [[StorageFixture.Kind]] {
            fixture.faults = kinds.map { .init(.first($0), skewed) }
            let error = try await failure {
                if kinds.count == 1 {
                    try await place.backend.put([2], at: "a")
                } else {
                    _ = try await place.backend.metadata(of: ref("a"))
                }
            }
            #expect(error.message.contains("clock differs") && error.httpStatus == 403 && !error.retryable)
        }
    }

    @Test(arguments: [StorageFixture.S3Settings.Server.ceph, .swift])
    func `Bytes that are damaged on their way are refused`(server: StorageFixture.S3Settings.Server) async throws {
        fixture.s3.server = server
        try await place.backend.put([9], at: "a")
        fixture.faults = [.init(.first(.multipart), .corrupt)]
        let error = try await failure { try await place.backend.put([1], at: "a") }
        #expect(error.code == .nonMatchingChecksum && fixture.bytes("b", "a") == [9])
    }

    // MARK: Lists

    @Test(arguments: [1, 2, 3])
    func `A list continues after any name`(size: Int) async throws {
        let names = [
            "\u{1}x", "a\u{7F}b", "a\u{1F}b", "e\u{301}", "f&<>\"'", "\u{E9}", "\u{301}", "\u{FFFE}", "\u{FFFF}z",
        ]
        for name in names { try fixture.put([1], "b", name, by: .s3) }
        var (found, token): ([Reference], String?) = ([], nil)
        repeat {
            let query = ListQuery(try Reference(bucket: "b", path: ""), maxResults: size, pageToken: token)
            let page = try await place.backend.list(query, for: caller)
            found += page.items
            token = page.pageToken
        } while token != nil
        #expect(try Set(found) == Set(names.map { try ref($0) }) && found.count == names.count)
    }

    // MARK: Preconditions

    @Test func `A replacement is bound to the tag of the object that it replaces`() async throws {
        let first = try await place.backend.put([1], at: "a")
        let checks = place.backend.preconditionChecks(in: "b")
        #expect(checks == PreconditionChecks(all: .compared))
        let second = try await place.backend.run(upload([2], if: Preconditions(generation: first.generation)))
        #expect(requests(.multipart).last?.headers["If-Match"] == Checksum(of: [1]).md5.hexadecimal)
        // Another client's write between the comparison and the request.
        fixture.faults = [
            .init(.first(.multipart), .meanwhile { [fixture] in try? fixture.put([9], "b", "a", by: .s3) })
        ]
        let error = try await failure {
            _ = try await place.backend.run(upload([3], if: Preconditions(generation: second.generation)))
        }
        #expect(error.code == .preconditionFailed)
        #expect(fixture.bytes("b", "a") == [9])
        #expect(place.backend.preconditionChecks(in: "b").upload == .atomic)
        #expect(place.backend.preconditionChecks(in: "b").largeUpload == .compared)
        #expect(place.backend.preconditionChecks(in: "c").upload == .compared)
    }

    @Test(arguments: [StorageFixture.S3Settings.Server.aws, .ceph])
    func `A replacement of an object that is deleted meanwhile fails`(
        server: StorageFixture.S3Settings.Server
    ) async throws {
        fixture.s3.server = server
        let first = try await place.backend.put([1], at: "a")
        fixture.faults = [.init(.first(.multipart), .meanwhile { [fixture] in fixture.remove("b", "a") })]
        let error = try await failure {
            _ = try await place.backend.run(upload([2], if: Preconditions(generation: first.generation)))
        }
        #expect(error.code == .preconditionFailed && fixture.objects.isEmpty)
    }

    @Test func `A server without conditions gets none after its first refusal`() async throws {
        fixture.s3.server = .swift
        let first = try await place.backend.put([1], at: "a")
        let second = try await place.backend.run(upload([2], if: Preconditions(generation: first.generation)))
        _ = try await place.backend.run(upload([3], if: Preconditions(generation: second.generation)))
        #expect(fixture.bytes("b", "a") == [3])
        #expect(requests(.multipart).map { $0.headers["If-Match"] != nil } == [false, true, false, false])
        #expect(place.backend.preconditionChecks(in: "b").upload == .compared)
    }

    @Test func `A write waits no longer than its own retry time for an earlier one`() async throws {
        let held = Signal()
        defer { held.fire() }
        try await place.backend.put([1], at: "a")
        fixture.faults = [.init(.first(.multipart), .stall(until: held))]
        async let first = place.backend.put([2], at: "a")
        try await fixture.until { $0.unfired.isEmpty }
        let error = try await failure {
            try await place.backend.delete(ref("a"), if: Preconditions(), for: Caller(retryTime: .zero))
        }
        #expect(error.code == .retryLimitExceeded && error.message.contains("has not ended"))
        #expect(requests(.delete).isEmpty)
        held.fire()
        _ = try await first
        try await place.backend.delete(ref("a"), if: Preconditions(), for: caller)
        #expect(fixture.objects.isEmpty)
    }

    // MARK: Metadata

    @Test func `A change of metadata keeps the headers that it does not know`() async throws {
        let kept: HTTPHeaders = [
            "Expires": "Wed, 21 Oct 2065 07:28:00 GMT", "x-amz-storage-class": "COLD",
            "x-amz-website-redirect-location": "/b",
        ]
        var headers = kept
        headers["x-amz-meta-note"] = "two words"
        headers["Cache-Control"] = "no-store"
        try await store(headers)
        var change = MetadataChange()
        change.content = [.contentType: "x/y"]
        let changed = try await place.backend.updateMetadata(of: ref("a"), change)
        #expect(try await place.backend.metadata(of: ref("a")) == changed)
        #expect(
            changed.settable.content[.cacheControl] == "no-store" && changed.settable.content[.contentType] == "x/y")
        let head = try await HTTPClient.direct.perform(HTTPRequest("HEAD", fixture.url + "/b/a"))
        for field in kept.fields { #expect(head.headers[field.name] == field.value) }
        #expect(head.headers["x-amz-meta-note"] == "two words")
        _ = try await place.backend.run(.copy(of: ref("a"), to: ref("c")))
        let copy = try await HTTPClient.direct.perform(HTTPRequest("HEAD", fixture.url + "/b/c"))
        #expect(copy.headers["Expires"] == kept["Expires"] && copy.headers["x-amz-storage-class"] == nil)
    }

    @Test func `The tags of an object are kept, or its metadata is not changed`() async throws {
        try await store(["x-amz-tagging": "a=b&c=d"])
        let error = try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), .init()) }
        #expect(error.code == .invalidArgument && error.message.contains("tags") && requests(.patch).isEmpty)
        fixture.s3.server = .aws
        _ = try await place.backend.updateMetadata(of: ref("a"), .init())
        let head = try await HTTPClient.direct.perform(HTTPRequest("HEAD", fixture.url + "/b/a"))
        #expect(requests(.patch).count == 1 && head.headers["x-amz-tagging-count"] == "2")
    }

    // MARK: Parts

    @Test func `A copy is refused as an upload for metadata that S3 cannot store`() async throws {
        try await place.backend.put([1], at: "a")
        var metadata = SettableMetadata()
        metadata.custom = ["k": String(repeating: "x", count: 2048)]
        let error = try await failure {
            _ = try await place.backend.run(.copy(of: ref("a"), to: ref("b"), metadata))
        }
        #expect(error.code == .invalidArgument && error.param == "metadata.customMetadata")
        #expect(requests(.rewrite).isEmpty)
    }

    /// An upload that another process can continue, with the first of its two parts sent.
    private func interrupted(_ bytes: [UInt8]) async throws -> (Upload, granularity: Int64) {
        var upload = Upload.data(bytes, to: try ref("a"))
        upload.record.id = "task-1"
        upload.isRecorded = true
        let session = place.backend.stoppable(upload)
        guard case .opened(let granularity, _) = await session.perform(.open) else { throw Aborted() }
        _ = await session.perform(.send(0..<granularity))
        upload.bookmark = await session.bookmark()
        upload.isRestored = true
        return (upload, granularity)
    }

    @Test(arguments: [0, -1])
    func `A record without a size of parts is not continued`(size: Int) async throws {
        let bytes = noise((8 << 20) + 1)
        var (upload, granularity) = try await interrupted(bytes)
        let text = try #require(upload.bookmark?.text)
        upload.bookmark = Bookmark(text.replacing("\"granularity\":\(granularity)", with: "\"granularity\":\(size)"))
        #expect(upload.bookmark?.text != text)
        _ = try await place.backend.continueUpload(upload)
        #expect(fixture.bytes("b", "a") == bytes && requests(.start).count == 2)
    }

    @Test func `A list of parts without an end is not read to it`() async throws {
        let (upload, granularity) = try await interrupted(noise((8 << 20) + 1))
        fixture.faults = (1...20).map { page in
            let parts = (1...1000).map { number in
                "<Part><PartNumber>\((page - 1) * 1000 + number)</PartNumber><Size>\(granularity)</Size>"
                    + "<ETag>\(String(repeating: "0", count: 32))</ETag></Part>"
            }
            let end = "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\(page * 1000)</NextPartNumberMarker>"
            let list = "<ListPartsResult>\(parts.joined())\(end)</ListPartsResult>"
            return .init(.nth(page, .query), .answer(200, body: list))
        }
        let answer = await place.backend.stoppable(upload).perform(.query)
        guard case .forgotten = answer else { return #expect(Bool(false), "\(answer)") }
        await place.backend.settle()
        // The last one tells whether the upload may be cancelled.
        #expect(requests(.query).count == 12 && requests(.cancel).isEmpty)
    }

    @Test func `An upload whose parts at the server are others begins anew, and the old one is cancelled`() async throws
    {
        // Of three parts; the second one was sent ahead.
        let bytes = noise((16 << 20) + 1), (upload, _) = try await interrupted(bytes)
        fixture.faults = [.init(.first(.query), .reportFalseOffset(.granules(1)))]
        _ = try await place.backend.continueUpload(upload)
        await place.backend.settle()
        #expect(fixture.bytes("b", "a") == bytes && requests(.start).count == 2)
        #expect(fixture.log.cancelledSessions.count == 1 && fixture.log.openSessions.isEmpty)
    }

    // MARK: Copies in parts

    /// A copy of two parts.
    private func largeCopy() async throws -> (S3Fixture, Upload) {
        let place = try S3Fixture(fixture, largestCopy: 6 << 20)
        try await place.backend.put(noise(7 << 20), at: "a")
        return (place, try .copy(of: ref("a"), to: ref("c")))
    }

    @Test func `An object above the largest copy is copied in parts, and its metadata is not changed`() async throws {
        let (place, copy) = try await largeCopy()
        let copied = try await place.backend.run(copy)
        #expect(fixture.bytes("b", "c") == noise(7 << 20) && requests(.copyPart).count == 2)
        #expect(copied.checksums.parts?.count == 2)
        let error = try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), MetadataChange()) }
        #expect(error.code == .invalidArgument && error.param == "metadata")
    }

    @Test func `A cancelled copy in parts leaves no upload`() async throws {
        let (place, copy) = try await largeCopy()
        let session = place.backend.stoppable(copy)
        for step in [.open, .send(0..<(7 << 20))] as [UploadMachine.Step] {
            _ = await session.perform(step)
        }
        #expect(requests(.copyPart).count == 1)
        session.discard()
        try await eventually { fixture.log.sessions.last?.state == .cancelled }
        #expect(requests(.cancel).count == 1)
    }

    @Test func `A copy in parts that starts again leaves no upload`() async throws {
        let (place, copy) = try await largeCopy()
        fixture.faults = [.init(.first(.copyPart), .answer(400, body: StorageFixture.s3Error("InvalidArgument")))]
        _ = try await place.backend.run(copy, retryTime: .seconds(600))
        await place.backend.settle()
        #expect(requests(.start).count == 2 && requests(.cancel).count == 1)
        #expect(fixture.log.sessions.first?.state == .cancelled && fixture.bytes("b", "c") == noise(7 << 20))
    }

    @Test func `A copy in parts whose Complete may have been sent is not cancelled`() async throws {
        let (place, copy) = try await largeCopy()
        fixture.faults = [.init(.first(.finalize), .answerAfterHandling(500))]
        let session = place.backend.stoppable(copy)
        for step in [.open] + Array(repeating: .send(0..<(7 << 20)), count: 3) as [UploadMachine.Step] {
            _ = await session.perform(step)
        }
        #expect(requests(.finalize).count == 1)
        session.discard()
        await place.backend.settle()
        #expect(requests(.cancel).isEmpty && fixture.bytes("b", "c") == noise(7 << 20))
    }

    private static let copied = UploadMachine.Step.send(6 << 20..<7 << 20)

    /// A copy in parts before its Complete.
    private func copiedParts() async throws -> (S3Fixture, StoppableSession<UploadStrategy>) {
        let (place, copy) = try await largeCopy()
        let session = place.backend.stoppable(copy)
        for step in [.open, .send(0..<(7 << 20)), Self.copied] as [UploadMachine.Step] {
            _ = await session.perform(step)
        }
        #expect(requests(.copyPart).count == 2 && requests(.finalize).isEmpty)
        return (place, session)
    }

    @Test func `A copy in parts that is cancelled before its Complete leaves no upload`() async throws {
        let (place, session) = try await copiedParts()
        session.discard()
        try await eventually { fixture.log.cancelledSessions.count == 1 }
        await place.backend.settle()
        #expect(fixture.log.openSessions.isEmpty)
    }

    @Test func `A copy in parts whose source is replaced before its Complete leaves no upload`() async throws {
        let (place, session) = try await copiedParts(), other = noise(7 << 20, seed: 7)
        try await place.backend.put(other, at: "a")
        guard case .forgotten = await session.perform(Self.copied) else { throw Aborted() }
        for step in [.open, .send(0..<(7 << 20)), Self.copied] as [UploadMachine.Step] {
            _ = await session.perform(step)
        }
        guard case .completed = await session.perform(Self.copied) else { throw Aborted() }
        await place.backend.settle()
        #expect(fixture.log.cancelledSessions.count == 1 && fixture.log.openSessions.isEmpty)
        #expect(fixture.bytes("b", "c") == other)
    }

    @Test(arguments: ["InvalidPart", "Unknown"])
    func `A copy in parts whose Complete is refused leaves no upload, if the refusal is the server's own`(
        code: String
    ) async throws {
        let (place, copy) = try await largeCopy()
        fixture.faults = [.init(.first(.finalize), .answer(400, body: StorageFixture.s3Error(code)))]
        _ = try await place.backend.run(copy, retryTime: .seconds(600))
        await place.backend.settle()
        #expect(requests(.start).count == 2 && fixture.bytes("b", "c") == noise(7 << 20))
        #expect(fixture.log.cancelledSessions.count == (code == "InvalidPart" ? 1 : 0))
    }

    @Test func `An upload or a copy in parts whose Complete was never sent leaves no upload`() async throws {
        let key = FailingKey(fixture.s3.accessKey.text), (place, copy) = try await largeCopy()
        let upload = Upload.data(noise(1 << 20), to: try ref("d")), all = UploadMachine.Step.send(0..<(1 << 20))
        for (var upload, steps, last) in [
            (copy, [.open, .send(0..<(7 << 20)), Self.copied], Self.copied), (upload, [.open], all),
        ] as [(Upload, [UploadMachine.Step], UploadMachine.Step)] {
            upload.caller.tokens = key
            let session = place.backend.stoppable(upload)
            for step in steps { _ = await session.perform(step) }
            // A copy looks at its source before, and an upload sends its only part.
            key.fail(after: 1)
            guard case .failed(let error) = await session.perform(last) else { throw Aborted() }
            #expect(error.code == .unauthenticated && error.mayBeStored != true)
            session.discard()
            await Task { @Loop in }.value
            await place.backend.settle()
        }
        #expect(requests(.finalize).isEmpty && requests(.copyPart).count == 2)
        #expect(fixture.log.cancelledSessions.count == 2 && fixture.log.openSessions.isEmpty)
    }

    @Test func `A copy in parts that is cancelled while its upload is being created leaves none`() async throws {
        let (place, copy) = try await largeCopy(), late = Signal()
        let session = place.backend.stoppable(copy)
        _ = await session.perform(.open)
        fixture.faults = [.init(.first(.start), .answerLate(late))]
        let answer = Task { await session.perform(.send(0..<(7 << 20))) }
        try await fixture.until { $0.unfired.isEmpty }
        session.discard()
        #expect(await answer.value == .aborted)
        late.fire()
        try await eventually { fixture.log.cancelledSessions.count == 1 }
        #expect(requests(.copyPart).isEmpty)
    }
}

/// A source of a key that fails once, after as many more requests as it is told.
private final class FailingKey: TokenSource {
    private let key: String
    private let left = Mutex(Int.max)

    init(_ key: String) { self.key = key }

    func fail(after count: Int) { left.withLock { $0 = count } }

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == .accessKey else { return nil }
        let isFailing = left.withLock { left in
            left -= 1
            return left == -1
        }
        if isFailing { throw StorageError(.unauthenticated, "There is no key.") }
        return Token(kind, key)
    }
}

/// A source of keys, the first of which the server refuses.
private struct RenewedKeys: TokenSource {
    let first, then: String

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        kind == .accessKey ? Token(kind, refused == nil ? first : then) : nil
    }
}
