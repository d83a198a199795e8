import Database
import Platform
import Foundation
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots
@testable import TaskStore

/// Ends of tasks that are recorded in slots because the database is full.
@Suite(.watchdog(minutes: 10)) struct TombstoneTests {
    let scratch: Scratch
    let root: StorageRoot

    init() throws {
        scratch = try Scratch()
        root = try StorageRoot(scratch.path + "/root")
    }

    private var file: String { scratch.path + "/root/tombstones" }

    private func table() -> DatabaseTaskStore { DatabaseTaskStore(root, place: "p") }

    private func kept(_ table: DatabaseTaskStore) async throws -> [TaskRecord] {
        try await table.records().map { try $0.get() }.sorted { $0.id < $1.id }
    }

    private static let time = Timestamp(microseconds: 1_700_000_000_123_456)

    private static func outcomes(_ record: TaskRecord) -> [TaskOutcome] {
        let stored = ObjectMetadata(
            reference: record.reference, generation: .max, metageneration: .max, size: 77, timeCreated: time,
            updated: time, checksums: Checksums(md5: Array(repeating: 255, count: 16), crc32c: .max),
            settable: record.metadata)
        return [.cancelled, .cancelledInDoubt, .failed(StorageError(.unauthorized, "A sentence.")), .succeeded(stored)]
    }

    @Test(arguments: 0..<4)
    func `The next process moves the ends from the slots to its database`(index: Int) async throws {
        let record = try TaskRecord.sample()
        let ended = record.ended(Self.outcomes(record)[index], at: Self.time)
        let first = table()
        try await first.keep(record, isUrgent: true)
        try await first.keepEnd(of: ended)
        #expect(try await kept(table()) == [ended])
        try FileManager.default.removeItem(atPath: file)
        #expect(try await kept(table()) == [ended])
    }

    @Test func `An outcome is recorded in its slot when the database is full`() async throws {
        let full = table()
        let record = try TaskRecord.sample()
        try await full.keep(record, isUrgent: true)
        try await full.database.write { try $0.execute("PRAGMA max_page_count = 1") }
        let message = String(repeating: "long ", count: 10_000)
        let ended = record.ended(.failed(StorageError(.quotaExceeded, message)), at: Self.time)
        let error = try await failure { try await full.keep(ended, isUrgent: true) }
        #expect(error.code == .quotaExceeded)
        try await full.keepEnd(of: ended)
        let found = try #require(try await kept(table()).first)
        guard case .ended(.failed(let known), Self.time) = found.stage else {
            return #expect(Bool(false), "\(found.stage)")
        }
        #expect(known.code == .quotaExceeded && known.message.hasPrefix("long long"))
    }

    @Test func `Each task gets a slot, however many there are`() async throws {
        let first = table()
        let records = try (100..<300).map { try TaskRecord.sample("task \($0)") }
        for record in records { try await first.keep(record, isUrgent: false) }
        for record in records { try await first.keepEnd(of: record.ended(.cancelled, at: Self.time)) }
        #expect(try await kept(table()) == records.map { $0.ended(.cancelled, at: Self.time) })
    }

    @Test func `A slot is reused once the task has a recorded end or no record`() async throws {
        let first = table()
        for index in 0..<200 {
            let record = try TaskRecord.sample("task \(index)")
            try await first.keep(record, isUrgent: false)
            if index % 2 == 0 { try await first.keepEnd(of: record.ended(.cancelled, at: Self.time)) }
            try await first.keep(record.ended(.cancelled, at: Self.time), isUrgent: false)
            if index % 3 == 0 { try await first.forget([record.id]) }
        }
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
        #expect(size == 64 * Tombstones.slotSize)
        let unfinished = try TaskRecord.sample("unfinished")
        try await first.keep(unfinished, isUrgent: true)
        #expect(try await kept(table()).last == unfinished)
    }

    @Test func `A task that finds no room in the database has no slot`() async throws {
        let full = table()
        try await full.keep(try TaskRecord.sample("stored"), isUrgent: true)
        try await full.database.write { try $0.execute("PRAGMA max_page_count = 1") }
        let request = TaskRequest(file: String(repeating: "f", count: 100_000), retryTime: 1, hasOwnTokens: false)
        for index in 0..<65 {
            var record = try TaskRecord.sample("task \(index)")
            record.stage = .unfinished(request, nil)
            let error = try await failure { [record] in try await full.keep(record, isUrgent: true) }
            #expect(error.code == .quotaExceeded)
        }
        var record = try TaskRecord.sample("stored")
        record.stage = .unfinished(request, nil)
        let error = try await failure { [record] in try await full.keep(record, isUrgent: true) }
        #expect(error.code == .quotaExceeded)
        try await full.keepEnd(of: record.ended(.cancelled, at: Self.time))
        #expect(try contentsOf(file).count == 64 * Tombstones.slotSize)
    }

    @Test(arguments: ["{", "", "{}\n\n", "\u{0}"])
    func `A task with a damaged slot counts as ended`(rest: String) async throws {
        let record = try TaskRecord.sample()
        let first = table()
        try await first.keep(record, isUrgent: true)
        var bytes = try contentsOf(file)
        let slot = Array("\(record.id)\n\(rest)".utf8)
        bytes.replaceSubrange(0..<slot.count, with: slot)
        try Data(bytes).write(to: URL(filePath: file))
        guard case .ended(.failed, _) = try await kept(table()).first?.stage else {
            return #expect(Bool(false), "it has not ended")
        }
    }

    @Test func `No task counts as unfinished when the slots cannot be read`() async throws {
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        let error = try await failure { _ = try await table().records() }
        #expect(error.message.contains(file))
    }

    @Test func `A start removes the file of an upload whose end is only in its slot`() async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(3 * granule))
        let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
        let record = upload.record
        try await place.backend.taskStore.keepEnd(of: record.ended(.cancelled, at: Self.time))
        let again = try await place.reopened()
        #expect(try await again.contents() == .none)
        #expect(try await again.backend.taskStore.records().first?.get() == record.ended(.cancelled, at: Self.time))
    }
}
