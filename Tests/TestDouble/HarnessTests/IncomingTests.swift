import EmbeddedEngine
import Harness
import Platform
import Roots
import Storage
import TestSupport
import Testing
import Transfers

/// Uploads whose clients send the bytes in several requests.
@Loop @Suite(.watchdog) struct IncomingTests {
    private let bytes = noise(1 << 20)
    private let chunk: Int64 = 262_144

    private func piece(_ number: Int64, _ chunks: Int64 = 1) -> IncomingBytes.Piece {
        let start = number * chunk
        return IncomingBytes.Piece(Array(bytes[Int(start)..<Int(start + chunks * chunk)]), at: start)
    }

    private func offset(_ answer: IncomingUpload.Answer) -> Int64? {
        if case .received(let offset) = answer { offset } else { nil }
    }

    private func failure(_ answer: IncomingUpload.Answer) -> StorageError? {
        if case .failed(let error) = answer { error } else { nil }
    }

    private func stored(_ answer: IncomingUpload.Answer) -> ObjectMetadata? {
        if case .completed(let metadata) = answer { metadata } else { nil }
    }

    private func ended(_ answer: IncomingUpload.Answer) -> ObjectMetadata? {
        if case .ended(let metadata) = answer { metadata } else { nil }
    }

    private func content(_ stage: HarnessFixture) async throws -> [UInt8] {
        try await stage.transfers.data(of: ref("a"), maxSize: 1 << 30) { $0 }
    }

