import Database
import TestSupport
import Testing

@Suite(.watchdog) struct StatementTests {
    let scratch: Scratch
    let database: Database

    init() throws {
        scratch = try Scratch()
        database = try scratch.open()
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)")
    }

    private func names() throws -> [String] {
        var names: [String] = []
        try database.rows("SELECT name FROM t ORDER BY id") { names.append(try $0.text("name")) }
        return names
    }

    @Test func `A statement works again after a constraint error`() throws {
        let insert = "INSERT INTO t (name) VALUES (:name)"
        try database.run(insert, ["name": .text("a")])
        for value in [Value.text("a"), .null] {
            let error = try databaseError { try database.run(insert, ["name": value]) }
            #expect(error.message.contains("constraint failed"))
        }
        try database.run(insert, ["name": .text("b")])
        #expect(database.lastInsertedRowID == 2)
        #expect(try names() == ["a", "b"])
    }

    @Test func `Changed rows are counted`() throws {
        try database.execute("INSERT INTO t (name) VALUES ('a'), ('b'), ('c')")
        #expect(try database.run("UPDATE t SET name = name || '!' WHERE id > :id", ["id": .integer(1)]) == 2)
        #expect(try database.run("DELETE FROM t WHERE id = :id", ["id": .integer(9)]) == 0)
    }

    @Test func `Values are bound to parameters by name`() throws {
        let insert = "INSERT INTO t (id, name) VALUES (:id, :name || :id)"
        try database.run(insert, ["name": .text("a"), "id": .integer(7)])
        #expect(try names() == ["a7"])
        for values in [
            ["id": .integer(8)], ["id": .integer(8), "name": .text("b"), "other": .null], [:],
            ["id": .integer(8), "id": .integer(8)],
        ] as [Values] {
            _ = try databaseError { try database.run(insert, values) }
        }
        _ = try databaseError { try database.run("DELETE FROM t WHERE id = ?", ["id": .integer(7)]) }
        #expect(try names() == ["a7"])
    }

    @Test func `Values and columns may come in another order each time`() throws {
        let insert = "INSERT INTO t (id, name) VALUES (:id, :name)"
        for id in stride(from: Int64(1), to: 7, by: 2) {
            try database.run(insert, ["id": .integer(id), "name": .text("odd \(id)")])
            try database.run(insert, ["name": .text("even \(id + 1)"), "id": .integer(id + 1)])
        }
        var seen: [String] = []
        try database.rows("SELECT id, name FROM t ORDER BY id") { row in
            let id = try row.integer("id")
            if id % 2 == 0 {
                seen.append("\(try row.text("name")) \(try row.integer("id"))")
            } else {
                seen.append("\(try row.integer("id")) \(try row.text("name"))")
            }
        }
        #expect(seen == ["1 odd 1", "even 2 2", "3 odd 3", "even 4 4", "5 odd 5", "even 6 6"])
    }

    @Test(arguments: ["", " ", "-- nothing", "SELECT 1; SELECT 2", "SELECT 1; nonsense", "SELECT 1\0", "SELEC"])
    func `A text without exactly one statement is refused`(sql: String) throws {
        let error = try databaseError { try database.run(sql) }
        #expect(error.path == scratch.path)
    }

    @Test func `A statement can run again while its rows are read`() throws {
        try database.execute("INSERT INTO t (name) VALUES ('a'), ('b')")
        var seen: [String] = []
        let select = "SELECT name FROM t ORDER BY id"
        try database.rows(select) { outer in
            let name = try outer.text("name")
            try database.rows(select) { seen.append(name + (try $0.text("name"))) }
        }
        #expect(seen == ["aa", "ab", "ba", "bb"])
    }

    @Test func `Reading rows stops when the reader returns false or throws`() throws {
        struct Enough: Error {}
        try database.execute("INSERT INTO t (name) VALUES ('a'), ('b'), ('c')")
        var seen = 0
        try database.scan("SELECT name FROM t") { _ in
            seen += 1
            return seen < 2
        }
        #expect(throws: Enough.self) { try database.rows("SELECT name FROM t") { _ in throw Enough() } }
        #expect(seen == 2)
        try database.execute("DROP TABLE t")
    }

    @Test func `A write with RETURNING is complete even if only its first row is read`() throws {
        let id = try database.first("INSERT INTO t (name) VALUES ('a'), ('b') RETURNING id") { try $0.integer("id") }
        #expect(id == 1)
        let other = try scratch.open()
        #expect(try other.first("SELECT count(*) AS count FROM t") { try $0.integer("count") } == 2)
    }

    @Test func `More statements than the cache holds can be used`() throws {
        for number in 0..<300 {
            #expect(try database.first("SELECT \(number) AS number") { try $0.integer("number") } == Int64(number))
        }
    }

    @Test func `A cached statement follows a change of the schema`() throws {
        let select = "SELECT * FROM t"
        try database.run("INSERT INTO t (name) VALUES ('a')")
        #expect(try database.first(select) { try $0.text("name") } == "a")
        try database.execute("ALTER TABLE t ADD COLUMN size INTEGER DEFAULT 5")
        #expect(try database.first(select) { try $0.integer("size") } == 5)
        try database.execute("ALTER TABLE t RENAME COLUMN name TO id2; ALTER TABLE t RENAME COLUMN id TO name")
        #expect(try database.first(select) { try $0.integer("name") } == 1)
        try database.execute("DROP TABLE t; CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)")
        _ = try databaseError { _ = try database.first(select) { try $0.text("name") } }
    }

    @Test func `After close all operations throw`() throws {
        try database.run("INSERT INTO t (name) VALUES ('a')")
        try database.rows("SELECT name FROM t") { row in
            try database.close()
            let name = try row.text("name")
            #expect(name == "a")
        }
        try database.close()
        _ = try databaseError { try database.run("SELECT 1") }
        _ = try databaseError { try database.execute("SELECT 1") }
        _ = try databaseError { try database.transaction {} }
    }
}
