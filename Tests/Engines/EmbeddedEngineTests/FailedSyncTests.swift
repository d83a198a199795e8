import Foundation
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import LocalFiles

/// After a failed sync the system counts bytes as written that the disk may lack.
@Suite(.watchdog) struct FailedSyncTests {
    private let bytes = noise(2 * granule + 5)

    /// A copied file with a checkpoint, whose sync has failed.
    private func staging(_ place: EmbeddedFixture) async throws -> (Staging, path: String) {
        let backend = place.backend
        let source = try await backend.upload(file: place.scratch.file("source", bytes), to: "a").source
        let number = try await withCheckedContinuation { waiter in
            backend.reserved.take { waiter.resume(returning: $0) }
        }.get()
        let path = backend.objectFiles.path(of: number)
        let staging = Staging(
            file: number, try #require(try backend.objectFiles.empty(number)), in: backend.objectFiles, source,
            from: nil, hashing: backend.hashing, blocks: backend.blocks)
        try staging.copy(0..<Int64(bytes.count), of: source) { true }
        staging.saveCheckpoint()
        staging.park()
        // A pipe cannot be synced.
        #expect(rename(path, path + "x") == 0 && mkfifo(path, 0o600) == 0)
        #expect(throws: StorageError.self) { _ = try staging.finish() }
        #expect(rename(path + "x", path) == 0)
        return (staging, path)
    }

    @Test func `After a failed sync an upload continues with bytes that it has written again`() async throws {
        let place = try await EmbeddedFixture()
        let (former, path) = try await staging(place)
        let kept = try #require(await former.progress.lastCheckpoint())
        #expect(kept.isDoubtful == true)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
        let again = try #require(try Staging(former, backTo: kept, hashing: place.backend.hashing))
        #expect(try again.offset == Int64(bytes.count) && FileStatus(ofPath: path).modified.seconds > 1)
        #expect(await again.progress.lastCheckpoint()?.isDoubtful == nil)
        _ = try again.finish()
        #expect(FileManager.default.contents(atPath: path).map(Array.init) == bytes)
    }

    @Test func `Bytes that the disk has lost since a failed sync end the upload`() async throws {
        let place = try await EmbeddedFixture()
        let (former, path) = try await staging(place)
        let file = open(path, O_RDWR)
        #expect(pwrite(file, [UInt8](repeating: 0, count: 512), 512, granule) == 512)
        close(file)
        let kept = await former.progress.lastCheckpoint()
        #expect(try Staging(former, backTo: kept, hashing: place.backend.hashing) == nil)
    }
}
