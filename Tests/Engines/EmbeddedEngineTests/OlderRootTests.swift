import Database
import Foundation
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots
@testable import TaskStore

/// Roots that earlier versions of the program have made.
@Suite(.watchdog) struct OlderRootTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func make(version: Int, _ sql: String) throws {
        let path = scratch.path + "/root"
        try FileManager.default.createDirectory(atPath: path + "/objects", withIntermediateDirectories: true)
        let database = try Database(path: path + "/storage.sqlite3", applicationID: StorageRoot.applicationID)
        try database.execute(sql + "PRAGMA user_version = \(version)")
        try database.close()
    }

    @Test func `A root without a table of tasks keeps its objects and gets the table`() async throws {
        try make(version: 1, Self.firstSchema + Self.firstObjects)
        _ = try scratch.file("root/objects/1", noise(100_000))
        _ = try scratch.file("root/objects/2", noise(10))
        let backend = try EmbeddedBackend(StorageRoot(scratch.path + "/root"), time: .system)
        try await backend.open()
        let small = try await backend.metadata(of: ref("small"))
        #expect(small.generation == 7 && small.settable.content == [.contentType: "x/y"])
        #expect(small.settable.custom == ["k": "v"])
        #expect(try await backend.metadata(of: ref("large")).size == 100_000)
        #expect(try names(in: scratch.path + "/root/objects") == ["1"], "an abandoned upload is swept")
        let taskStore = backend.taskStore
        #expect(try await taskStore.records().isEmpty)
        try await taskStore.keep(TaskRecord.sample(), isUrgent: true)
        #expect(try await taskStore.records().count == 1)
        #expect(try await backend.put(noise(100_000), at: "new").generation > 8)
    }

    @Test func `A root with objects and tasks in one schema keeps both`() async throws {
        try make(version: 4, Self.lastSchema + Self.lastObjects + Self.task(place: "embedded"))
        _ = try scratch.file("root/objects/1", noise(300_000))
        let root = try StorageRoot(scratch.path + "/root")
        for _ in 0..<2 {
            let backend = try EmbeddedBackend(root, time: .system)
            #expect(try await backend.data("small") == Array("hello".utf8))
            #expect(try await backend.metadata(of: ref("large")).generation == 1_795_398_951_967_547)
            let records = try await backend.tasks.records().map { try $0.get() }
            #expect(records.map(\.id) == ["unfinished"] && records.map(\.number) == [3])
            guard case .unfinished(let request, nil)? = records.first?.stage else {
                return #expect(Bool(false), "it is not unfinished")
            }
            #expect(request.identity?.size == 40_000_000 && request.file == "/large")
        }
    }

    @Test func `An object is recognised as newer than a task from an older root`() async throws {
        try make(version: 4, Self.lastSchema + Self.lastObjects + Self.task(place: "embedded"))
        let backend = try EmbeddedBackend(StorageRoot(scratch.path + "/root"), time: .system)
        // The time of the task does not matter, because the clock may have been set back.
        var record = try TaskRecord.sample("new")
        record.began = TimeSource.system.now().advanced(by: .seconds(3600))
        try await backend.tasks.keep(record, isUrgent: true)
        try await backend.put([1], at: "a")
        for (task, name, isNewer) in [
            ("unfinished", "a", true), ("unfinished", "small", false), ("new", "a", true), ("new", "large", false),
        ] {
            let found = try await backend.store.read { try $0.hasObject(at: ref(name), newerThan: task) }
            #expect(found == isNewer, "\(task) \(name)")
        }
    }

    @Test func `An older root of a remote engine keeps its tasks`() async throws {
        try make(version: 4, Self.lastSchema + Self.task(place: "http://server"))
        let root = try StorageRoot(scratch.path + "/root")
        for _ in 0..<2 {
            let table = DatabaseTaskStore(root, place: "http://server")
            let records = try await table.records().map { try $0.get() }
            #expect(records.map(\.id) == ["unfinished"] && records.map(\.endpoint) == [nil])
            try await table.keep(try #require(records.first), isUrgent: true)
        }
        let next = DatabaseTaskStore(try StorageRoot(scratch.path + "/next"), place: "http://server")
        try await next.adopt(DatabaseTaskStore(root, place: "http://server")) { _ in }
        #expect(try await next.records().count == 1)
    }

    @Test func `An older root keeps its ended tasks`() async throws {
        try make(version: 4, Self.lastSchema + Self.lastObjects + Self.endedTasks)
        let root = try StorageRoot(scratch.path + "/root")
        for _ in 0..<2 {
            let tasks = try EmbeddedBackend(root, time: .system).tasks
            let open = try await tasks.openRecords()
            #expect(open.records.isEmpty && open.lastNumber == 3)
            #expect(open.ended == [.upload: [.success: 1, .cancelled: 1], .download: [.failed: 1]])
            let records = try await tasks.endedRecords().map { try $0.get() }.sorted { $0.number < $1.number }
            #expect(records.map(\.id) == ["won", "given up", "lost"])
            guard case .ended(.succeeded(let stored), at: Timestamp(microseconds: 9))? = records.first?.stage else {
                return #expect(Bool(false), "it has not succeeded")
            }
            #expect(stored.generation == 5 && stored.size == 7 && stored.checksums.crc32c == 4)
            #expect(stored.settable.content == [.contentType: "x/y"] && stored.settable.custom == ["k": "v"])
            #expect(records.last?.forRetry?.request?.file == "/f")
            try await tasks.keep(.sample("won"), isUrgent: true)
        }
        let tasks = try EmbeddedBackend(root, time: .system).tasks
        try await tasks.forget(["won", "lost"])
        #expect(try await tasks.records().map { try $0.get().id } == ["given up"])
    }

    @Test func `Ended tasks with one number keep their rows, and one without a number`() async throws {
        let ids = ["00000000-0000-8000-8000-000000000007", "10000000-0000-8000-8000-000000000007", "old", "older"]
        let rows = ids.map { id in
            "(\(RandomSource.number(inUUID: id) ?? 0), '\(id)', 'embedded', 'upload', 7, 1, 'b', x'61', 0, 9, 'cancelled')"
        }
        let path = scratch.path + "/root"
        try FileManager.default.createDirectory(atPath: path + "/objects", withIntermediateDirectories: true)
        let database = try Database(path: path + "/storage.sqlite3", applicationID: StorageRoot.applicationID)
        var earlier = Schema.tasks
        earlier.migrations.removeAll { $0.version > 9 }
        try database.migrate([earlier])
        try database.execute(
            """
            INSERT INTO endedTasks
                (sequence, id, place, kind, number, began, bucket, name, completed, ended, outcome)
            VALUES \(rows.joined(separator: ", "))
            """)
        try database.close()
        let tasks = try EmbeddedBackend(StorageRoot(path), time: .system).tasks
        #expect(try await tasks.records().map { try $0.get().id }.sorted() == ids)
        #expect(try await tasks.openRecords().lastNumber == 7)
        for (index, id) in ids.enumerated() {
            try await tasks.forget([id])
            #expect(try await tasks.records().map { try $0.get().id }.sorted() == Array(ids[(index + 1)...]))
        }
    }

    @Test func `A root with only tasks has no tables of objects, and can get them later`() async throws {
        let table = DatabaseTaskStore(try StorageRoot(scratch.path + "/root"), place: "http://server")
        try await table.keep(TaskRecord.sample(), isUrgent: true)
        let tables = try await table.database.read { database in
            var names: Set<String> = []
            try database.rows("SELECT name FROM sqlite_master WHERE type = 'table'") {
                names.insert(try $0.text("name"))
            }
            return names
        }
        #expect(tables == ["schemas", "tasks", "endedTasks"])
        let backend = try EmbeddedBackend(table.root, time: .system)
        try await backend.put([1], at: "a")
        #expect(try await backend.tasks.records().count == 1)
    }

    private static let firstSchema = """
        CREATE TABLE counters (generation INTEGER NOT NULL);
        INSERT INTO counters VALUES (0);
        CREATE TABLE buckets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL);
        CREATE INDEX unwanted ON files (state) WHERE state <> 1;
        CREATE TABLE objects (
            bucket INTEGER NOT NULL, name BLOB NOT NULL,
            generation INTEGER NOT NULL, metageneration INTEGER NOT NULL, size INTEGER NOT NULL,
            timeCreated INTEGER NOT NULL, updated INTEGER NOT NULL, md5 BLOB NOT NULL, crc32c INTEGER NOT NULL,
            cacheControl TEXT, contentDisposition TEXT, contentEncoding TEXT, contentLanguage TEXT,
            contentType TEXT, downloadTokens TEXT NOT NULL, file INTEGER,
            PRIMARY KEY (bucket, name)) WITHOUT ROWID;
        CREATE TABLE customMetadata (
            generation INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (generation, key)) WITHOUT ROWID;
        CREATE TABLE bodies (generation INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        """

    private static let firstObjects = """
        INSERT INTO buckets VALUES (1, 'b');
        INSERT INTO files VALUES (1, 1), (2, 0);
        INSERT INTO objects VALUES
            (1, x'736D616C6C', 7, 1, 2, 7, 7, x'00', 0, NULL, NULL, NULL, NULL, 'x/y', 't', NULL),
            (1, x'6C61726765', 8, 1, 100000, 8, 8, x'00', 0, NULL, NULL, NULL, NULL, NULL, 't', 1);
        INSERT INTO customMetadata VALUES (7, 'k', 'v');
        INSERT INTO bodies VALUES (7, x'0102');
        UPDATE counters SET generation = 8;
        """

    private static let lastSchema = """
        CREATE TABLE bodies (generation INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        CREATE TABLE buckets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE counters (generation INTEGER NOT NULL);
        INSERT INTO counters VALUES(1795398951967547);
        CREATE TABLE customMetadata (
            generation INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (generation, key)) WITHOUT ROWID;
        CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, task TEXT, generation INTEGER);
        CREATE TABLE objects (
            bucket INTEGER NOT NULL, name BLOB NOT NULL,
            generation INTEGER NOT NULL, metageneration INTEGER NOT NULL, size INTEGER NOT NULL,
            timeCreated INTEGER NOT NULL, updated INTEGER NOT NULL, md5 BLOB NOT NULL, crc32c INTEGER NOT NULL,
            cacheControl TEXT, contentDisposition TEXT, contentEncoding TEXT, contentLanguage TEXT,
            contentType TEXT, downloadTokens TEXT NOT NULL, file INTEGER,
            PRIMARY KEY (bucket, name)) WITHOUT ROWID;
        CREATE TABLE tasks (
            id TEXT PRIMARY KEY, place TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL,
            bucket TEXT NOT NULL, name BLOB NOT NULL, completed INTEGER NOT NULL, total INTEGER,
            request TEXT, bookmark TEXT,
            cacheControl TEXT, contentDisposition TEXT, contentEncoding TEXT, contentLanguage TEXT,
            contentType TEXT, customMetadata TEXT, md5Hash TEXT,
            ended INTEGER, outcome TEXT, error TEXT, generation INTEGER, metageneration INTEGER,
            timeCreated INTEGER, updated INTEGER, md5 BLOB, crc32c INTEGER, began INTEGER NOT NULL DEFAULT 0,
            lastGeneration INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
        CREATE INDEX unwanted ON files (state) WHERE state <> 1;
        CREATE INDEX unfinished ON tasks (id) WHERE ended IS NULL;
        """

    private static let lastObjects = """
        INSERT INTO bodies VALUES(1795398951960595,X'68656C6C6F');
        INSERT INTO buckets VALUES(1,'b');
        INSERT INTO customMetadata VALUES(1795398951960595,'k','v');
        INSERT INTO files VALUES(1,1,'554a7b8e-0415-47f3-9d52-47d44803a701',1795398951967547);
        INSERT INTO objects VALUES(
            1,X'6C61726765',1795398951967547,1,300000,1795398951967547,1795398951967547,
            X'F84CFD27667E4EF5D3DBD706A8F077B8',1033568684,NULL,NULL,NULL,NULL,'x/y',
            '21c02a1c-22da-4b2a-9b3c-e97e8b443d4e',1);
        INSERT INTO objects VALUES(
            1,X'736D616C6C',1795398951960595,1,5,1795398951960595,1795398951960595,
            X'5D41402ABC4B2A76B9719D911017C592',2591144780,NULL,NULL,NULL,NULL,'x/y',
            '364497ff-eb3c-49e8-9601-f16c254c4ae3',NULL);
        """

    private static let endedTasks = """
        INSERT INTO tasks (
            id, place, kind, number, bucket, name, completed, total, request, contentType, customMetadata, ended,
            outcome, error, generation, metageneration, timeCreated, updated, md5, crc32c)
        VALUES
            ('won', 'embedded', 'upload', 1, 'b', X'61', 7, 7, NULL, 'x/y', '{"k":"v"}', 9, 'success', NULL,
            5, 6, 7, 8, X'00', 4),
            ('given up', 'embedded', 'upload', 2, 'b', X'61', 3, 7, NULL, NULL, NULL, 9, 'cancelled', NULL,
            NULL, NULL, NULL, NULL, NULL, NULL),
            ('lost', 'embedded', 'download', 3, 'b', X'61', 0, NULL,
            '{"file":"/f","hasOwnTokens":false,"isSpooled":false,"patience":600}', NULL, NULL, 9, 'failed',
            '{"code":-13030,"message":"The disk was busy.","retryable":true,"attempts":[]}',
            NULL, NULL, NULL, NULL, NULL, NULL);
        """

    private static func task(place: String) -> String {
        """
        INSERT INTO tasks VALUES(
            'unfinished','\(place)','upload',3,'b',X'756E66696E6973686564',0,40000000,
            '{"file":"\\/large","hasOwnTokens":false,"identity":{"changedNanoseconds":965195588,\
        "changedSeconds":1795398952,"ends":2420393507,"generation":4234342867,"inode":16262434,\
        "modifiedNanoseconds":965195588,"modifiedSeconds":1795398952,"size":40000000},\
        "isSpooled":false,"patience":600}',
            NULL,NULL,NULL,NULL,NULL,'x/y','{"k":"v"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,
            1795398952992937,1795398951967547);
        """
    }
}
