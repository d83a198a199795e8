import CSQLite

/// One row of an answer, good until the closure that was given it returns.
///
/// Columns count from 0. Reading one that is not there, or that holds a value of another type, throws an error of
/// code SQLITE_RANGE or SQLITE_MISMATCH: SQLite's own conversions are not for data that this program has written itself.
public struct Row: ~Copyable {
    let statement: OpaquePointer
    let columns: Int
    let path: String

    public func integer(_ column: Int) throws(DatabaseError) -> Int64 {
        try check(column, CSQLITE_INTEGER)
        return csqlite_column_int64(statement, Int32(column))
    }

    public func real(_ column: Int) throws(DatabaseError) -> Double {
        try check(column, CSQLITE_FLOAT)
        return csqlite_column_double(statement, Int32(column))
    }

    /// Throws as well if the text is not UTF-8.
    public func text(_ column: Int) throws(DatabaseError) -> String {
        try check(column, CSQLITE_TEXT)
        let start = csqlite_column_text(statement, Int32(column))
        let bytes = UnsafeBufferPointer(start: start, count: try count(column, from: start))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DatabaseError(CSQLITE_MISMATCH, "column \(column) is not UTF-8", path: path)
        }
        return text
    }

    public func blob(_ column: Int) throws(DatabaseError) -> [UInt8] {
        Array(try bytes(column))
    }

    /// The blob where SQLite has it, for the time of the call.
    public func withBytes<R>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        try body(try bytes(column))
    }

    /// Throws only if there is no such column.
    public func isNull(_ column: Int) throws(DatabaseError) -> Bool { try type(column) == CSQLITE_NULL }

    public func integerOrNil(_ column: Int) throws(DatabaseError) -> Int64? {
        try isNull(column) ? nil : integer(column)
    }

    public func realOrNil(_ column: Int) throws(DatabaseError) -> Double? {
        try isNull(column) ? nil : real(column)
    }

    public func textOrNil(_ column: Int) throws(DatabaseError) -> String? {
        try isNull(column) ? nil : text(column)
    }

    public func blobOrNil(_ column: Int) throws(DatabaseError) -> [UInt8]? {
        try isNull(column) ? nil : blob(column)
    }

    private func type(_ column: Int) throws(DatabaseError) -> csqlite_type {
        guard (0..<columns).contains(column) else {
            throw DatabaseError(CSQLITE_RANGE, "there is no column \(column)", path: path)
        }
        return csqlite_type(UInt32(bitPattern: csqlite_column_type(statement, Int32(column))))
    }

    private func check(_ column: Int, _ wanted: csqlite_type) throws(DatabaseError) {
        let found = try type(column)
        guard found == wanted else {
            let text = "column \(column) holds \(Self.name(found)) and not \(Self.name(wanted))"
            throw DatabaseError(CSQLITE_MISMATCH, text, path: path)
        }
    }

    private func bytes(_ column: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try check(column, CSQLITE_BLOB)
        let start = csqlite_column_blob(statement, Int32(column))
        return UnsafeRawBufferPointer(start: start, count: try count(column, from: start))
    }

    // Asked after the value itself, as SQLite wants it. No address for some bytes means no memory for them.
    private func count(_ column: Int, from start: UnsafeRawPointer?) throws(DatabaseError) -> Int {
        let count = Int(csqlite_column_bytes(statement, Int32(column)))
        guard start != nil || count == 0 else { throw DatabaseError(CSQLITE_NOMEM, "out of memory", path: path) }
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
