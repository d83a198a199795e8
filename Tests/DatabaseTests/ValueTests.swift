import Database
import Testing

@Suite struct ValueTests {
    let scratch: Scratch
    let database: Database

    init() throws {
        scratch = try Scratch()
        database = try scratch.open()
        try database.execute("CREATE TABLE t (value)")
    }

    private func roundTrip<T>(_ value: Value, _ map: (borrowing Row) throws -> T) throws -> T? {
        try database.run("DELETE FROM t")
        #expect(try database.run("INSERT INTO t VALUES (?)", value) == 1)
        return try database.first("SELECT value FROM t", map: map)
    }

    @Test(arguments: [0, 1, -1, .max, .min, 1 << 53 + 1] as [Int64])
    func `Integers come back`(number: Int64) throws {
        #expect(try roundTrip(.integer(number)) { try $0.integer(0) } == number)
    }

    @Test(arguments: [0, -0.0, 0.1, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude])
    func `Reals come back`(number: Double) throws {
        #expect(try roundTrip(.real(number)) { try $0.real(0) } == number)
    }

    @Test(arguments: ["", "a", "a\0b", "\0", "äöü 🥐 \u{301}", String(repeating: "long\0", count: 10_000)])
    func `Text comes back, NUL characters included`(text: String) throws {
        let back = try roundTrip(.text(text)) { try $0.text(0) }
        #expect(back.map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(arguments: [[], [0], [1, 0, 2], [UInt8](repeating: 7, count: 1 << 16)] as [[UInt8]])
    func `Blobs come back, however they are given`(bytes: [UInt8]) throws {
        #expect(try roundTrip(.blob(bytes)) { try $0.blob(0) } == bytes)
        try bytes.withUnsafeBytes { buffer in
            let back = try roundTrip(.bytes(buffer)) { try $0.withBytes(0) { Array($0) } }
            #expect(back == bytes)
        }
    }

    @Test func `An empty blob is not NULL, nor is empty text`() throws {
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        for value in [Value.blob([]), .bytes(empty), .text("")] {
            #expect(try roundTrip(value) { try $0.isNull(0) } == false)
        }
        for value in [Value.null, .integer(nil), .real(nil), .text(nil), .blob(nil), .real(.nan)] {
            #expect(try roundTrip(value) { try $0.isNull(0) } == true)
        }
    }

    @Test func `NULL is nil only where it is asked for`() throws {
        try database.run("INSERT INTO t VALUES (NULL)")
        try database.rows("SELECT value FROM t") { row in
            let values: [Any?] = [
                try row.integerOrNil(0), try row.realOrNil(0), try row.textOrNil(0), try row.blobOrNil(0),
            ]
            #expect(values.allSatisfy { $0 == nil })
        }
        let error = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integer(0) } }
        #expect(error.message == "column 0 holds NULL and not an integer")
        #expect(error.path == scratch.path)
    }

    @Test(arguments: [-1, 1, .max, .min])
    func `A column that is not there throws`(column: Int) throws {
        try database.run("INSERT INTO t VALUES (1)")
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integer(column) } }
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.isNull(column) } }
    }

    @Test func `A value of another type throws`() throws {
        try database.run("INSERT INTO t VALUES ('1')")
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.integerOrNil(0) } }
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.real(0) } }
        _ = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.blob(0) } }
    }

    @Test func `Text that is not UTF-8 throws`() throws {
        try database.run("INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
        let error = try databaseError { _ = try database.first("SELECT value FROM t") { try $0.text(0) } }
        #expect(error.message == "column 0 is not UTF-8")
    }

    @Test func `Many values at once, arrays among them`() throws {
        let row = try database.first(
            "SELECT ?, ?, ?, ?, ?", .blob([1]), .text("2"), .blob([3, 3]), .integer(4), .blob([])
        ) { row in
            let others = (try row.text(1), try row.integer(3))
            #expect(others == ("2", 4))
            return [try row.blob(0), try row.blob(2), try row.blob(4)]
        }
        #expect(row == [[1], [3, 3], []])
    }
}
