import Database
import TestSupport
import Testing

@Suite(.watchdog) struct MigrationTests {
    let scratch: Scratch
    let one = Migration(version: 1, sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    let two = Migration(version: 2, sql: "ALTER TABLE t ADD COLUMN b")
    let three = Migration(version: 5, sql: "INSERT INTO t VALUES (2, 'x')")

    init() throws { scratch = try Scratch() }

    private func schema(_ migrations: [Migration], _ name: String = "t") -> Schema {
        Schema(name: name, migrations: migrations)
    }

    private func version(_ database: Database, of schema: String = "t") throws -> Int64? {
        try database.first("SELECT version FROM schemas WHERE name = :name", ["name": .text(schema)]) {
            try $0.integer("version")
        }
    }

    private func pragma(_ name: StaticString, of database: Database) throws -> Int64? {
        try database.first("PRAGMA \(name)") { try $0.integer(name) }
    }

    private func rows(_ database: Database) throws -> Int64? {
        try database.first("SELECT count(*) AS rows FROM t") { try $0.integer("rows") }
    }

    @Test func `Migrations are applied in order over several processes`() throws {
        let lives: [([Migration], Int64)] = [
            ([one], 1), ([one], 1), ([one, two], 2), ([one, two, three], 5),
        ]
        for (known, version) in lives {
            let database = try scratch.open()
            try database.migrate([schema(known)])
            #expect(try self.version(database) == version)
            try database.close()
        }
        #expect(try rows(scratch.open()) == 2)
    }

    @Test func `A failed migration keeps the previous version`() throws {
        let database = try scratch.open()
        let broken = Migration(version: 2, sql: "INSERT INTO t VALUES (7); INSERT INTO nowhere VALUES (1)")
        _ = try databaseError { try database.migrate([schema([one, broken])]) }
        #expect(try version(database) == 1)
        #expect(try rows(database) == 1)
        try database.migrate([schema([one, two, three])])
    }

    @Test func `Two connections do not apply a migration twice`() throws {
        let first = try scratch.open()
        let second = try scratch.open()
        try first.migrate([schema([one])])
        try second.migrate([schema([one])])
        #expect(try rows(second) == 1)
    }

    @Test func `Migrations must have increasing versions from 1`() throws {
        let database = try scratch.open()
        for steps in [[two, one], [one, one], [Migration(version: 0, sql: "")]] {
            _ = try databaseError { try database.migrate([schema(steps)]) }
        }
    }

    @Test func `A file with a newer schema is refused`() throws {
        try scratch.open().migrate([schema([one, two])])
        let error = try databaseError { try scratch.open().migrate([schema([one])]) }
        #expect(error.finding == .newer)
        #expect(error.description.hasSuffix("/a: made by a newer version: its schema is 2, known here is up to 1"))
    }

    @Test func `Each schema of a file has a version of its own`() throws {
        let other = schema([Migration(version: 1, sql: "CREATE TABLE u (a)")], "u")
        let database = try scratch.open()
        try database.migrate([schema([one, two])])
        try database.migrate([other, schema([one, two, three])])
        #expect(try version(database) == 5 && version(database, of: "u") == 1)
        #expect(try rows(database) == 2)
    }

    @Test func `The single version of an older file applies to all its schemas`() throws {
        let database = try scratch.open()
        try database.execute(
            "CREATE TABLE t (a); CREATE TABLE u (a); INSERT INTO t VALUES (1); PRAGMA user_version = 1")
        let other = [
            Migration(version: 1, sql: "CREATE TABLE u (a)"), Migration(version: 3, sql: "ALTER TABLE u ADD COLUMN b"),
        ]
        try database.migrate([schema(other, "u")])
        try database.migrate([schema([one, two])])
        #expect(try version(database) == 2 && version(database, of: "u") == 3)
        #expect(try rows(database) == 1)
    }

    @Test func `A database of another application is refused and not changed`() throws {
        let foreign = try Database(path: scratch.path, applicationID: 99)
        try foreign.execute("PRAGMA journal_mode = DELETE; CREATE TABLE theirs (a)")
        try foreign.close()
        for mark in [99, 0] {
            if mark == 0 {
                let again = try Database(path: scratch.path, applicationID: 99)
                try again.execute("PRAGMA application_id = 0; PRAGMA journal_mode = DELETE")
                try again.close()
            }
            let before = try scratch.read()
            let error = try databaseError { _ = try scratch.open() }
            #expect(error.finding == .foreign && !error.isCorrupt && error.path == scratch.path)
            #expect(try scratch.read() == before)
        }
    }

    @Test func `An empty file is treated as a new database`() throws {
        try scratch.write([])
        try scratch.open().migrate([schema([one])])
        #expect(try pragma("application_id", of: scratch.open()) == 0x7465_7374)
    }
}
