import CSQLite
import Platform

/// One connection to an SQLite file, for the use of one thread at a time.
///
/// A committed transaction is durable, unless the process syncs nothing: write-ahead log, `synchronous=FULL`. SQLite has
/// no page checksums, so a flipped bit inside a value goes unnoticed; a damaged structure is reported as `isCorrupt`.
public final class Database {
    public let path: String
    private let busyTimeout: Int32
    private var connection: OpaquePointer?
    private var statements = StatementCache()
    private(set) var reserve: Reserve?
    private var pageSize: Int64 = 0
    private(set) var hasLog = false
    /// The system has failed to write or sync the log, which may lack transactions after a crash.
    var isLogDoubtful = false
    /// The log is of an ended process, in which a sync may have failed.
    var hasFormerLog = false
    /// `CSQLITE_DONE` or the error of the last checkpoint after a commit; 0 if there was none.
    let checkpointResult = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    /// At least the size in bytes after the last transaction, possibly before its freed pages were returned; 0 without
    /// a reserve. The file may be smaller.
    var committedSize: Int64 = 0
    private var endedEras = 0
    /// The number of transactions of this connection that were committed, modulo 2³².
    var commits: UInt32 = 0
    /// The most bytes by which the changes of the current transaction have enlarged the file; nil if it is unknown.
    var growth: Int64?
    /// The current transaction may have freed pages of the file.
    var mayHaveFreed = false
    /// A checkpoint may have changed the blocks of the file since the reserve was checked.
    var hasMovedLog = false

