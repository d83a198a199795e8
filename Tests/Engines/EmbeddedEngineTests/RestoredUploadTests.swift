import Checksums
import Foundation
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// Uploads to the embedded engine that one process began and the next one continues.
@Suite(.watchdog(minutes: 10)) struct RestoredUploadTests {
    let bytes = noise(5 * granule + 1000)
    let place: EmbeddedFixture
    let path: String

    init() async throws {
        place = try await EmbeddedFixture()
        path = try place.scratch.file("source", bytes)
    }

    private static let stored = Contents(objects: 1, rows: 0, files: 1, filesOnDisk: 1)

    private func expectStored(_ again: EmbeddedFixture, _ stored: ObjectMetadata) async throws {
        #expect(
            stored.checksums.md5 == Checksum(of: bytes).md5 && stored.checksums.crc32c == Checksum(of: bytes).crc32c)
        #expect(try await again.bytes(of: ref("a")) == bytes)
        #expect(try await again.backend.metadata(of: ref("a")) == stored)
        #expect(try await again.settledContents(Self.stored) == Self.stored)
    }

    @Test(arguments: 0...5)
    func `A restored upload continues from every chunk boundary`(chunks: Int) async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: chunks * granule)
        let again = try await place.reopened()
        let steps = Steps()
        let stored = try await again.backend.continueUpload(upload, between: steps.take)
        #expect(steps.all.first == (chunks > 0 ? .query : .open))
        if chunks > 0 {
            #expect(steps.sent.first?.lowerBound == Int64(chunks * granule))
        } else {
            #expect(steps.sent.first?.lowerBound == 0)
        }
        try await expectStored(again, stored)
    }

    @Test(arguments: [1, 1000, granule, 2 * granule + 5])
    func `A restored upload continues from a checkpoint that is older than its file`(extra: Int) async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule, thenSending: extra)
        let again = try await place.reopened()
        let steps = Steps()
        let stored = try await again.backend.continueUpload(upload, between: steps.take)
        #expect(steps.sent.first?.lowerBound == Int64(2 * granule))
        try await expectStored(again, stored)
    }

    enum Damage: CaseIterable {
        case firstBit, lastBit, shorter, empty, missing, link

        func strike(_ path: String, _ scratch: Scratch) throws {
            switch self {
            case .firstBit, .lastBit:
                let place = self == .firstBit ? 0 : 2 * granule - 1
                let file = open(path, O_RDWR)
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, place) == 1)
                byte ^= 1
                #expect(pwrite(file, &byte, 1, place) == 1)
                close(file)
            case .shorter: #expect(truncate(path, 2 * granule - 1) == 0)
            case .empty: #expect(truncate(path, 0) == 0)
            case .missing: #expect(unlink(path) == 0)
            case .link: #expect(rename(path, path + "x") == 0 && symlink(path + "x", path) == 0)
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func `A restored upload starts over when its file is damaged`(damage: Damage) async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
        let staged = place.backend.objectFiles.path + "/" + (try #require(place.names().first))
        try damage.strike(staged, place.scratch)
        let again = try await place.reopened()
        let steps = Steps()
        let stored = try await again.backend.continueUpload(upload, between: steps.take)
        #expect(steps.all.starts(with: [.query, .open]) && steps.sent.first?.lowerBound == 0)
        if damage == .link { unlink(staged + "x") }
        try await expectStored(again, stored)
    }

    @Test(arguments: ["", "{", "{}", #"{"file":1,"offset":-1,"crc32c":0,"md5":[]}"#])
    func `A restored upload starts over without a valid bookmark`(text: String) async throws {
        var upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
        upload.bookmark = Bookmark(text)
        let again = try await place.reopened()
        try await expectStored(again, again.backend.continueUpload(upload))
    }

    @Test func `A restored upload must still have the expected MD5`() async throws {
        let right = Data(Checksum(of: bytes).md5).base64EncodedString()
        let wrong = Data(Checksum(of: [1]).md5).base64EncodedString()
        let good = try await place.backend.interrupted(file: path, to: "a", at: 3 * granule, md5Hash: right)
        let bad = try await place.backend.interrupted(file: path, to: "b", at: 3 * granule, md5Hash: wrong)
        let again = try await place.reopened()
        let stored = try await again.backend.continueUpload(good)
        let error = try await failure { _ = try await again.backend.continueUpload(bad) }
        #expect(error.code == .nonMatchingChecksum && error.message.contains(right) && error.message.contains(wrong))
        try await expectStored(again, stored)
    }

    @Test func `A restored upload stores the object and its task's outcome together`() async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: 3 * granule)
        let stored = try await place.backend.continueUpload(upload)
        let again = try await place.reopened()
        let record = try #require(try await again.backend.taskStore.records().first?.get())
        // Download tokens are kept with the object alone.
        var recorded = stored
        recorded.downloadTokens = nil
        guard case .ended(.succeeded(recorded), _) = record.stage else {
            return #expect(Bool(false), "\(record.stage)")
        }
        #expect(record.id == upload.record.id && record.progress.completedUnitCount == Int64(bytes.count))
        try await expectStored(again, stored)
    }

    @Test func `A start keeps the files of unfinished uploads and removes all other unused files`() async throws {
        let needed = try await place.backend.interrupted(file: path, to: "a", at: granule)
        let ended = try await place.backend.interrupted(file: path, to: "b", at: granule)
        let forgotten = try await place.backend.interrupted(file: path, to: "c", at: granule)
        let taskStore = place.backend.taskStore
        try await taskStore.keep(
            ended.record.ended(.cancelled, at: TimeSource.system.now()), isUrgent: true)
        try await taskStore.forget([forgotten.record.id])
        try await until { (try? place.names().count) == 3 }
        let again = try await place.reopened()
        #expect(try await again.contents() == Contents(objects: 0, rows: 0, files: 1, filesOnDisk: 1))
        try await expectStored(again, again.backend.continueUpload(needed))
    }

    @Test func `A restored upload that is discarded leaves no file`() async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
        for looksFirst in [false, true] {
            let again = try await place.reopened()
            let session = again.backend.beginUpload(upload)
            if looksFirst {
                #expect(await session.perform(.query) != .received(upTo: Int64(granule)), "it was given up before")
            }
            session.discard()
            #expect(try await again.settledContents(.none) == .none)
        }
    }

    @Test func `A restored upload has a bookmark before its first query`() async throws {
        let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
        let session = try await place.reopened().backend.beginUpload(upload)
        #expect(await session.bookmark() == upload.bookmark && upload.bookmark != nil)
        #expect(await session.perform(.query) == .received(upTo: Int64(granule)))
        #expect(await session.bookmark() != nil)
    }
}
