import Foundation
import Platform
import Storage
import TestSupport
import Testing

@testable import Roots
@testable import TaskStore

@Suite(.watchdog) struct FileIndexTests {
    private let scratch: Scratch

    private let root: StorageRoot

    init() throws {
        scratch = try Scratch()
        root = try StorageRoot(scratch.path + "/root")
    }

    private func open(mostFiles: Int64 = 1000) -> FileIndex {
        FileIndex(in: root, on: WorkerThreads("index", limit: 1), mostFiles: mostFiles)
    }

    private func stamp(_ inode: UInt64, changed: Int64 = 5) -> FileStamp {
        FileStamp(device: .max, inode: inode, size: 3, modified: -1, changed: changed)
    }

    @Test func `What was noted is known in the next process, too`() async throws {
        let (one, two) = (Checksums(md5: [1, 2]), Checksums(crc32c: .max))
        do {
            let index = open()
            index.note([stamp(1): one])
            index.note([stamp(.max): two])
            #expect(await index.known([stamp(1), stamp(.max), stamp(3)]) == [stamp(1): one, stamp(.max): two])
            await index.close()
            #expect(await index.known([stamp(1)]).isEmpty, "it is closed")
        }
        let index = open()
        #expect(await index.known([stamp(1), stamp(.max)]) == [stamp(1): one, stamp(.max): two])
        await index.close()
    }

    @Test func `A file whose stamp has changed is not known, and has one row`() async throws {
        let index = open()
        index.note([stamp(1): Checksums(crc32c: 1)])
        #expect(await index.known([stamp(1, changed: 6)]).isEmpty)
        index.note([stamp(1, changed: 6): Checksums(crc32c: 2)])
        #expect(
            await index.known([stamp(1), stamp(1, changed: 6)]) == [stamp(1, changed: 6): Checksums(crc32c: 2)])
        await index.close()
    }

    @Test func `The oldest rows go`() async throws {
        let index = open(mostFiles: 10)
        for inode in 1...25 as ClosedRange<UInt64> {
            index.note([stamp(inode): Checksums(crc32c: UInt32(inode))])
            _ = await index.known([])
        }
        let known = await index.known((1...25).map { stamp($0) })
        #expect(Set(known.keys.map(\.inode)) == Set(16...25))
        await index.close()
    }

    @Test func `A damaged file is replaced by a new one`() async throws {
        do {
            let index = open()
            index.note([stamp(1): Checksums(crc32c: 1)])
            await index.close()
        }
        try Data(repeating: 7, count: 10_000).write(to: URL(filePath: "\(scratch.path)/root/\(FileIndex.name)"))
        let index = open()
        #expect(await index.known([stamp(1)]).isEmpty)
        index.note([stamp(1): Checksums(crc32c: 2)])
        #expect(await index.known([stamp(1)]) == [stamp(1): Checksums(crc32c: 2)])
        await index.close()
    }

    @Test func `A file that was changed less than two seconds ago is not settled`() {
        let stamp = stamp(1, changed: 10_000_000_000)
        #expect(!stamp.isSettled(at: Timestamp(microseconds: 12_000_000)))
        #expect(stamp.isSettled(at: Timestamp(microseconds: 12_000_001)))
        #expect(!stamp.isSettled(at: Timestamp(microseconds: 0)))
    }
}
