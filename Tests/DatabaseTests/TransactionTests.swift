import Database
import TestSupport
import Testing

@Suite(.watchdog) struct TransactionTests {
    struct Refusal: Error {}

    let scratch: Scratch
    let database: Database

    init() throws {
        scratch = try Scratch()
        database = try scratch.open()
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    }

    private func count(_ database: Database) throws -> Int64? {
        try database.first("SELECT count(*) AS count FROM t") { try $0.integer("count") }
    }

    @Test func `A committed transaction is visible to other connections`() throws {
        let other = try scratch.open()
        let answer = try database.transaction {
            try database.run("INSERT INTO t VALUES (1)")
            try database.run("INSERT INTO t VALUES (2)")
            let seen = try count(other)
            #expect(seen == 0)
            return 42
        }
        #expect(try answer == 42 && count(other) == 2)
    }

    @Test func `A snapshot stays as it began, and holds up nobody who writes`() throws {
        let other = try scratch.open()
        try database.snapshot {
            let before = try count(database)
            try other.run("INSERT INTO t VALUES (1)")
            let after = try count(database)
            #expect(before == 0 && after == 0)
        }
        #expect(try count(database) == 1)
        #expect(throws: Refusal.self) { try database.snapshot { throw Refusal() } }
        #expect(try database.snapshot { try count(database) } == 1)
    }

    @Test func `A transaction with an error is rolled back`() throws {
        #expect(throws: Refusal.self) {
            try database.transaction {
                try database.run("INSERT INTO t VALUES (1)")
                throw Refusal()
            }
        }
        #expect(try count(database) == 0)
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        #expect(try count(database) == 1)
    }

    @Test func `An error that has undone everything itself is passed on`() throws {
        try database.run("INSERT INTO t VALUES (1)")
        let error = try databaseError {
            try database.transaction {
                try database.run("INSERT INTO t VALUES (2)")
                try database.run("INSERT OR ROLLBACK INTO t VALUES (1)")
            }
        }
        #expect(error.message.contains("constraint failed"))
        #expect(try count(database) == 1)
    }

    @Test func `An undone transaction cannot be taken for a kept one`() throws {
        try database.run("INSERT INTO t VALUES (1)")
        _ = try databaseError {
            try database.transaction {
                _ = try databaseError { try database.run("INSERT OR ROLLBACK INTO t VALUES (1)") }
            }
        }
    }

    @Test func `An inner transaction throws and spoils the outer only if that lets it`() throws {
        try database.transaction {
            try database.run("INSERT INTO t VALUES (1)")
            _ = try databaseError { try database.transaction {} }
        }
        #expect(try count(database) == 1)
    }

    @Test func `A second writer is told that the file is busy`() throws {
        let other = try Database(path: scratch.path, applicationID: 0x7465_7374, busyTimeout: 1)
        try database.transaction {
            let error = try databaseError { try other.transaction {} }
            #expect(error.isBusy)
        }
        try other.transaction { try other.run("INSERT INTO t VALUES (1)") }
    }

    @Test func `A full file is told apart, and used again`() throws {
        try database.execute("PRAGMA max_page_count = 4")
        let error = try databaseError {
            try database.transaction {
                try database.execute("CREATE TABLE big (bytes BLOB)")
                try database.run("INSERT INTO big VALUES (zeroblob(100000))")
            }
        }
        #expect(error.isFull)
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        #expect(try count(database) == 1)
    }

    @Test func `Closing within a transaction undoes it`() throws {
        _ = try databaseError {
            try database.transaction {
                try database.run("INSERT INTO t VALUES (1)")
                try database.close()
            }
        }
        #expect(try count(scratch.open()) == 0)
    }
}
