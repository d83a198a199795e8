import TestSupport
import Testing

@testable import Database

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

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

    @Test func `A snapshot does not change and does not block writers`() throws {
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

    @Test func `After a failed sync the next transaction does not depend on the log`() throws {
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        database.isLogDoubtful = true
        try database.transaction { try database.run("INSERT INTO t VALUES (2)") }
        #expect(!database.isLogDoubtful)
        // The file without its log.
        try scratch.write(try scratch.read(), to: "b")
        #expect(try count(scratch.open("b")) == 1)
    }

    @Test(arguments: [(10 | 4 << 8, true), (10 | 1 << 8, false), (5, false), (13, false)] as [(Int32, Bool)])
    func `A checkpoint after a commit whose sync fails makes the log doubtful`(result: Int32, isDoubtful: Bool) throws {
        database.checkpointResult.pointee = result
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        #expect(database.isLogDoubtful == isDoubtful && database.checkpointResult.pointee == 0)
    }

    @Test func `The first transaction replaces the log of an ended process`() throws {
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        let next = try scratch.open()
        #expect(next.hasFormerLog)
        try next.transaction { try next.run("INSERT INTO t VALUES (2)") }
        try scratch.write(try scratch.read(), to: "b")
        #expect(try count(scratch.open("b")) == 1)
    }

    @Test func `The log of an ended process is replaced once no other connection reads it`() throws {
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        let next = try scratch.open()
        try database.snapshot {
            _ = try count(database)
            try next.transaction { try next.run("INSERT INTO t VALUES (2)") }
            #expect(next.hasFormerLog)
        }
        try next.transaction { try next.run("INSERT INTO t VALUES (3)") }
        #expect(!next.hasFormerLog)
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

    @Test func `An error that rolled the transaction back itself is passed on`() throws {
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

    @Test func `A transaction that was rolled back inside does not succeed`() throws {
        try database.run("INSERT INTO t VALUES (1)")
        _ = try databaseError {
            try database.transaction {
                _ = try databaseError { try database.run("INSERT OR ROLLBACK INTO t VALUES (1)") }
            }
        }
    }

    @Test func `An era outlives own commits, and ends with a rollback or another connection's commit`() throws {
        let other = try scratch.open()
        func era() throws -> Database.Era { try database.transaction { database.era } }
        let first = try era()
        try database.transaction { try database.run("INSERT INTO t VALUES (1)") }
        #expect(try count(other) == 1 && era() == first)
        #expect(throws: Refusal.self) { try database.transaction { throw Refusal() } }
        let second = try era()
        #expect(second != first)
        try other.transaction { try other.run("INSERT INTO t VALUES (2)") }
        let third = try era()
        #expect(third != second)
        database.endEra()
        #expect(try era() != third)
    }

    @Test func `A nested transaction throws, and the outer one can still commit`() throws {
        try database.transaction {
            try database.run("INSERT INTO t VALUES (1)")
            _ = try databaseError { try database.transaction {} }
        }
        #expect(try count(database) == 1)
    }

    @Test func `A second writer gets a busy error`() throws {
        let other = try Database(path: scratch.path, applicationID: 0x7465_7374, busyTimeout: 1)
        try database.transaction {
            let error = try databaseError { try other.transaction {} }
            #expect(error.isBusy)
        }
        try other.transaction { try other.run("INSERT INTO t VALUES (1)") }
    }

    @Test func `A full file causes an error of its own, and can be used again`() throws {
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

    @Test func `A database with a reserve has the blocks of its spare room, however its rows grow it`() throws {
        try database.keepReserve()
        try database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, key BLOB UNIQUE, bytes BLOB)")
        for round in 0..<120 {
            let size = [3, 90_000, 500, 5000][round / 30]
            try database.transaction {
                for row in 0..<(round % 7) {
                    try database.run(
                        "INSERT INTO rows (key, bytes) VALUES (:key, :bytes)",
                        [
                            "key": .blob([UInt8](repeating: UInt8(row), count: 100) + "\(round)".utf8),
                            "bytes": .blob([UInt8](repeating: 1, count: size)),
                        ])
                }
            }
            var status = stat()
            try #require(stat(database.path, &status) == 0)
            let whole = try database.size
            try #require(Int64(status.st_blocks) * 512 >= whole + Reserve.spareBytes, "after \(round)")
        }
    }

    @Test func `A database with a reserve returns the room of deleted rows`() throws {
        try database.keepReserve()
        try database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)")
        for round in 0..<6 {
            for row in 0..<40 {
                try database.transaction(mayUseReserve: true) {
                    try database.run(
                        "INSERT INTO rows (id, bytes) VALUES (:id, zeroblob(90000))", ["id": .integer(Int64(row))])
                }
            }
            for row in 0..<40 {
                try database.transaction(mayUseReserve: true) {
                    try database.run("DELETE FROM rows WHERE id = :id", ["id": .integer(Int64(row))])
                }
            }
            var status = stat()
            try #require(stat(database.path, &status) == 0)
            #expect(Int64(status.st_size) <= (try database.size) + 2 * Reserve.spareBytes, "after \(round)")
        }
    }

    @Test func `The reserve is refilled after a transaction that uses it, and after a checkpoint`() throws {
        try database.keepReserve()
        try database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)")
        let bytes = Value.blob([UInt8](repeating: 1, count: 9000))
        for round in 0..<60 {
            // The log is replaced, and the blocks behind the end of the file are freed.
            database.isLogDoubtful = round % 4 == 3
            try database.transaction(mayUseReserve: true) {
                try database.run("INSERT INTO rows (bytes) VALUES (:bytes)", ["bytes": bytes])
            }
            var status = stat()
            try #require(stat(database.path, &status) == 0)
            try #require(
                Int64(status.st_blocks) * 512 >= (try database.size) + Reserve.spareBytes, "after \(round)")
        }
    }

    @Test func `Closing within a transaction rolls it back`() throws {
        _ = try databaseError {
            try database.transaction {
                try database.run("INSERT INTO t VALUES (1)")
                try database.close()
            }
        }
        #expect(try count(scratch.open()) == 0)
    }
}
