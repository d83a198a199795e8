import Checksums
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Downloads whose clients read piece by piece.
@Loop @Suite(.watchdog(minutes: 10)) struct StreamDownloadTests {
    @Test func `Pieces come in order, and the last one is verified`() async throws {
        let scene = try await ReadScene("Hello, world!")
        #expect(try await scene.read(5) == "0 Hello")
        #expect(scene.task.snapshot().offset == 5)
        let rest = (0..<3).map { _ in scene.begin(4) }
        #expect(try await scene.text(rest[0].value) == "5 , wo")
        #expect(try await scene.text(rest[1].value) == "9 rld!, the end, verified")
        #expect(try await scene.text(rest[2].value) == "13 , the end, verified")
        #expect(scene.task.state == .success && scene.task.snapshot().progress.fractionCompleted == 1)
        #expect(try await scene.read(4) == "13 , the end, verified", "after the end, too")
    }

    @Test func `A stream that begins at an offset is not verified, and counts what it reads`() async throws {
        let scene = try await ReadScene("Hello, world!", from: 7)
        #expect(try await scene.read(100) == "7 world!, the end")
        #expect(scene.task.snapshot().progress == Progress(completedUnitCount: 6, totalUnitCount: 6))
    }

    @Test func `A stream of no bytes has an end`() async throws {
        #expect(try await ReadScene("").read(5) == "0 , the end, verified")
        let beyond = try await ReadScene("abc", from: 4)
        let error = try await failure { _ = try await beyond.read(5) }
        #expect(error.param == "offset" && beyond.task.state == .failed)
    }

    @Test func `Bytes that do not match the checksum fail the last read and the task`() async throws {
        let scene = try await ReadScene("Hello, world!", crc32c: 7)
        #expect(try await scene.read(12) == "0 Hello, world")
        let error = try await failure { _ = try await scene.read(12) }
        #expect(error.code == .nonMatchingChecksum && scene.task.state == .failed)
        #expect(try await failure { _ = try scene.task.openStream() } == error)
    }

    @Test func `An object without a CRC32C is verified with its MD5, and one without both is not`() async throws {
        #expect(try await ReadScene("abc", crc32c: nil).read(5) == "0 abc, the end, verified")
        #expect(try await ReadScene("abc", crc32c: nil, md5: nil).read(5) == "0 abc, the end")
        let scene = try await ReadScene("abc", crc32c: nil, md5: [1])
        #expect(try await failure { _ = try await scene.read(5) }.code == .nonMatchingChecksum)
    }

    @Test func `A piece that fails is fetched again, and the read is answered then`() async throws {
        let scene = try await ReadScene("abc")
        scene.next = .busy
        let read = scene.begin(3)
        let rest = try await scene.stage.clock.nextSleep()
        #expect(scene.task.snapshot().retry?.of == .download)
        scene.next = nil
        scene.stage.clock.advance(by: rest)
        #expect(try await scene.text(read.value) == "0 abc, the end, verified")
    }

    @Test func `A read of a paused stream waits until it is resumed`() async throws {
        let scene = try await ReadScene("abc")
        #expect(try await scene.task.pause())
        let read = scene.begin(3)
        try await TransfersFixture.succeedElsewhere()
        #expect(scene.task.state == .paused)
        #expect(scene.task.resume())
        #expect(try await scene.text(read.value) == "0 abc, the end, verified")
    }

    @Test func `A read that is cancelled leaves its bytes to the next one`() async throws {
        let scene = try await ReadScene("abc")
        #expect(try await scene.task.pause())
        let (first, second) = (scene.begin(2), scene.begin(3))
        first.cancel()
        await #expect(throws: CancellationError.self) { _ = try await first.value }
        #expect(scene.task.resume())
        #expect(try await scene.text(second.value) == "0 abc, the end, verified")
    }

    @Test func `Reads that wait when the stream is cancelled get its end`() async throws {
        let scene = try await ReadScene("abc")
        #expect(try await scene.task.pause())
        let read = scene.begin(2)
        scene.stage.transfers.cancelStreams { $0.id == scene.task.id }
        #expect(try await failure { _ = try await read.value }.code == .cancelled)
    }

    @Test func `A piece at an offset moves nothing, and can be read after the end`() async throws {
        let scene = try await ReadScene("Hello, world!")
        #expect(try await scene.read(100, at: 7) == "7 world! of 13, the end")
        #expect(try await scene.read(0, at: 0) == "0  of 13")
        #expect(try await scene.read(5) == "0 Hello")
        #expect(try await scene.read(2, at: 1) == "1 el of 13")
        #expect(scene.task.snapshot().offset == 5 && scene.task.snapshot().progress.completedUnitCount == 5)
        #expect(try await scene.read(100) == "5 , world!, the end, verified")
        #expect(scene.task.state == .success)
        #expect(try await scene.read(5, at: 0) == "0 Hello of 13")
        #expect(try await scene.read(5, at: .max) == "\(Int64.max)  of 13, the end")
        #expect(try await failure { _ = try await scene.read(5, at: -1) }.param == "offset")
    }

    @Test func `A piece at an offset that fails is fetched again, also after the end`() async throws {
        let scene = try await ReadScene("abc")
        for isEnded in [false, true] {
            if isEnded { #expect(try await scene.read(3) == "0 abc, the end, verified") }
            scene.next = .busy
            let read = scene.begin(2, at: 1)
            let rest = try await scene.stage.clock.nextSleep()
            #expect(scene.task.snapshot().retry == nil)
            scene.next = nil
            scene.stage.clock.advance(by: rest)
            #expect(try await scene.text(read.value) == "1 bc of 3, the end")
            scene.next = StorageError(.preconditionFailed, "It was replaced.")
            #expect(try await failure { _ = try await scene.read(2, at: 1) }.code == .preconditionFailed)
            #expect(scene.task.state == (isEnded ? .success : .running))
            scene.next = nil
        }
    }

    @Test func `A piece at an offset waits while the stream is paused, and fails with its task`() async throws {
        let scene = try await ReadScene("abc")
        #expect(try await scene.read(1, at: 0) == "0 a of 3")
        #expect(try await scene.task.pause())
        let (read, cancelled) = (scene.begin(1, at: 2), scene.begin(1, at: 1))
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        try await TransfersFixture.succeedElsewhere()
        #expect(scene.task.state == .paused)
        #expect(scene.task.resume())
        #expect(try await scene.text(read.value) == "2 c of 3, the end")
        #expect(try await scene.task.pause())
        let last = scene.begin(1, at: 2)
        scene.stage.transfers.cancelStreams { $0.id == scene.task.id }
        #expect(try await failure { _ = try await last.value }.code == .cancelled)
        #expect(try await failure { _ = try await scene.read(1, at: 0) }.code == .cancelled)
    }

    @Test func `A stream takes no place of other downloads, and counts as a task`() async throws {
        let scene = try await ReadScene("abc")
        #expect(scene.task.state == .running && scene.stage.transfers.tasks.limits.downloads !== scene.task.limiter)
        #expect(try await scene.stage.transfers.downloadStream(TransfersFixture.reference()).state == .queued)
    }
}

/// A download stream of an object of a scripted engine.
@Loop private final class ReadScene {
    let stage: TransfersFixture
    let task: DownloadTask
    let stream: StreamDownload
    private nonisolated let failing: Failing

    private final class Failing: Sendable { let error = Mutex<StorageError?>(nil) }

    /// How the next pieces fail.
    var next: StorageError? {
        get { failing.error.withLock { $0 } }
        set { failing.error.withLock { $0 = newValue } }
    }

    convenience init(_ text: String, from offset: Int64 = 0) async throws {
        try await self.init(text, from: offset, crc32c: Checksum(of: Array(text.utf8)).crc32c)
    }

    convenience init(_ text: String, from offset: Int64 = 0, crc32c: UInt32?) async throws {
        try await self.init(text, from: offset, crc32c: crc32c, md5: Checksum(of: Array(text.utf8)).md5)
    }

    init(_ text: String, from offset: Int64 = 0, crc32c: UInt32?, md5: [UInt8]?) async throws {
        let bytes = Array(text.utf8), failing = Failing()
        self.failing = failing
        stage = TransfersFixture(
            ScriptedBackend { reference, _ throws(StorageError) in
                var object = ObjectMetadata.stored(reference, size: Int64(bytes.count))
                object.checksums = Checksums(md5: md5, crc32c: crc32c)
                return object
            } read: { _, _, _ throws(StorageError) in
                if let error = failing.error.withLock({ $0 }) { throw error }
                return bytes
            })
        task = try await stage.transfers.downloadStream(TransfersFixture.reference(), from: offset)
        stream = try task.openStream()
        task.start()
    }

    func begin(_ length: Int64) -> Task<StreamDownload.Piece, any Error> {
        Task { [stream] in try await stream.read(length) { $0 } }
    }

    func begin(_ length: Int64, at place: Int64) -> Task<StreamDownload.Piece, any Error> {
        Task { [stream] in try await stream.read(length, at: place) { $0 } }
    }

    func read(_ length: Int64) async throws -> String { text(try await begin(length).value) }

    func read(_ length: Int64, at place: Int64) async throws -> String {
        text(try await begin(length, at: place).value)
    }

    func text(_ piece: StreamDownload.Piece) -> String {
        let end = piece.isEnd ? piece.isVerified == true ? ", the end, verified" : ", the end" : ""
        let size = piece.size.map { " of \($0)" } ?? ""
        return "\(piece.offset) \(String(decoding: piece.bytes, as: UTF8.self))\(size)\(end)"
    }
}
