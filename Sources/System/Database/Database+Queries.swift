import CSQLite

// Every statement is compiled once and cached under its text. Values are parameters, `:name`, and never part of the
// text.
extension Database {
    /// Runs one statement and discards its rows.
    ///
    /// - Returns: the number of rows that an INSERT, UPDATE or DELETE has changed.
    @discardableResult public func run(_ sql: String, _ values: Values = [:]) throws(DatabaseError) -> Int {
        let statement = try statement(sql)
        try statement.use(values) { () throws(DatabaseError) in while try statement.step() {} }
        let changes = changes
        growth = growth.map { $0 + values.size + Int64(changes) * Self.mostBytesBesideValues }
        if changes > 0, !statement.inserts { mayHaveFreed = true }
        return changes
    }

    /// The pages that the trees of a table and its indexes may need for one row.
    private static let mostBytesBesideValues: Int64 = 16 << 10

    public func rows(_ sql: String, _ values: Values = [:], each: (borrowing Row) throws -> Void) throws {
        try walk(sql, values) { row in
            try each(row)
            return true
        }
    }

    /// Passes the rows to `body` one by one, until it returns false.
    public func scan(_ sql: String, _ values: Values = [:], while body: (borrowing Row) throws -> Bool) throws {
        try walk(sql, values, while: body)
    }

    /// Returns the result of `map` for the first row, or nil if there is no row.
    public func first<T>(_ sql: String, _ values: Values = [:], map: (borrowing Row) throws -> T) throws -> T? {
        var first: T?
        try walk(sql, values) { row in
            first = try map(row)
            return false
        }
        return first
    }

    /// Whether SQLite finds no damage in the structure of the file. Reads the whole file.
    public func isSound() throws -> Bool {
        do {
            return try first("PRAGMA quick_check(1)") { try $0.text("quick_check") } == "ok"
        } catch let error as DatabaseError where error.isCorrupt {
            return false
        }
    }

    /// Returns the single number that `sql` selects.
    func number(_ sql: String) throws(DatabaseError) -> Int64 {
        let statement = try statement(sql)
        return try statement.use([:]) { () throws(DatabaseError) in
            try statement.step() ? csqlite_column_int64(statement.handle, 0) : 0
        }
    }

    private func walk(_ sql: String, _ values: Values, while body: (borrowing Row) throws -> Bool) throws {
        let statement = try statement(sql)
        let outcome = try statement.use(values) { () throws(DatabaseError) -> Result<Void, any Error> in
            Result { while try statement.step(), try body(statement.row) {} }
        }
        try outcome.get()
    }
}
