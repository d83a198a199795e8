import Database
import TestSupport
import Testing

@Suite(.watchdog) struct ValueTests {
    let scratch: Scratch
    let database: Database

    init() throws {
        scratch = try Scratch()
        database = try scratch.open()
        try database.execute("CREATE TABLE t (value)")
    }

    private func roundTrip<T>(_ value: Value, _ map: (borrowing Row) throws -> T) throws -> T? {
        try database.run("DELETE FROM t")
        #expect(try database.run("INSERT INTO t VALUES (:value)", ["value": value]) == 1)
        return try database.first("SELECT value FROM t", map: map)
    }

    @Test(arguments: [0, 1, -1, .max, .min, 1 << 53 + 1] as [Int64])
    func `Integers are read as they were written`(number: Int64) throws {
        #expect(try roundTrip(.integer(number)) { try $0.integer("value") } == number)
    }

    @Test(arguments: ["", "a", "a\0b", "\0", "äöü 🥐 \u{301}", String(repeating: "long\0", count: 10_000)])
    func `Text is read as it was written, including NUL characters`(text: String) throws {
        let back = try roundTrip(.text(text)) { try $0.text("value") }
        #expect(back.map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(arguments: [[], [0], [1, 0, 2], [UInt8](repeating: 7, count: 1 << 16)] as [[UInt8]])
    func `Blobs are read as they were written, copied or in place`(bytes: [UInt8]) throws {
        #expect(try roundTrip(.blob(bytes)) { try $0.blob("value") } == bytes)
        #expect(try roundTrip(.blob(bytes)) { try $0.withBytes("value") { Array($0) } } == bytes)
    }

    @Test func `An empty blob and an empty text are not NULL`() throws {
        for value in [Value.blob([]), .text("")] {
            #expect(try roundTrip(value) { try $0.isNull("value") } == false)
        }
        for value in [Value.null, .integer(nil), .text(nil), .blob(nil)] {
            #expect(try roundTrip(value) { try $0.isNull("value") } == true)
        }
    }

    @Test func `NULL is nil only for optional values, else an error`() throws {
        try database.run("INSERT INTO t VALUES (NULL)")
        try database.rows("SELECT value FROM t") { row in
            let values: [Any?] = [
                try row.integerOrNil("value"), try row.textOrNil("value"),
                try row.blobOrNil("value"),
            ]
            #expect(values.allSatisfy { $0 == nil })
        }
        let error = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integer("value") } }
        #expect(error.message == "column value holds NULL and not an integer")
        #expect(error.path == scratch.path)
    }

    @Test func `A missing column throws`() throws {
        try database.run("INSERT INTO t VALUES (1)")
        for column: StaticString in ["", "other", "VALUE"] {
            let error = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integer(column) } }
            #expect(error.message == "there is no column \(column)")
            _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.isNull(column) } }
        }
    }

    @Test func `Two columns with the same name throw`() throws {
        let error = try databaseError { _ = try database.first("SELECT 1 AS a, 2 AS a") { try $0.integer("a") } }
        #expect(error.message == #"two columns have one name: ["a", "a"]"#)
    }

    @Test func `A value of another type throws`() throws {
        try database.run("INSERT INTO t VALUES ('1')")
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integerOrNil("value") } }
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.blob("value") } }
    }

    @Test func `Text that is not UTF-8 throws`() throws {
        try database.run("INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
        let error = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.text("value") } }
        #expect(error.message == "column value is not UTF-8")
    }

    @Test func `A statement accepts several values, including blobs`() throws {
        let row = try database.first(
            "SELECT :a AS a, :b AS b, :c AS c, :d AS d, :e AS e",
            ["b": .text("2"), "a": .blob([1]), "c": .blob([3, 3]), "e": .blob([]), "d": .integer(4)]
        ) { row in
            let others = (try row.text("b"), try row.integer("d"))
            #expect(others == ("2", 4))
            return [try row.blob("a"), try row.blob("c"), try row.blob("e")]
        }
        #expect(row == [[1], [3, 3], []])
    }
}
