import CSQLite

/// One row of a result, valid until the closure that received it returns.
///
/// Columns are read by name, a literal. Reading a missing or ambiguous column, or a value of another type, throws
/// SQLITE_RANGE or SQLITE_MISMATCH: SQLite's implicit conversions would hide errors of this program.
public struct Row: ~Copyable {
    let statement: Statement

    public func integer(_ column: StaticString) throws(DatabaseError) -> Int64 {
        csqlite_column_int64(statement.handle, try index(of: column, CSQLITE_INTEGER))
    }

    /// Also throws for a text that is not UTF-8.
    public func text(_ column: StaticString) throws(DatabaseError) -> String {
        try text(column, at: index(of: column, CSQLITE_TEXT))
    }

    public func blob(_ column: StaticString) throws(DatabaseError) -> [UInt8] {
        Array(try bytes(at: index(of: column, CSQLITE_BLOB)))
    }

    /// Passes the blob to `body` in SQLite's memory, which is valid during the call.
    public func withBytes<R>(_ column: StaticString, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        try body(try bytes(at: index(of: column, CSQLITE_BLOB)))
    }

    /// Throws only if there is no such column.
    public func isNull(_ column: StaticString) throws(DatabaseError) -> Bool {
        type(try statement.index(ofColumn: column)) == CSQLITE_NULL
    }

    public func integerOrNil(_ column: StaticString) throws(DatabaseError) -> Int64? {
        try indexOrNil(of: column, CSQLITE_INTEGER).map { csqlite_column_int64(statement.handle, $0) }
    }

    public func textOrNil(_ column: StaticString) throws(DatabaseError) -> String? {
        guard let index = try indexOrNil(of: column, CSQLITE_TEXT) else { return nil }
        return try text(column, at: index)
    }

    public func blobOrNil(_ column: StaticString) throws(DatabaseError) -> [UInt8]? {
        guard let index = try indexOrNil(of: column, CSQLITE_BLOB) else { return nil }
        return Array(try bytes(at: index))
    }

    private func text(_ column: StaticString, at index: Int32) throws(DatabaseError) -> String {
        let start = csqlite_column_text(statement.handle, index)
        let bytes = UnsafeBufferPointer(start: start, count: try count(index, from: start))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DatabaseError(CSQLITE_MISMATCH, "column \(column) is not UTF-8", path: statement.path)
        }
        return text
    }

    private func type(_ index: Int32) -> csqlite_type {
        csqlite_type(UInt32(bitPattern: csqlite_column_type(statement.handle, index)))
    }

    private func index(of column: StaticString, _ wanted: csqlite_type) throws(DatabaseError) -> Int32 {
        let index = try statement.index(ofColumn: column)
        try check(type(index), wanted, column)
        return index
    }

    private func indexOrNil(of column: StaticString, _ wanted: csqlite_type) throws(DatabaseError) -> Int32? {
        let index = try statement.index(ofColumn: column)
        let found = type(index)
        if found == CSQLITE_NULL { return nil }
        try check(found, wanted, column)
        return index
    }

    private func check(
        _ found: csqlite_type, _ wanted: csqlite_type, _ column: StaticString
    ) throws(DatabaseError) {
        guard found == wanted else {
            let text = "column \(column) holds \(Self.name(found)) and not \(Self.name(wanted))"
            throw DatabaseError(CSQLITE_MISMATCH, text, path: statement.path)
        }
    }

    private func bytes(at index: Int32) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let start = csqlite_column_blob(statement.handle, index)
        return UnsafeRawBufferPointer(start: start, count: try count(index, from: start))
    }

    // SQLite requires that the value is read before its size. A null pointer for a non-empty value means out of memory.
    private func count(_ index: Int32, from start: UnsafeRawPointer?) throws(DatabaseError) -> Int {
        let count = Int(csqlite_column_bytes(statement.handle, index))
        guard start != nil || count == 0 else {
            throw DatabaseError(CSQLITE_NOMEM, "out of memory", path: statement.path)
        }
        return count
    }

    private static func name(_ type: csqlite_type) -> String {
        switch type {
        case CSQLITE_INTEGER: "an integer"
        case CSQLITE_FLOAT: "a real"
        case CSQLITE_TEXT: "text"
        case CSQLITE_BLOB: "a blob"
        default: "NULL"
        }
    }
}
