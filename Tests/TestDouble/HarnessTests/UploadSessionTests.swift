import EmbeddedEngine
import Harness
import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// What the service keeps of uploads whose clients send the bytes, and for how long.
@Loop @Suite(.watchdog) struct UploadSessionTests {
    private static let chunk: Int64 = 262_144

    private func stage(_ change: (inout TransferLimits) -> Void) async throws -> HarnessFixture {
        var limits = TransferLimits()
        change(&limits)
        return try await HarnessFixture(limits: limits)
    }

    private func session(_ stage: HarnessFixture, _ path: String = "a") async throws -> UploadTask {
        try #require(
            try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref(path), for: .gateway)).task)
    }

    /// Its client asks where it is.
    private func use(_ task: UploadTask, _ stage: HarnessFixture) async throws {
        let upload = try #require(try await stage.transfers.incomingUpload(task.id))
        _ = try await upload.used { try await upload.query() }
    }

    private func restart(_ stage: HarnessFixture) async throws {
        await stage.transfers.suspendIncoming()
        try await stage.restart()
    }

    private func failure(of task: UploadTask) -> StorageError? { task.snapshot().error }

    private final class Bytes: Sendable {
        func fill(_ buffer: UnsafeMutableRawBufferPointer) { buffer.initializeMemory(as: UInt8.self, repeating: 7) }
    }

    private func piece(_ bytes: Bytes, at offset: Int64 = 0) -> IncomingBytes.Piece {
        .init(offset..<offset + Self.chunk) { buffer, _ in bytes.fill(buffer) }
    }

    @Test(arguments: [false, true]) func `Nothing keeps the bytes of a request that is answered`(isLast: Bool)
        async throws
    {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        weak var held: Bytes?
        _ = try await {
            let bytes = Bytes()
            held = bytes
            return try await upload.send(piece(bytes), isLast: isLast)
        }()
        try await until { held == nil }
        try await until { upload.task?.state == (isLast ? .success : .running) }
    }

    @Test func `The session of an ended upload is removed with it`() async throws {
        let stage = try await HarnessFixture()
        weak var held: IncomingUpload?
        let task = try await {
            let upload = try await stage.transfers.begin(
                UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
            held = upload
            _ = try await upload.send(piece(Bytes()), isLast: true)
            return try #require(upload.task)
        }()
        try await until { held == nil }
        try await until { task.state == .success }
    }

    @Test func `Beyond the bound the longest idle session is removed`() async throws {
        let stage = try await stage { $0.uploadSessions.most = 2 }
        let (first, second) = (try await session(stage, "a"), try await session(stage, "b"))
        try await use(second, stage)
        try await use(first, stage)
        let third = try await session(stage, "c")
        #expect(first.state == .running && second.state == .failed && third.state == .running)
        let error = try #require(failure(of: second))
        #expect(error.httpStatus == 410 && error.message.contains("--max-upload-sessions"))
        #expect(try await stage.transfers.incomingUpload(second.id) == nil)
        // Its beginning is a use, too.
        _ = try await session(stage, "d")
        #expect(first.state == .failed && third.state == .running)
    }

    @Test func `A session in use is kept; without another one there is no room`() async throws {
        let stage = try await stage { $0.uploadSessions.most = 1 }
        let task = try await session(stage)
        let upload = try #require(try await stage.transfers.incomingUpload(task.id))
        await upload.used {
            let error = await #expect(throws: StorageError.self) { _ = try await session(stage, "b") }
            #expect(error?.code == .quotaExceeded && error?.retryable == true)
            #expect(error?.message.contains("--max-upload-sessions") == true)
        }
        #expect(task.state == .running)
        _ = try await session(stage, "b")
        #expect(task.state == .failed)
    }

    @Test func `Sessions that begin concurrently are never more than the bound`() async throws {
        let stage = try await stage { $0.uploadSessions.most = 3 }
        let begun = (0..<20).map { number in Task { try await session(stage, "\(number)") } }
        for task in begun {
            do { _ = try await task.value } catch let error as StorageError { #expect(error.code == .quotaExceeded) }
        }
        #expect(stage.transfers.uploads.all.count { !$0.state.isFinished } <= 3)
    }

    @Test func `Sessions take no room of other tasks, and the other way round`() async throws {
        let stage = try await stage { $0.tasks = 1 }
        for name in ["a", "b", "c"] { _ = try await session(stage, name) }
        let task = try await stage.transfers.upload(UploadRequest(.data([1]), to: ref("d")))
        await #expect(throws: StorageError.self) {
            _ = try await stage.transfers.upload(UploadRequest(.data([1]), to: ref("e")))
        }
        _ = try await session(stage, "f")
        #expect(task.state == .queued)
    }

    @Test(arguments: [false, true]) func `A session expires`(restarts: Bool) async throws {
        let stage = try await stage { $0.uploadSessions.seconds = 100 }
        let id = try await session(stage).id
        await stage.harness.advance(by: .seconds(99))
        if restarts { try await restart(stage) }
        _ = try #require(try await stage.transfers.incomingUpload(id))
        await stage.harness.advance(by: .seconds(1))
        if restarts { try await restart(stage) }
        #expect(try await stage.transfers.incomingUpload(id) == nil)
        let error = try #require(failure(of: try stage.transfers.uploads.task(id)))
        #expect(error.httpStatus == 410 && error.message.contains("--max-upload-session-seconds"))
    }

    @Test func `Expired sessions make room for a new one`() async throws {
        let stage = try await stage { ($0.uploadSessions.most, $0.uploadSessions.seconds) = (2, 100) }
        let old = try await session(stage, "a")
        await stage.harness.advance(by: .seconds(100))
        let young = try await session(stage, "b")
        #expect(old.state == .failed)
        _ = try await session(stage, "c")
        #expect(young.state == .running)
    }
}
