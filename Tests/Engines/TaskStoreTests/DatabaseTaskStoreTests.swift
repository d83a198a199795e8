import Database
import Platform
import Foundation
import Glibc
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import LocalFiles
@testable import Roots
@testable import TaskStore

@Suite(.watchdog(minutes: 10)) struct DatabaseTaskStoreTests {
    static func longFailure() -> StorageError {
        var error = StorageError(.retryLimitExceeded, "A sentence.")
        (error.bucket, error.object, error.file, error.param) = ("b", "o", "f", "p")
        (error.httpStatus, error.serverResponse, error.retryable, error.retryAfter) = (503, "{}", true, .seconds(3))
        error.attempts = [.init(time: TimeSource.system.now(), httpStatus: nil, cause: "c", completedUnitCount: 7)]
        return error
    }

    private func kept(_ taskStore: any TaskRecordStore) async throws -> [TaskRecord] {
        try await taskStore.records().map { try $0.get() }
    }

    @Test func `A stored task record is found unchanged by the next process`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        var download = try TaskRecord.sample("download")
        (download.kind, download.progress, download.md5Hash) = (.download, .unknown, nil)
        var request = TaskRequest(file: "/f", retryTime: 1, hasOwnTokens: false)
        request.confinement = LocalConfinement(reading: [], writing: [.init(path: "/link", location: "/d")])
        request.keepsExisting = true
        download.stage = .unfinished(request, nil)
        let time = Timestamp(microseconds: 1_700_000_000_123_456)
        var settable = SettableMetadata()
        settable.content = [.cacheControl: ""]
        let stored = ObjectMetadata(
            reference: try ref("dir/a\0b"), generation: 5, metageneration: 6, size: 77, timeCreated: time,
            updated: time, checksums: Checksums(crc32c: .max), settable: settable)
        var ofFolder = try TaskRecord.sample("one of many").ended(.cancelled, at: time)
        ofFolder.folder = "folder"
        let records = [
            try TaskRecord.sample("unfinished"), download,
            try TaskRecord.sample("won").ended(.succeeded(stored), at: time),
            try TaskRecord.sample("lost").ended(.failed(Self.longFailure()), at: time),
            try TaskRecord.sample("given up").ended(.cancelled, at: time), ofFolder,
        ]
        do {
            let taskStore = DatabaseTaskStore(root, place: "p")
            for record in records { try await taskStore.keep(record, isUrgent: record.number % 2 == 0) }
        }
        let again = DatabaseTaskStore(root, place: "p")
        var expected = records
        // After a success the record has the object's metadata.
        expected[2].metadata = stored.settable
        #expect(try await kept(again).sorted { $0.id < $1.id } == expected.sorted { $0.id < $1.id })
        let open = try await again.openRecords()
        #expect(Set(try open.records.map { try $0.get().id }) == [records[0].id, download.id, ofFolder.id])
        #expect(open.ended == [.upload: [.success: 1, .failed: 1, .cancelled: 1]])
        #expect(open.lastNumber == records[2...].map(\.number).max())
    }

    @Test func `The newest record of a task is kept, and an end is not overwritten`() async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        var record = try TaskRecord.sample()
        try await taskStore.keep(record, isUrgent: true)
        record.progress.completedUnitCount = 50
        record.stage = .unfinished(TaskRequest(file: "/g", retryTime: 1, hasOwnTokens: false), nil)
        try await taskStore.keep(record, isUrgent: false)
        #expect(try await kept(taskStore) == [record])
        let ended = record.ended(.cancelled, at: TimeSource.system.now())
        try await taskStore.keep(ended, isUrgent: false)
        try await taskStore.keep(record, isUrgent: false)
        #expect(try await kept(taskStore) == [ended])
        try await taskStore.forget(["other", record.id])
        #expect(try await kept(taskStore).isEmpty)
    }

    @Test func `Ended tasks are stored in the order of the numbers in their ids`() async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        let ids = (1...40).map { RandomSource.secure.uuid(withNumber: $0) }
        for id in ids {
            // Some were recorded before their end.
            if id.utf8.first.map({ $0 % 2 == 0 }) == true { try await taskStore.keep(.sample(id), isUrgent: false) }
            try await taskStore.keep(.sample(id).ended(.cancelled, at: Timestamp(microseconds: 5)), isUrgent: false)
        }
        #expect(try await kept(taskStore).map(\.id) == ids)
        try await taskStore.forget(Array(ids.prefix(15)))
        #expect(try await kept(taskStore).map(\.id) == Array(ids.dropFirst(15)))
    }

    @Test func `Tasks of another endpoint are listed with that endpoint and keep it`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        let one = DatabaseTaskStore(root, place: "http://me:secret@one:80?key=secret")
        let other = DatabaseTaskStore(root, place: "http://other")
        var record = try TaskRecord.sample()
        try await one.keep(record, isUrgent: true)
        record.endpoint = "http://(…)@one:80…"
        #expect(try await kept(other) == [record])
        try await other.keep(record.ended(.cancelled, at: Timestamp(microseconds: 5)), isUrgent: true)
        record.endpoint = nil
        #expect(try await kept(one) == [record.ended(.cancelled, at: Timestamp(microseconds: 5))])
        try await other.forget([record.id])
        #expect(try await kept(one).isEmpty)
    }

    @Test func `Tasks of another endpoint are not adopted`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/old")
        try await DatabaseTaskStore(root, place: "one").keep(TaskRecord.sample(), isUrgent: true)
        let new = DatabaseTaskStore(try StorageRoot(scratch.path + "/new"), place: "other")
        try await new.adopt(DatabaseTaskStore(root, place: "other")) { _ in }
        #expect(try await kept(new).isEmpty)
        #expect(try await kept(DatabaseTaskStore(root, place: "one")) == [TaskRecord.sample()])
    }

    /// An upload whose end needs the fewest columns.
    private func plain(_ id: String, _ number: Int64, _ time: Timestamp) throws -> (TaskRecord, ended: TaskRecord) {
        var record = try TaskRecord.sample(id)
        (record.number, record.md5Hash, record.metadata) = (number, nil, SettableMetadata())
        record.metadata.content = [.contentType: "x/y"]
        let stored = ObjectMetadata(
            reference: record.reference, generation: 5, metageneration: 1, size: 77, timeCreated: time, updated: time,
            checksums: Checksums(md5: [1], crc32c: 2), settable: record.metadata)
        return (record, record.ended(.succeeded(stored), at: time))
    }

    @Test func `The end of a task is found unchanged, whichever columns it needs`() async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        let time = Timestamp(microseconds: 7)
        let changes: [(inout TaskRecord, inout ObjectMetadata) -> Void] = [
            { _, _ in }, { record, _ in record.md5Hash = "abc" }, { record, _ in record.key = "k" },
            { record, _ in record.folder = "f" }, { record, _ in record.number = 1000 },
            { _, stored in stored.metageneration = 2 },
            { _, stored in stored.timeCreated = Timestamp(microseconds: 6) },
            { _, stored in stored.updated = Timestamp(microseconds: 8) },
            { _, stored in stored.checksums = Checksums() }, { _, stored in stored.settable.content = [:] },
            { _, stored in stored.settable.content[.cacheControl] = "no-store" },
            { _, stored in stored.settable.custom = ["k": "v"] },
            { _, stored in
                stored.settable.kept = KeptProperties()
                stored.settable.kept?.storageClass = .nearline
            },
            { record, _ in record.request?.origin = .gateway },
        ]
        var expected: [TaskRecord] = []
        for (index, change) in changes.enumerated() {
            let number = Int64(index + 1)
            var (record, ended) = try plain(RandomSource.secure.uuid(withNumber: number), number, time)
            guard case .ended(.succeeded(var stored), _) = ended.stage else { continue }
            change(&record, &stored)
            ended = record.ended(.succeeded(stored), at: time)
            ended.metadata = stored.settable
            try await taskStore.keep(record, isUrgent: false)
            try await taskStore.keep(ended, isUrgent: true)
            expected.append(ended)
        }
        #expect(try await kept(taskStore).sorted { $0.id < $1.id } == expected.sorted { $0.id < $1.id })
        #expect(try await taskStore.openRecords().lastNumber == 1000)
    }

    @Test func `Ended tasks with the same key are told apart`() async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        // The key has the last two groups.
        let ids = ["00000000", "10000000", "20000000"].map { $0 + "-0000-8000-8000-000000000005" } + ["without number"]
        for id in ids + ids {
            let (record, ended) = try plain(id, 5, Timestamp(microseconds: 7))
            try await taskStore.keep(record, isUrgent: false)
            try await taskStore.keep(ended, isUrgent: true)
            try await taskStore.keep(record, isUrgent: false)
        }
        #expect(try await kept(taskStore).map(\.id).sorted() == ids.sorted())
        #expect(try await kept(taskStore).allSatisfy { $0.number == 5 && $0.hasEnded })
        try await taskStore.forget([ids[0], ids[2]])
        #expect(try await kept(taskStore).map(\.id).sorted() == [ids[1], ids[3]].sorted())
        try await taskStore.forget([ids[1], ids[3]])
        #expect(try await kept(taskStore).isEmpty)
    }

    @Test(arguments: [
        "kind = 'sideload'", "request = NULL", "request = '{}'", "request = '{'", "number = 'x'", "bucket = ''",
        "name = x'FF'", "name = x''", "completed = 'x'", "customMetadata = '[]'", "customMetadata = '{'",
        "customMetadata = '{\"k\":1}'", "name = 5",
    ])
    func `An unreadable record is an error, and other records are found`(damage: String) async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        let taskStore = DatabaseTaskStore(root, place: "p")
        try await taskStore.keep(TaskRecord.sample("damaged"), isUrgent: true)
        try await taskStore.keep(TaskRecord.sample("sound"), isUrgent: true)
        try await checkUnreadable("UPDATE tasks SET \(damage) WHERE id = 'damaged'", in: taskStore)
    }

    @Test(arguments: [
        "kind = 'sideload'", "number = 'x'", "name = x'FF'", "customMetadata = '{'", "ended = 'x'", "generation = NULL",
        "md5 = 5", "outcome = 'failed'", "outcome = NULL",
    ])
    func `An unreadable record of an ended task is an error, and other records are found`(damage: String) async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        let time = Timestamp(microseconds: 5)
        let stored = ObjectMetadata(
            reference: try ref("a"), generation: 5, metageneration: 6, size: 77, timeCreated: time, updated: time,
            checksums: Checksums(md5: [1], crc32c: 2), settable: SettableMetadata())
        for id in ["damaged", "sound"] {
            try await taskStore.keep(TaskRecord.sample(id).ended(.succeeded(stored), at: time), isUrgent: true)
        }
        try await checkUnreadable("UPDATE endedTasks SET \(damage) WHERE id = 'damaged'", in: taskStore)
    }

    private func checkUnreadable(_ damage: String, in taskStore: DatabaseTaskStore) async throws {
        try await taskStore.database.write { try $0.execute(damage) }
        var found: [String] = [], errors: [String] = []
        for record in try await taskStore.records() {
            do { found.append(try record.get().id) } catch { errors.append(error.message) }
        }
        #expect(found == ["sound"] && errors.count == 1)
        #expect(errors.first?.hasPrefix("Task damaged cannot be restored: its record cannot be read: ") == true)
    }

    @Test func `Adopting tasks leaves unreadable records in place and reports them`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/old")
        let old = DatabaseTaskStore(root, place: "p")
        for id in ["damaged", "sound"] {
            try await old.keep(TaskRecord.sample(id).ended(.cancelled, at: TimeSource.system.now()), isUrgent: true)
        }
        try await old.database.write { try $0.execute("UPDATE endedTasks SET kind = 'sideload' WHERE id = 'damaged'") }
        let new = DatabaseTaskStore(try StorageRoot(scratch.path + "/new"), place: "p")
        var complaints: [String] = []
        try await new.adopt(old) { complaints.append($0) }
        #expect(try await kept(new).map(\.id) == ["sound"])
        let complaint = try #require(complaints.first)
        #expect(complaints.count == 1 && complaint.hasPrefix("Task damaged cannot be restored: "))
        #expect(complaint.contains(root.path) && !complaint.contains("secret"))
        #expect(try await old.records().count == 1)
    }

    @Test func `Impossible progress in a record is clamped`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        let taskStore = DatabaseTaskStore(root, place: "p")
        try await taskStore.keep(TaskRecord.sample(), isUrgent: true)
        for (completed, total) in [(Int64.max, Int64.min), (.min, .max), (-1, 5), (9, 5)] {
            try await taskStore.database.write {
                _ = try $0.run(
                    "UPDATE tasks SET completed = :completed, total = :total",
                    ["completed": .integer(completed), "total": .integer(total)])
            }
            let progress = try #require(try await kept(taskStore).first?.progress)
            #expect((0...max(progress.totalUnitCount, 0)).contains(progress.completedUnitCount))
        }
    }

    @Test(.watchdog)
    func `Spooled bytes are private and removed when they are not needed`() async throws {
        let scratch = try Scratch()
        let taskStore = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "p")
        #expect(try await taskStore.records().isEmpty)
        let (path, identity) = try await taskStore.spool(noise(70_000), for: "task")
        var expected = try SourceFile.inspect(path, in: .own)
        (expected.changedSeconds, expected.changedNanoseconds) = (nil, nil)
        #expect(try contentsOf(path) == noise(70_000) && identity == expected)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(scratch.path + "/root/spool", &status) == 0 && status.st_mode & 0o777 == 0o700)
        let again = try await failure { _ = try await taskStore.spool([1], for: "task") }
        #expect(again.message.contains(path))
        taskStore.unspool("task")
        try await eventually { try names(in: scratch.path + "/root/spool").isEmpty }
    }

    @Test func `A start removes spooled bytes that no unfinished task needs`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        let taskStore = DatabaseTaskStore(root, place: "p")
        #expect(try await taskStore.records().isEmpty)
        for id in ["unfinished", "ended", "unknown"] { _ = try await taskStore.spool([1], for: id) }
        try await taskStore.keep(TaskRecord.sample("unfinished"), isUrgent: true)
        try await taskStore.keep(
            TaskRecord.sample("ended").ended(.cancelled, at: TimeSource.system.now()), isUrgent: true)
        _ = try await DatabaseTaskStore(root, place: "another").records()
        #expect(try names(in: scratch.path + "/root/spool") == ["unfinished"])
    }
}