    /// Opens the file, or creates it.
    ///
    /// - Parameters:
    ///   - applicationID: marks the program's files. A file with other contents is refused, untouched.
    ///   - busyTimeout: milliseconds to wait for another connection that holds the file; a sync on a busy disk takes
    ///     seconds.
    ///   - isExclusive: no other connection of any process uses the file while it is open, so SQLite needs no file of
    /// shared
    ///   memory.
    ///   - commits: which commits are synced.
    /// - Throws: an error that names the file; `isIO`, `isReadOnly`, `isBusy`, `isCorrupt` and `finding` tell the
    ///   cause.
    public init(
        path: String, applicationID: Int32, busyTimeout: Int32 = 10_000, isExclusive: Bool = false,
        commits: CommitSync = .full
    ) throws(DatabaseError) {
        (self.path, self.busyTimeout) = (path, busyTimeout)
        checkpointResult.initialize(to: 0)
        if let reason = csqlite_load() { throw .libraryMissing(String(cString: reason), path: path) }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(CSQLITE_CANTOPEN, "not a path", path: path)
        }
        do throws(DatabaseError) {
            try open(applicationID, isExclusive, commits)
        } catch  where error.isFull || error.isIO {
            // SQLite does not report why it could not create a log, so this includes a full disk.
            guard Reserve.release(path) else { throw error }
            try open(applicationID, isExclusive, commits)
        }
    }

    private func open(_ applicationID: Int32, _ isExclusive: Bool, _ commits: CommitSync) throws(DatabaseError) {
        let result = csqlite_open(path, &connection)
        let reason = csqlite_system_errno()
        do throws(DatabaseError) {
            guard connection != nil else { throw DatabaseError(CSQLITE_NOMEM, "out of memory", path: path) }
            try check(result)
            if isExclusive { try execute("PRAGMA locking_mode = EXCLUSIVE") }
            try prepareFile(applicationID: applicationID, commits, reason)
        } catch {
            abandon()
            throw error
        }
    }

    deinit {
        abandon()
        checkpointResult.deallocate()
    }

    /// Closes the file and rolls back an open transaction. Later calls throw, except `close()`.
    public func close() throws(DatabaseError) {
        let result = abandon()
        guard result == CSQLITE_OK.code else {
            throw DatabaseError(code: result & 0xFF, extendedCode: result, message: "cannot be closed", path: path)
        }
    }

    /// Reserves disk space for changes that free room, if the file system supports that.
    public func keepReserve() throws(DatabaseError) {
        // The first read of a connection opens the log.
        pageSize = try number("PRAGMA page_size")
        committedSize = try size
        reserve = Reserve(path)
        _ = reserve?.refill(committedSize)
    }

    /// The size in bytes, including the pages of the current transaction. SQLite compiles this statement for each call.
    var size: Int64 { get throws(DatabaseError) { try number("PRAGMA page_count") * pageSize } }

    /// Runs `body`, which fails at once where it would wait for another connection.
    func withoutWaiting<T>(_ body: () throws -> T) throws -> T {
        try check(csqlite_busy_timeout(try opened(), 0))
        defer { _ = connection.map { csqlite_busy_timeout($0, busyTimeout) } }
        return try body()
    }

    @discardableResult func abandon() -> Int32 {
        statements = StatementCache()
        defer { connection = nil }
        return connection.map(csqlite_close) ?? CSQLITE_OK.code
    }

    /// The time in which only commits of this connection change the rows that its transactions have read. To be read
    /// within a transaction.
    public var era: Era {
        let changes = connection.map(csqlite_data_version) ?? 0
        return Era(connection: UInt(bitPattern: connection), ended: endedEras, changes: changes &- commits)
    }

    public struct Era: Equatable, Sendable {
        fileprivate let connection: UInt
        fileprivate let ended: Int
        /// The changes of the file by other connections, plus a constant.
        fileprivate let changes: UInt32
    }

    /// Ends the era: this connection changes rows that others keep, or rolls back.
    public func endEra() { endedEras += 1 }

    /// Runs any number of statements without values and without results. Ends the era, since they may change any row.
    public func execute(_ sql: String) throws(DatabaseError) {
        (growth, mayHaveFreed) = (nil, true)
        endEra()
        try check(csqlite_exec(try opened(), sql))
    }

    /// The rowid of the last row inserted by this connection; 0 if there is none.
    public var lastInsertedRowID: Int64 { connection.map(csqlite_last_insert_rowid) ?? 0 }

    var isIdle: Bool { connection.map { csqlite_get_autocommit($0) != 0 } ?? true }

    var changes: Int { connection.map { Int(csqlite_changes($0)) } ?? 0 }

    /// Returns an idle statement: a cached one, or a newly compiled one.
    func statement(_ sql: String) throws(DatabaseError) -> Statement {
        if let kept = statements.idle(sql) { return kept }
        let statement = try Statement(sql, connection: try opened(), path: path)
        statements.keep(statement, sql)
        return statement
    }

    private func opened() throws(DatabaseError) -> OpaquePointer {
        guard let connection else { throw DatabaseError(CSQLITE_MISUSE, "the database is closed", path: path) }
        return connection
    }

    private func check(_ result: Int32) throws(DatabaseError) {
        guard result == CSQLITE_OK.code else {
            throw DatabaseError(result: result, connection: try opened(), path: path)
        }
    }

    // Writes only after it has checked the application id.
    private func prepareFile(
        applicationID: Int32, _ commits: CommitSync, _ openErrno: Int32
    ) throws(DatabaseError) {
        try check(csqlite_busy_timeout(try opened(), busyTimeout))
        try execute(
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
            PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY
            """)
        try sync(commits)
        let isNew = try isNew(to: applicationID)
        guard csqlite_db_readonly(try opened()) == 0 else {
            throw .readOnly(path, openErrno)
        }
        // Freed pages are returned to the file system. Files created without this setting reuse their free pages.
        if isNew { try execute("PRAGMA auto_vacuum = FULL") }
        // Without support for a write-ahead log SQLite keeps its slower, equally safe rollback journal. A file without
        // syncs gets no log: once closed, it must be complete in itself.
        hasLog = commits != .none
        hasFormerLog = hasLog && (try? FileStatus(ofPath: path + "-wal").size) ?? 0 > 0
        try execute(
            "PRAGMA journal_mode = \(hasLog ? "WAL" : "MEMORY"); PRAGMA journal_size_limit = \(Self.keptLogBytes)")
        if hasLog { csqlite_note_checkpoints(try opened(), checkpointResult) }
        if isNew { try execute("PRAGMA application_id = \(applicationID)") }
    }

    /// Which part of a commit is on the disk when the commit returns.
    public enum CommitSync: String {
        case full = "FULL"
        /// The database stays sound, but its last commits may be lost.
        case normal = "NORMAL"
        /// Nothing. The creator of such a file syncs it before others rely on it.
        case none = "OFF"
    }

    /// Sets the syncs of later commits, unless the process syncs nothing.
    package func sync(_ commits: CommitSync) throws(DatabaseError) {
        try execute("PRAGMA synchronous = \(Durability.ofProcess == .full ? commits.rawValue : "OFF")")
    }

    // The log is cut back to this size when it starts over.
    private static let keptLogBytes = 16 << 20

    // One transaction, because another process may be creating the same file.
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

/// Compiled statements by their texts. These are long, few, and mostly of different lengths: the length is the hash.
private struct StatementCache {
    private static let most = 128
    private var slots: [[(sql: String, statement: Statement)]] = Array(repeating: [], count: 128)
    private var count = 0

    func idle(_ sql: String) -> Statement? {
        for kept in slots[sql.utf8.count & 127] where kept.sql == sql && !kept.statement.isBusy {
            return kept.statement
        }
        return nil
    }

    mutating func keep(_ statement: Statement, _ sql: String) {
        if count >= Self.most {
            for slot in slots.indices { slots[slot].removeAll { !$0.statement.isBusy } }
            count = slots.reduce(0) { $0 + $1.count }
        }
        slots[sql.utf8.count & 127].append((sql, statement))
        count += 1
    }
}
