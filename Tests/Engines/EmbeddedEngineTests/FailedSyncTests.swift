import Glibc
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// After a failed sync the system counts bytes as written that the disk may lack.
@Suite(.watchdog) struct FailedSyncTests {
    /// Zeros: a file that has lost them has a hole, which reads as they do until they are written again.
    private let bytes = [UInt8](repeating: 0, count: 9 << 20)
    private let place: EmbeddedFixture
    private let source: UploadSource
    private let staging: Staging
    private let path: String
    /// The last checkpoint before the failure.
    private let kept: UploadCheckpoint

    /// Copies a part of the file.
    init() async throws {
        place = try await EmbeddedFixture()
        let backend = place.backend
        source = try await backend.upload(file: place.scratch.file("source", bytes), to: "a").source
        let number = try await withCheckedContinuation { waiter in
            backend.reserved.take { waiter.resume(returning: $0) }
        }.get()
        path = backend.objectFiles.path(of: number)
        staging = Staging(
            file: number, try #require(try backend.objectFiles.empty(number)), in: backend.objectFiles, source,
            from: nil, hashing: backend.hashing, blocks: backend.blocks)
        try staging.copy(0..<Int64(2 * granule), of: source) { true }
        staging.saveCheckpoint()
        kept = try #require(await staging.progress.lastCheckpoint())
    }

    private func failSync() throws {
        staging.park()
        // A pipe cannot be synced.
        #expect(rename(path, path + "x") == 0 && mkfifo(path, 0o600) == 0)
        #expect(throws: StorageError.self) { _ = try staging.finish() }
        #expect(rename(path + "x", path) == 0)
    }

    private func failWriteback() throws {
        // A device without a disk takes all bytes.
        try redirect(descriptorsOf: path, to: "/dev/null")
        #expect(throws: StorageError.self) { try staging.copy(0..<Int64(bytes.count), of: source) { true } }
        staging.park()
    }

    private func expectWrittenAgain(_ again: Staging?) throws {
        let again = try #require(again)
        #expect(try again.offset == Int64(2 * granule) && takenBlocks(of: path) > 0)
        try again.copy(again.offset..<Int64(bytes.count), of: source) { true }
        _ = try again.finish()
        #expect(try contentsOf(path) == bytes)
    }

    @Test(arguments: [true, false])
    func `After a failed sync an upload continues with bytes that it has written again`(isEarly: Bool) throws {
        if isEarly { try failWriteback() } else { try failSync() }
        try lose(bytesOf: path, 2 * granule)
        try expectWrittenAgain(Staging(staging, backTo: kept, hashing: place.backend.hashing))
    }

    /// The staging of the next process.
    private func restored() throws -> Staging? {
        let backend = place.backend
        return try Staging(
            kept, in: backend.objectFiles, source, from: nil, hashing: backend.hashing, blocks: backend.blocks
        ) { true }
    }

    @Test func `The next process continues with bytes that it has written again`() throws {
        staging.park()
        try lose(bytesOf: path, 2 * granule)
        try expectWrittenAgain(restored())
    }

    @Test func `A file whose name the disk may lack since a failed sync is not continued`() throws {
        staging.park()
        let again = try #require(try restored())
        try again.copy(again.offset..<Int64(bytes.count), of: source) { true }
        try withoutSync(ofDirectory: place.backend.objectFiles.path) {
            #expect(throws: StorageError.self) { _ = try again.finish() }
        }
        #expect(try Staging(again, backTo: kept, hashing: place.backend.hashing) == nil)
    }

    @Test func `Bytes that the disk has lost since a failed sync end the upload`() throws {
        try failSync()
        let file = open(path, O_RDWR)
        #expect(pwrite(file, [1], 1, granule) == 1)
        close(file)
        #expect(try Staging(staging, backTo: kept, hashing: place.backend.hashing) == nil)
    }
}
