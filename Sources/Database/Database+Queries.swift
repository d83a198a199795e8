import CSQLite

// Every statement is compiled once and kept under its text: values belong to parameters, `:name`, never into the text.
extension Database {
    /// Runs one statement to its end, without looking at its rows.
    ///
    /// - Returns: how many rows an INSERT, UPDATE or DELETE has changed.
    @discardableResult
    public func run(_ sql: String, _ values: Values = [:]) throws(DatabaseError) -> Int {
        let statement = try statement(sql)
        try statement.use(values) { () throws(DatabaseError) in
            while try statement.step() {}
        }
        return changes
    }

    /// Hands over the rows one by one.
    public func rows(_ sql: String, _ values: Values = [:], each: (borrowing Row) throws -> Void) throws {
        try walk(sql, values) { row in
            try each(row)
            return true
        }
    }

    /// Hands over the rows one by one, until `body` returns false.
    public func scan(_ sql: String, _ values: Values = [:], while body: (borrowing Row) throws -> Bool) throws {
        try walk(sql, values, while: body)
    }

    /// What `map` makes of the first row; nil if there is none.
    public func first<T>(_ sql: String, _ values: Values = [:], map: (borrowing Row) throws -> T) throws -> T? {
        var first: T?
        try walk(sql, values) { row in
            first = try map(row)
            return false
        }
        return first
    }

    /// Whether the structure of the file is whole, as far as SQLite can tell. Reads all of it.
    public func isSound() throws -> Bool {
        do {
            return try first("PRAGMA quick_check(1)") { try $0.text("quick_check") } == "ok"
        } catch let error as DatabaseError where error.isCorrupt {
            return false
        }
    }

    /// The one number that `sql` answers with.
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
