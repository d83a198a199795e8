import CSQLite

/// One row of a result, valid until the closure that received it returns.
///
/// Columns are read by name. Reading a missing or ambiguous column, or one that holds another type, throws SQLITE_RANGE
/// or SQLITE_MISMATCH: SQLite's implicit conversions are not for data that this program has written.
public struct Row: ~Copyable {
    let statement: Statement

    public func integer(_ column: String) throws(DatabaseError) -> Int64 {
        csqlite_column_int64(statement.handle, try index(of: column, CSQLITE_INTEGER))
    }

    /// Throws as well if the text is not UTF-8.
    public func text(_ column: String) throws(DatabaseError) -> String {
        let index = try index(of: column, CSQLITE_TEXT)
        let start = csqlite_column_text(statement.handle, index)
        let bytes = UnsafeBufferPointer(start: start, count: try count(index, from: start))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DatabaseError(CSQLITE_MISMATCH, "column \(column) is not UTF-8", path: statement.path)
        }
        return text
    }

    public func blob(_ column: String) throws(DatabaseError) -> [UInt8] { Array(try bytes(column)) }

    /// Passes the blob to `body` in SQLite's own memory, valid during the call.
    public func withBytes<R>(_ column: String, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        try body(try bytes(column))
    }

    /// Throws only if there is no such column.
    public func isNull(_ column: String) throws(DatabaseError) -> Bool {
        type(try statement.index(ofColumn: column)) == CSQLITE_NULL
    }

    public func integerOrNil(_ column: String) throws(DatabaseError) -> Int64? {
        try isNull(column) ? nil : integer(column)
    }

    public func textOrNil(_ column: String) throws(DatabaseError) -> String? { try isNull(column) ? nil : text(column) }

    public func blobOrNil(_ column: String) throws(DatabaseError) -> [UInt8]? {
        try isNull(column) ? nil : blob(column)
    }

    private func type(_ index: Int32) -> csqlite_type {
        csqlite_type(UInt32(bitPattern: csqlite_column_type(statement.handle, index)))
    }

    private func index(of column: String, _ wanted: csqlite_type) throws(DatabaseError) -> Int32 {
        let index = try statement.index(ofColumn: column)
        let found = type(index)
        guard found == wanted else {
            let text = "column \(column) holds \(Self.name(found)) and not \(Self.name(wanted))"
            throw DatabaseError(CSQLITE_MISMATCH, text, path: statement.path)
        }
        return index
    }

    private func bytes(_ column: String) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let index = try index(of: column, CSQLITE_BLOB)
        let start = csqlite_column_blob(statement.handle, index)
        return UnsafeRawBufferPointer(start: start, count: try count(index, from: start))
    }

    // SQLite requires the value to be read before its size. No address for a non-empty value means out of memory.
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
