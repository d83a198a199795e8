import FoundationEssentials
import HTTPClient
import HTTPText
import Platform
import Storage
import Synchronization
import TestSupport
import Testing
import Transfers

@testable import RemoteEngines

/// How many requests the engine `s3` needs for objects and for folders of them, and what holds nevertheless.
@Loop @Suite(.watchdog(minutes: 10)) struct S3RequestTests {
    private let fixture: StorageFixture
    private let place: S3Fixture
    private let scratch: Scratch
    private let caller = Caller(retryTime: .zero)

    init() throws {
        fixture = try StorageFixture(buckets: ["b"])
        place = try S3Fixture(fixture)
        scratch = try Scratch()
    }

    private var kinds: [StorageFixture.Kind] { fixture.requests.map(\.kind) }

    /// The kinds of the requests of `body`, and its result.
    private func requests<Value>(
        _ body: @Loop () async throws -> Value
    ) async throws -> (kinds: [StorageFixture.Kind], value: Value) {
        let before = kinds.count
        let value = try await body()
        return (Array(kinds.dropFirst(before)), value)
    }

    // MARK: Downloads

    @Test(arguments: [0, 1, (2 << 20) + 3])
    func `A new download is one request`(size: Int) async throws {
        let stored = try await place.backend.put(noise(size), at: "a")
        let asked = try await requests { try await place.backend.fetch("a", to: scratch.path + "/file") }
        #expect(asked.kinds == [.media] && asked.value == stored)
        #expect(try contentsOf(scratch.path + "/file") == noise(size) && names(in: scratch.path) == ["file"])
    }

    @Test func `Bytes that are damaged on their way are refused, after a look`() async throws {
        try await place.backend.put(noise(1000), at: "a")
        fixture.faults = [.init(.byte(500), .corrupt)]
        let asked = try await requests {
            try await failure { _ = try await place.backend.fetch("a", to: scratch.path + "/file") }
        }
        #expect(asked.kinds == [.media, .getMetadata] && asked.value.code == .nonMatchingChecksum)
        #expect(try names(in: scratch.path) == [])
    }

    @Test func `A download that breaks continues with the bytes of the same object`() async throws {
        let size = 3 << 20
        try await place.backend.put(noise(size), at: "a")
        fixture.faults = [.init(.byte(2 << 20), .reset)]
        let session = try place.backend.download("a", to: scratch.path + "/file")
        guard case .failed(let error) = await session.fetch({ _ in }) else { return #expect(Bool(false)) }
        #expect(error.retryable)
        let asked = try await requests { await session.fetch { _ in } }
        guard case .completed = asked.value else { return #expect(Bool(false)) }
        #expect(asked.kinds == [.getMetadata, .media])
        #expect(try contentsOf(scratch.path + "/file") == noise(size))
    }

    @Test func `A file of a folder continues after the bytes of a part`() async throws {
        try await place.backend.put(noise(2 << 20), at: "a")
        var download = Download(
            reference: try ref("a"), file: scratch.path + "/file", task: "task", caller: caller)
        download.tree = place.backend.properties.files.tree(scratch.path, isWritten: true)
        let session = StoppableSession(place.backend.beginDownload(download))
        let part = DownloadMachine.Step.fetchPart(to: 1 << 20, isDamaged: false)
        guard case .received = await session.perform(part, StepContext(report: { _ in })) else {
            return #expect(Bool(false))
        }
        let asked = try await requests { await session.fetch { _ in } }
        guard case .completed = asked.value else { return #expect(Bool(false)) }
        #expect(asked.kinds == [.getMetadata, .media])
        #expect(try contentsOf(scratch.path + "/file") == noise(2 << 20))
    }

    @Test func `A response without metadata is followed by a look`() async throws {
        let stored = try await place.backend.put([1, 2], at: "a")
        fixture.faults = [.init(.first(.media), .answer(200, body: "xx"))]
        let asked = try await requests { try await place.backend.fetch("a", to: scratch.path + "/file") }
        #expect(asked.kinds == [.media, .getMetadata, .media] && asked.value == stored)
        #expect(try contentsOf(scratch.path + "/file") == [1, 2])
    }

    @Test func `A download of a missing object or bucket is one request`() async throws {
        for (bucket, code) in [("b", StorageError.Code.objectNotFound), ("nowhere", .bucketNotFound)] {
            let asked = try await requests {
                try await failure {
                    _ = try await place.backend.fetch("none", to: scratch.path + "/file", in: bucket)
                }
            }
            #expect(asked.kinds == [.media] && asked.value.code == code)
        }
    }

    @Test func `An invalid destination is an error before any request`() async throws {
        try await place.backend.put([1], at: "a")
        let asked = try await requests {
            try await failure { _ = try await place.backend.fetch("a", to: scratch.path + "/none/file") }
        }
        #expect(asked.kinds == [])
    }

    // MARK: Objects

    @Test func `A bucket that is known to exist is not looked for again`() async throws {
        for expected in [[.getMetadata, .media], [.getMetadata]] as [[StorageFixture.Kind]] {
            let asked = try await requests {
                try await failure { _ = try await place.backend.metadata(of: ref("none")) }
            }
            #expect(asked.kinds == expected && asked.value.code == .objectNotFound)
        }
        let error = try await failure { try await place.backend.delete(ref("none"), if: .init(), for: caller) }
        #expect(error.code == .objectNotFound && kinds.count == 4)
    }

    /// A backend with a clock of its own.
    private func backend(_ microseconds: @escaping @Sendable () -> Int64) throws -> RemoteBackend {
        try RemoteBackend.s3(
            at: Endpoint(fixture.url, from: "--endpoint", allowInsecure: false), region: "us-east-1",
            tokens: FixedAccessKey(fixture.s3.accessKey.text), version: "test", http: .direct, limits: .patient,
            time: TimeSource(clock: ContinuousClock(), microseconds: microseconds))
    }

    @Test func `A bucket is looked for again after a minute`() async throws {
        let lead = Mutex<Int64>(0)
        let backend = try backend { TimeSource.system.now().microseconds + lead.withLock { $0 } }
        for (seconds, expected) in [(0, [.getMetadata, .media]), (59, [.getMetadata]), (61, [.getMetadata, .media])]
            as [(Int64, [StorageFixture.Kind])]
        {
            lead.withLock { $0 = seconds * 1_000_000 }
            let asked = try await requests {
                try await failure { _ = try await backend.metadata(of: ref("none"), for: caller) }
            }
            #expect(asked.kinds == expected)
        }
    }

    @Test func `A new object is one request to a server that is known to compare`() async throws {
        func upload(_ name: String, _ generation: Int64?) throws -> Upload {
            Upload(
                reference: try ref(name), source: .data([1]), metadata: .init(),
                if: Preconditions(generation: generation))
        }
        let first = try await requests { try await place.backend.run(upload("a", 0)) }
        #expect(first.kinds == [.getMetadata, .multipart])
        fixture.faults = [
            .init(.first(.multipart), .meanwhile { [fixture] in try? fixture.put([9], "b", "c", by: .s3) })
        ]
        _ = try await failure { _ = try await place.backend.run(upload("c", 0)) }
        let known = try await requests { try await place.backend.run(upload("d", 0)) }
        #expect(known.kinds == [.multipart] && fixture.requests.last?.headers["If-None-Match"] == "*")
        let again = try await requests { try await failure { _ = try await place.backend.run(upload("d", 0)) } }
        #expect(again.kinds == [.multipart, .getMetadata] && again.value.code == .preconditionFailed)
        let unbound = try await requests { try await place.backend.run(upload("e", nil)) }
        #expect(unbound.kinds == [.getMetadata, .multipart])
    }

    // MARK: Folders

    private func folder(
        _ kind: FolderRequest.Kind, at backend: RemoteBackend? = nil,
        _ change: (inout FolderRequest) throws -> Void = { _ in }
    ) async throws -> FolderSnapshot {
        let transfers = Transfers(
            backend: backend ?? place.backend, folders: InMemoryFolderStore(), time: TimeSource(clock: HurriedClock()))
        try await transfers.restore(.pause)
        var request = FolderRequest(kind, try ref("d"), directory: scratch.path)
        try change(&request)
        let task = try await transfers.folder(request)
        task.start()
        _ = try await task.result()
        return task.snapshot()
    }

    @Test func `A folder is downloaded with one request for each file, after its list`() async throws {
        for name in ["d/a", "d/b", "d/e/c"] { try await place.backend.put(Array(name.utf8), at: name) }
        let asked = try await requests { try await folder(.write).counts }
        #expect(asked.kinds == [.list, .media, .media, .media] && asked.value.completed == 3)
        #expect(try contentsOf(scratch.path + "/e/c") == Array("d/e/c".utf8))
        let again = try await requests { try await folder(.write) { $0.onlyChanged = true }.counts }
        #expect(again.kinds == [.list] && again.value.unchanged == 3)
    }

    @Test func `A file of a folder gives its turn to the next one before its bytes are on the disk`() async throws {
        for name in ["d/a", "d/b"] { try await place.backend.put([1], at: name) }
        let before = kinds.count, isFree = Signal()
        // All threads that write downloaded files.
        for _ in 0..<8 { place.backend.downloading.submit { isFree.block() } }
        async let counts = folder(.write) { $0.atOnce = 1 }.counts
        try await eventually { kinds.dropFirst(before) == [.list, .media, .media] }
        isFree.fire()
        #expect(try await counts.completed == 2)
        #expect(try contentsOf(scratch.path + "/b") == [1])
    }

    @Test func `A directory that others remove during a download is made again`() async throws {
        for name in ["d/e/a", "d/e/b"] { try await place.backend.put([1], at: name) }
        let directory = scratch.path + "/e"
        fixture.faults = [
            .init(.nth(2, .media), .meanwhile { try? FileManager.default.removeItem(atPath: directory) })
        ]
        let asked = try await requests { try await folder(.write) { $0.atOnce = 1 }.counts }
        // One of the files, in either order, may have its name already.
        #expect(asked.kinds.count { $0 == .media } >= 3 && asked.value.completed == 2)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `A folder is copied with two looks and one request for each object`(kind: FolderRequest.Kind) async throws {
        for name in ["d/a", "d/b", "t/b", "t/other"] { try await place.backend.put(Array(name.utf8), at: name) }
        let asked = try await requests {
            try await folder(kind) { request in
                request.reference = try ref("t")
                request.copies = [FolderCopy(try ref("d"), to: try ref("t"))]
            }.counts
        }
        #expect(asked.value.completed == 2 && asked.kinds.count { $0 == .rewrite } == 2)
        // The plan looks for the version of the one object that is replaced. A move looks before it deletes.
        #expect(asked.kinds.prefix(3) == [.list, .list, .getMetadata])
        #expect(asked.kinds.count { $0 == .getMetadata } == (kind == .move ? 7 : 5))
        #expect(fixture.bytes("b", "t/b") == Array("d/b".utf8) && (fixture.bytes("b", "d/b") == nil) == (kind == .move))
    }

    @Test(arguments: [StorageFixture.S3Settings.Server.ceph, .aws, .swift])
    func `A copy has the metadata of its own bytes`(server: StorageFixture.S3Settings.Server) async throws {
        fixture.s3.server = server
        try await place.backend.put([1], at: "a")
        fixture.faults = [
            .init(.first(.rewrite), .meanwhile { [fixture] in try? fixture.put([2, 3], "b", "a", by: .s3) })
        ]
        let copy = try await place.backend.run(.copy(of: ref("a"), to: ref("c")), retryTime: .seconds(600))
        #expect(copy.size == 2)
        for request in fixture.log.requests(.rewrite) {
            let conditions = ["x-amz-copy-source-if-match", "x-amz-copy-if-match"].map { request.headers[$0] }
            #expect(conditions[0] != nil && conditions[1] == (server == .ceph ? conditions[0] : nil))
        }
        _ = try await place.backend.fetch("c", to: scratch.path + "/file")
        #expect(try contentsOf(scratch.path + "/file") == [2, 3])
    }

    @Test(arguments: [StorageFixture.S3Settings.Server.ceph, .aws, .swift])
    func `A change of metadata does not describe the bytes that another client stores meanwhile`(
        server: StorageFixture.S3Settings.Server
    ) async throws {
        fixture.s3.server = server
        try await place.backend.put([1], at: "a")
        fixture.faults = [
            .init(.first(.patch), .meanwhile { [fixture] in try? fixture.put([2, 3], "b", "a", by: .s3) })
        ]
        var change = MetadataChange()
        change.content[.contentType] = "text/x"
        let changed = try await place.backend.updateMetadata(
            of: ref("a"), change, if: Preconditions(), for: Caller(retryTime: .seconds(600)))
        #expect(changed.size == 2 && changed.settable.content[.contentType] == "text/x")
        _ = try await place.backend.fetch("a", to: scratch.path + "/file")
        #expect(try contentsOf(scratch.path + "/file") == [2, 3])
    }

    @Test func `A look decides where the tag in a list does not prove that a file is unchanged`() async throws {
        let bytes = noise((8 << 20) + 1)
        _ = try await place.backend.run(.data(bytes, to: ref("d/parts")))
        try await place.backend.put([1, 2], at: "d/changed")
        for (name, bytes) in [("parts", bytes), ("changed", [3, 4])] { _ = try scratch.file(name, bytes) }
        let asked = try await requests { try await folder(.write) { $0.onlyChanged = true }.counts }
        #expect(asked.kinds == [.list, .getMetadata, .getMetadata, .media])
        #expect(asked.value.unchanged == 1 && asked.value.completed == 1)
        #expect(try contentsOf(scratch.path + "/changed") == [1, 2])
    }

    @Test func `Tags that are no MD5 do not cause downloads`() async throws {
        fixture.s3.server = .kms
        try await place.backend.put([1, 2], at: "d/a")
        _ = try scratch.file("a", [1, 2])
        let asked = try await requests { try await folder(.write) { $0.onlyChanged = true }.counts }
        #expect(asked.kinds == [.list, .getMetadata] && asked.value.unchanged == 1)
    }

    @Test func `Many new files are uploaded with one request each, after a list`() async throws {
        for number in 0..<40 { _ = try scratch.file("\(number)", [UInt8(number)]) }
        try await place.backend.put([9], at: "d/7")
        let asked = try await requests { try await folder(.put).counts }
        #expect(asked.kinds.count == 42 && asked.kinds.first == .list && asked.value.completed == 40)
        #expect(asked.kinds.count { $0 == .multipart } == 40)
        #expect(fixture.bytes("b", "d/7") == [7] && fixture.bytes("b", "d/39") == [39])
    }

    @Test func `A few files are uploaded without a list, and so are all whose folder cannot be listed`() async throws {
        for number in 0..<40 { _ = try scratch.file("\(number)", [UInt8(number)]) }
        let few = try await requests { try await folder(.put) { $0.include = ["1*"] } }
        #expect(few.kinds.count == 22 && !few.kinds.contains(.list))
        // A list that is not needed is not retried.
        fixture.faults = [.init(.first(.list), .answer(503, body: StorageFixture.s3Error("SlowDown")))]
        let all = try await requests { try await folder(.put).counts }
        #expect(all.kinds.count == 81 && all.kinds.first == .list && all.value.completed == 40)
    }

    @Test func `Another client's object stays if the answer to the upload of a new file is lost`() async throws {
        for number in 0..<20 { _ = try scratch.file("\(number)", [UInt8(number)]) }
        fixture.faults = [
            .init(.first(.multipart), .resetAfterHandling),
            .init(
                .first(.getMetadata),
                .meanwhile { [fixture] in
                    for number in 0..<20 where fixture.bytes("b", "d/\(number)") != nil {
                        try? fixture.put([99], "b", "d/\(number)", by: .s3)
                    }
                }),
        ]
        let error = try await failure { _ = try await folder(.put) { $0.atOnce = 1 } }
        #expect(error.message.contains("another client"))
        #expect((0..<20).count { fixture.bytes("b", "d/\($0)") == [99] } == 1)
    }

    @Test func `A folder is deleted with one list and one request after the list of the plan`() async throws {
        for number in 0..<40 { try await place.backend.put([1], at: "d/\(number)<&>'\"é") }
        try await place.backend.put([1], at: "other")
        let asked = try await requests { try await folder(.delete).counts }
        #expect(asked.kinds == [.list, .list, .deleteMany] && asked.value.deleted == 40)
        #expect(fixture.objects == ["b/other"])
    }

    @Test(
        arguments: [nil, .answer(503), .resetAfterHandling, .answerAfterHandling(200, body: "<html/>")]
            as [StorageFixture.Fault.Action?])
    func `What is not deleted together is deleted one by one`(fault: StorageFixture.Fault.Action?) async throws {
        // XML cannot have the first name, and some servers trim the second one.
        for name in ["d/\u{1}", "d/a ", "d/a", "d/b", "d/c"] { try await place.backend.put([1], at: name) }
        fixture.s3.undeletable = ["d/b"]
        if let fault { fixture.faults = [.init(.first(.deleteMany), fault)] }
        let asked = try await requests { try await folder(.delete).counts }
        #expect(asked.value.deleted == 5 && asked.value.failed == 0 && fixture.objects.isEmpty)
        #expect(fault != nil || asked.kinds.count { $0 == .delete } == 3)
    }

    @Test func `An object that the list of a deletion answers slowly is deleted together with others`() async throws {
        let lead = Mutex<Int64>(0)
        let backend = try backend { TimeSource.system.now().microseconds + lead.withLock { $0 } }
        try await place.backend.put([1], at: "d/a")
        fixture.faults = [.init(.nth(2, .list), .meanwhile { lead.withLock { $0 = 3_000_000 } })]
        let asked = try await requests { try await folder(.delete, at: backend).counts }
        #expect(asked.kinds == [.list, .list, .deleteMany] && asked.value.deleted == 1)
    }

    @Test func `An object whose tag proves no bytes is deleted by its version`() async throws {
        _ = try await place.backend.run(.data(noise((8 << 20) + 1), to: ref("d/parts")))
        let asked = try await requests { try await folder(.delete).counts }
        #expect(asked.kinds == [.list, .getMetadata, .getMetadata, .delete] && asked.value.deleted == 1)
    }

    @Test func `A deletion keeps an object that others have stored since its second list`() async throws {
        for name in ["d/a", "d/b"] { try await place.backend.put([1], at: name) }
        fixture.s3.undeletable = ["d/b"]
        fixture.faults = [
            .init(.first(.deleteMany), .meanwhile { [fixture] in try? fixture.put([2], "b", "d/b", by: .s3) })
        ]
        let error = try await failure { _ = try await folder(.delete) }
        #expect(error.message.contains("Another object was stored as"), "\(error)")
        #expect(fixture.objects == ["b/d/b"] && fixture.bytes("b", "d/b") == [2])
    }

    @Test func `A deletion keeps an object that the service itself has stored since its second list`() async throws {
        for name in ["d/a", "d/b"] { try await place.backend.put([1], at: name) }
        let late = Signal()
        fixture.faults = [.init(.nth(2, .list), .answerLate(late))]
        async let deletion = failure { _ = try await folder(.delete) }
        try await eventually { fixture.requests.count { $0.kind == .list } == 2 }
        try await place.backend.put([2], at: "d/b")
        late.fire()
        let error = try await deletion
        #expect(error.message.contains("Another object was stored as"), "\(error)")
        #expect(fixture.objects == ["b/d/b"] && fixture.bytes("b", "d/b") == [2])
    }

    @Test func `A deletion keeps an object that others have stored since the plan`() async throws {
        for name in ["d/a", "d/b"] { try await place.backend.put([1], at: name) }
        fixture.faults = [
            .init(.nth(2, .list), .meanwhile { [fixture] in try? fixture.put([1, 2], "b", "d/b", by: .s3) })
        ]
        let error = try await failure { _ = try await folder(.delete) }
        #expect(error.message.contains("Another object was stored as"), "\(error)")
        #expect(fixture.objects == ["b/d/b"] && fixture.bytes("b", "d/b") == [1, 2])
    }

    @Test func `A mirror deletes the version of an object that a look has told`() async throws {
        _ = try scratch.file("new", [1])
        try await place.backend.put([1], at: "d/old")
        let asked = try await requests { try await folder(.put) { $0.deletesOthers = true }.counts }
        #expect(asked.kinds == [.list, .getMetadata, .multipart, .getMetadata, .delete])
        #expect(asked.value.completed == 1 && asked.value.deleted == 1)
        #expect(fixture.objects == ["b/d/new"])
    }
}