    @Test(arguments: [nil, Int64(1 << 20)])
    func `Chunks in several requests become one object`(size: Int64?) async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: size), to: ref("a"), for: .gateway))
        for number: Int64 in 0..<3 {
            #expect(try await offset(upload.send(piece(number), isLast: false)) == (number + 1) * chunk)
        }
        await stage.settle()
        #expect(upload.task?.snapshot().progress.completedUnitCount == 3 * chunk)
        // Bytes that were received before are skipped, and a gap is refused.
        #expect(try await offset(upload.send(piece(1), isLast: false)) == 3 * chunk)
        #expect(try await offset(upload.send(piece(2), isLast: false)) == 3 * chunk)
        let gap = try await upload.send(.init([1], at: 4 * chunk), isLast: true)
        #expect(failure(gap)?.param == "offset")
        #expect(try await offset(upload.query()) == 3 * chunk)
        await stage.settle()
        let end = try await stored(upload.send(piece(2, 2), isLast: true))
        #expect(end?.size == 1 << 20)
        let again = try await ended(upload.send(piece(3), isLast: true))
        #expect(again == end && upload.task?.state == .success)
        #expect(try await content(stage) == bytes)
    }

    @Test func `An object may be empty, and the last request may have no bytes`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(
            UploadRequest(.incoming(size: nil), to: ref("empty"), for: .gateway))
        #expect(try await stored(upload.send(.init([], at: 0), isLast: true))?.size == 0)
        let other = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        _ = try await other.send(piece(0, 4), isLast: false)
        #expect(try await stored(other.send(.init([], at: 4 * chunk), isLast: true))?.size == 1 << 20)
    }

    @Test func `A temporary failure is returned to the client, which may repeat the request`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("busy", [.send], .fail(StorageError(.unknown, "Busy.").with(\.retryable, true)))
        stage.arm("lost", [.send], .lose(StorageError(.unknown, "Lost.").with(\.retryable, true)))
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        for expected in ["Busy.", "Lost."] {
            #expect(try await failure(upload.send(piece(0), isLast: false))?.message == expected)
        }
        // The bytes of the second attempt were received.
        #expect(try await offset(upload.send(piece(0), isLast: false)) == chunk)
        stage.arm("last", [.send], .lose(StorageError(.unknown, "Lost.").with(\.retryable, true)))
        #expect(try await failure(upload.send(piece(1, 3), isLast: true)) != nil)
        #expect(try await stored(upload.query())?.size == 1 << 20)
        #expect(stage.outcomes.filter { $0.hasPrefix("send") }.count == 3)
    }

    @Test(arguments: [true, false])
    func `A temporary failure of the opening answers one request, and the session continues`(isLost: Bool) async throws
    {
        let stage = try await HarnessFixture()
        let error = StorageError(.unknown, "Busy.").with(\.retryable, true)
        stage.arm("busy", Set(Operation.allCases), isLost ? .lose(error) : .fail(error))
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        await stage.settle()
        #expect(try await failure(upload.query())?.message == "Busy.")
        #expect(try await offset(upload.send(piece(0), isLast: false)) == chunk)
        #expect(try await stored(upload.send(piece(1, 3), isLast: true))?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    @Test func `A session whose opening has failed can be cancelled`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("busy", [.open], .fail(StorageError(.unknown, "Busy.").with(\.retryable, true)))
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        await stage.settle()
        #expect(try await upload.task?.cancel() == true)
        #expect(try await failure(upload.query())?.code == .cancelled)
    }

    @Test func `An upload without room keeps what it has, and continues once there is some`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        _ = try await upload.send(piece(0), isLast: false)
        stage.arm("full", [.send], .fail(StorageError(.quotaExceeded, "There is no room left.")))
        #expect(try await failure(upload.send(piece(1, 3), isLast: true))?.code == .quotaExceeded)
        #expect(try await offset(upload.query()) == chunk)
        #expect(try await stored(upload.send(piece(1, 3), isLast: true))?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    @Test func `A permanent failure ends the task`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("refused", [.send], .fail(StorageError(.unauthorized, "No.")))
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        #expect(try await failure(upload.send(piece(0), isLast: false))?.code == .unauthorized)
        #expect(try await failure(upload.send(piece(0), isLast: false))?.code == .unauthorized)
        #expect(upload.task?.state == .failed)
    }

    @Test func `A held chunk continues after a pause and a resume`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.send], .hold, at: 393_216)
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let sending = Task { try await upload.send(piece(0, 4), isLast: true) }
        await stage.settle()
        let task = try #require(upload.task)
        #expect(stage.harness.holds.count == 1 && task.snapshot().progress.completedUnitCount == 393_216)
        #expect(try await task.pause())
        #expect(task.state == .paused && stage.harness.holds.isEmpty)
        #expect(task.resume())
        #expect(try await stored(sending.value)?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    @Test func `A cancellation fails the request in flight`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.send], .hold)
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let sending = Task { try await upload.send(piece(0), isLast: true) }
        await stage.settle()
        #expect(try await upload.task?.cancel() == true)
        #expect(try await failure(sending.value)?.code == .cancelled)
        #expect(try await failure(upload.query())?.code == .cancelled)
    }

    @Test(arguments: [true, false]) func `A checksum of the client is verified`(isRight: Bool) async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let expected = Checksums(crc32c: isRight ? 0xE306_9283 : 1)
        let answer = try await upload.send(.init(Array("123456789".utf8), at: 0), isLast: true, expected)
        #expect(isRight ? stored(answer) != nil : failure(answer)?.code == .nonMatchingChecksum)
    }

    private func provisional(_ piece: IncomingBytes.Piece) -> IncomingBytes.Piece {
        var piece = piece
        piece.isProvisional = true
        return piece
    }

    @Test func `Bytes of a request that does not end are dropped`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        try await upload.sendingPieces(from: 0) { first async throws in
            #expect(try await offset(upload.send(piece(0), isLast: false, by: first)) == chunk)
            let wrong = provisional(.init([UInt8](repeating: 7, count: 300_000), at: chunk))
            #expect(try await offset(upload.send(wrong, isLast: false, by: first)) == chunk)
            #expect(try await offset(upload.query()) == chunk)
            try await upload.dropProvisional(of: first)
            // Another request begins before the end of one whose bytes are wrong.
            #expect(try await offset(upload.send(wrong, isLast: false)) == chunk)
            try await upload.sendingPieces(from: chunk) { second async throws in
                #expect(try await offset(upload.send(provisional(piece(1)), isLast: false, by: second)) == chunk)
                try await upload.dropProvisional(of: first)
                #expect(try await offset(upload.send(piece(2), isLast: false, by: second)) == 3 * chunk)
                try await upload.dropProvisional(of: second)
            }
        }
        #expect(try await stored(upload.send(piece(3), isLast: true))?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    @Test func `A request whose bytes were dropped does not continue another one`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let other = IncomingBytes.Piece([UInt8](repeating: 7, count: Int(chunk)), at: 0)
        let end = try await upload.sendingPieces(from: 0) { first async throws in
            #expect(try await offset(upload.send(provisional(other), isLast: false, by: first)) == 0)
            let end = try await upload.sendingPieces(from: 0) { second async throws in
                #expect(try await offset(upload.send(piece(0), isLast: false, by: second)) == chunk)
                for isLast in [false, true] {
                    let late = try await failure(upload.send(piece(1), isLast: isLast, by: first))
                    #expect(late?.retryable == true && late?.message.contains("were dropped") == true)
                }
                return try await stored(upload.send(piece(1, 3), isLast: true, by: second))
            }
            #expect(try await failure(upload.send(piece(1, 3), isLast: true, by: first))?.retryable == true)
            return end
        }
        #expect(end?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    @Test func `A request whose bytes are all kept continues after a later one`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        try await upload.sendingPieces(from: 0) { first async throws in
            #expect(try await offset(upload.send(piece(0), isLast: false, by: first)) == chunk)
            try await upload.sendingPieces(from: 0) { second async throws in
                #expect(try await offset(upload.send(piece(0, 2), isLast: false, by: second)) == 2 * chunk)
                let other = IncomingBytes.Piece([UInt8](repeating: 7, count: Int(chunk)), at: chunk)
                #expect(try await failure(upload.send(other, isLast: false))?.httpStatus == 409)
                #expect(try await offset(upload.query()) == 2 * chunk)
                #expect(try await offset(upload.send(piece(1, 2), isLast: false, by: first)) == 3 * chunk)
                #expect(try await stored(upload.send(piece(2, 2), isLast: true, by: second))?.size == 1 << 20)
            }
            #expect(try await ended(upload.send(piece(3), isLast: true, by: first))?.size == 1 << 20)
        }
        #expect(try await content(stage) == bytes)
    }

    @Test func `A query beside a request drops none of its bytes`() async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let pieces = [provisional(piece(0)), piece(1)]
        let sending = Loop.immediateTask { try? await upload.send(pieces[0], isLast: false) }
        let asking = Loop.immediateTask { try? await upload.query() }
        #expect(await sending.value.flatMap(offset) == 0)
        #expect(await asking.value.flatMap(offset) == 0)
        #expect(try await offset(upload.send(pieces[1], isLast: false)) == 2 * chunk)
    }

    @Test func `The next process has no bytes of a request that did not end`() async throws {
        let stage = try await HarnessFixture()
        let id = try await begun(stage, and: provisional(.init([7], at: 2 * chunk)))
        try await stage.restart()
        let restored = try #require(try await stage.transfers.incomingUpload(id))
        #expect(try await offset(restored.query()) == 2 * chunk)
        #expect(try await stored(restored.send(piece(2, 2), isLast: true))?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
    }

    /// An upload that has half of its bytes, and is paused.
    private func begun(_ stage: HarnessFixture, and more: IncomingBytes.Piece? = nil) async throws -> String {
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        _ = try await upload.send(piece(0, 2), isLast: false)
        if let more { _ = try await upload.send(more, isLast: false) }
        let task = try #require(upload.task)
        await stage.transfers.suspendIncoming()
        #expect(task.state == .paused)
        return task.id
    }

    @Test func `The next process continues with the received bytes`() async throws {
        let stage = try await HarnessFixture()
        let id = try await begun(stage)
        try await stage.restart()
        let restored = try #require(try await stage.transfers.incomingUpload(id))
        #expect(restored.task?.snapshot().origin == .gateway)
        #expect(try await offset(restored.query()) == 2 * chunk)
        #expect(try await stored(restored.send(piece(1, 3), isLast: true))?.size == 1 << 20)
        #expect(try await content(stage) == bytes)
        #expect(try await stage.transfers.incomingUpload("other") == nil)
    }
}
