import CSQLite

/// One connection to an SQLite file, for the use of one thread at a time.
///
/// What is committed has reached the disk: write-ahead log, `synchronous=FULL`. SQLite has no checksums over its
/// pages, so a bit that turned over inside a value is not noticed here; a damaged structure is, as `isCorrupt`.
public final class Database {
    public let path: String
    private var connection: OpaquePointer?
    private var statements: [String: Statement] = [:]
    private(set) var reserve: Reserve?
    private(set) var pageSize: Int64 = 0

    /// Opens the file, or makes it.
    ///
    /// - Parameters:
    ///   - applicationID: marks the program's files. A file with other contents is refused, untouched.
    ///   - busyTimeout: milliseconds to wait for another process that holds the file.
    /// - Throws: what `isIO`, `isReadOnly`, `isBusy`, `isCorrupt` and `finding` tell apart; the error names the file.
    public init(path: String, applicationID: Int32, busyTimeout: Int32 = 250) throws(DatabaseError) {
        self.path = path
        if let reason = csqlite_load() { throw .libraryMissing(String(cString: reason), path: path) }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(CSQLITE_CANTOPEN, "not a path", path: path)
        }
        do throws(DatabaseError) {
            try open(applicationID, busyTimeout)
        } catch  where error.isFull || error.isIO {
            // Of a log that could not be made for want of room SQLite does not tell why.
            guard Reserve.release(path) else { throw error }
            try open(applicationID, busyTimeout)
        }
    }

    private func open(_ applicationID: Int32, _ busyTimeout: Int32) throws(DatabaseError) {
        let result = csqlite_open(path, &connection)
        let reason = csqlite_system_errno()
        do throws(DatabaseError) {
            guard connection != nil else { throw DatabaseError(CSQLITE_NOMEM, "out of memory", path: path) }
            try check(result)
            try prepareFile(applicationID: applicationID, busyTimeout: busyTimeout, reason)
        } catch {
            abandon()
            throw error
        }
    }

    deinit { abandon() }

    /// Ends the use of the file; an open transaction is undone. Everything but closing throws afterwards.
    public func close() throws(DatabaseError) {
        let result = abandon()
        guard result == CSQLITE_OK.code else {
            throw DatabaseError(code: result & 0xFF, extendedCode: result, message: "cannot be closed", path: path)
        }
    }

    /// From now on there is room for changes that free room, whatever else fills the disk, as far as the file system
    /// has means for that.
    public func keepReserve() throws(DatabaseError) {
        // A connection opens the log when it reads for the first time.
        let pages = try number("PRAGMA page_count")
        pageSize = try number("PRAGMA page_size")
        reserve = Reserve(path)
        _ = reserve?.refill(pages * pageSize)
    }

    @discardableResult
    func abandon() -> Int32 {
        statements = [:]
        defer { connection = nil }
        return connection.map(csqlite_close) ?? CSQLITE_OK.code
    }

    /// Runs any number of statements, without values and without answers.
    public func execute(_ sql: String) throws(DatabaseError) {
        try check(csqlite_exec(try opened(), sql))
    }

    /// The rowid of the last row inserted by this connection; 0 if there is none.
    public var lastInsertedRowID: Int64 { connection.map(csqlite_last_insert_rowid) ?? 0 }

    /// False within a transaction.
    var isIdle: Bool { connection.map { csqlite_get_autocommit($0) != 0 } ?? true }

    var changes: Int { connection.map { Int(csqlite_changes($0)) } ?? 0 }

    /// A statement that nobody is using: kept from earlier, or compiled now.
    func statement(_ sql: String) throws(DatabaseError) -> Statement {
        if let kept = statements[sql], !kept.isBusy { return kept }
        let statement = try Statement(sql, connection: try opened(), path: path)
        if statements.count >= Self.keptStatements { statements = statements.filter { $0.value.isBusy } }
        statements[sql] = statement
        return statement
    }

    private static let keptStatements = 128

    private func opened() throws(DatabaseError) -> OpaquePointer {
        guard let connection else { throw DatabaseError(CSQLITE_MISUSE, "the database is closed", path: path) }
        return connection
    }

    private func check(_ result: Int32) throws(DatabaseError) {
        guard result == CSQLITE_OK.code else {
            throw DatabaseError(result: result, connection: try opened(), path: path)
        }
    }

    // Nothing is written before it is clear whose file this is.
    private func prepareFile(applicationID: Int32, busyTimeout: Int32, _ openErrno: Int32) throws(DatabaseError) {
        try check(csqlite_busy_timeout(try opened(), busyTimeout))
        try execute(
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
            PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY
            """)
        let isNew = try isNew(to: applicationID)
        guard csqlite_db_readonly(try opened()) == 0 else {
            var error = DatabaseError(CSQLITE_READONLY, "the file may not be written", path: path)
            error.systemErrno = openErrno
            throw error
        }
        // Room that is freed goes back to the disk. Files that were made without this use it again themselves.
        if isNew { try execute("PRAGMA auto_vacuum = FULL") }
        // Where there can be no write-ahead log, SQLite stays with its slower, equally safe rollback journal.
        try execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            PRAGMA journal_size_limit = \(Self.keptLogBytes)
            """)
        if isNew { try execute("PRAGMA application_id = \(applicationID)") }
    }

    // The log is cut back to this size when it starts over.
    private static let keptLogBytes = 16 << 20

    // In one transaction, because another process may be making the same file.
    private func isNew(to applicationID: Int32) throws(DatabaseError) -> Bool {
        try execute("BEGIN")
        let found = try number("PRAGMA application_id")
        let version = try number("PRAGMA user_version")
        let tables = try number("SELECT count(*) FROM sqlite_master")
        try execute("COMMIT")
        if found == Int64(applicationID) { return false }
        guard found == 0, version == 0, tables == 0 else {
            throw DatabaseError(CSQLITE_ERROR, "an SQLite file of another program", path: path, finding: .foreign)
        }
        return true
    }
}
