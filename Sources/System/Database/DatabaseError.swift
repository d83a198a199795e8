import CSQLite
import Platform

/// An error of a database, with the codes and the message of SQLite where SQLite reported it.
public struct DatabaseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of an error that SQLite does not report itself.
    public enum Finding: Sendable, Equatable {
        case libraryMissing
        case foreign
        /// Created by a newer version of this program: its `user_version` is beyond the last migration.
        case newer
    }

    public var code: Int32
    /// SQLite's extended result code; its low byte is the primary one.
    public var extendedCode: Int32
    public var message: String
    /// The path of the database file, as the caller gave it.
    public var path: String
    /// The errno of a failed open, read or write; 0 if there was none.
    public var systemErrno: Int32 = 0
    public var finding: Finding?

    public var description: String {
        let number = finding == nil ? " (SQLite \(extendedCode))" : ""
        // SQLite retries a failed open as read-only, so the errno belongs to the second attempt.
        let isKnown =
            systemErrno != 0 && !(code == CSQLITE_CANTOPEN.code && SystemError(code: systemErrno) == .notFound)
        let cause = isKnown ? ": \(SystemError(code: systemErrno).reason)" : ""
        return "\(path): \(message)\(cause)\(number)"
    }

    /// No room left on the disk, in the user's quota, or within the limit of a file's size.
    public var isFull: Bool { code == CSQLITE_FULL.code || SystemError(code: systemErrno).isFull }
    public var isCorrupt: Bool { code == CSQLITE_CORRUPT.code || code == CSQLITE_NOTADB.code }
    /// Another connection held the lock for longer than the busy timeout.
    public var isBusy: Bool { code == CSQLITE_BUSY.code || code == CSQLITE_LOCKED.code }
    public var isReadOnly: Bool { code == CSQLITE_READONLY.code }
    /// The system failed to open, read, write or sync the file.
    public var isIO: Bool { code == CSQLITE_IOERR.code || code == CSQLITE_CANTOPEN.code }
    /// The system failed to write or sync the file.
    var isFailedWrite: Bool { Self.isFailedWrite(extendedCode) }

    static func isFailedWrite(_ extendedCode: Int32) -> Bool {
        let (read, shortRead) = (CSQLITE_IOERR.code | 1 << 8, CSQLITE_IOERR.code | 2 << 8)
        return extendedCode & 0xFF == CSQLITE_IOERR.code && extendedCode != read && extendedCode != shortRead
    }
}

extension DatabaseError {
    init(_ result: csqlite_result, _ message: String, path: String, finding: Finding? = nil) {
        self.init(code: result.code, extendedCode: result.code, message: message, path: path, finding: finding)
    }

    /// The connection's error for its last call, which returned `result`.
    init(result: Int32, connection: OpaquePointer, path: String) {
        let isLast = csqlite_extended_errcode(connection) == result
        let cause = csqlite_system_errno()
        // A page that cannot be read is not known to be damaged.
        let result =
            result & 0xFF == CSQLITE_CORRUPT.code && SystemError(code: cause) == .inputOutput
            ? CSQLITE_IOERR.code : result
        let text = isLast ? csqlite_errmsg(connection) : csqlite_errstr(result)
        self.init(
            code: result & 0xFF, extendedCode: result, message: text.map { String(cString: $0) } ?? "unknown error",
            path: path, systemErrno: Self.isSystemCall(result) ? cause : 0)
    }

    static func full(_ path: String, _ systemErrno: Int32) -> Self {
        var error = Self(CSQLITE_FULL, "database or disk is full", path: path)
        error.systemErrno = systemErrno
        return error
    }

    /// SQLite has opened the file read-only, as it does after any failure to open it for writing.
    static func readOnly(_ path: String, _ openErrno: Int32) -> Self {
        let isRefused = [SystemError(code: 0), .denied, .notPermitted, .readOnlyFileSystem].contains(
            SystemError(code: openErrno))
        var error =
            isRefused
            ? Self(CSQLITE_READONLY, "the file may not be written", path: path)
            : Self(CSQLITE_CANTOPEN, "the file cannot be opened for writing", path: path)
        error.systemErrno = openErrno
        return error
    }

    static func libraryMissing(_ reason: String, path: String) -> Self {
        let advice = """
            SQLite is not on this machine (\(reason)): install the package libsqlite3-0 (Debian, Ubuntu), \
            sqlite-libs (Fedora, Alpine) or sqlite (Arch)
            """
        return Self(CSQLITE_ERROR, advice, path: path, finding: .libraryMissing)
    }

    // Other results leave the errno of an earlier, handled failure.
    private static func isSystemCall(_ result: Int32) -> Bool {
        [CSQLITE_IOERR, CSQLITE_CANTOPEN, CSQLITE_FULL].contains { $0.code == result & 0xFF }
    }
}

extension csqlite_result {
    var code: Int32 { Int32(bitPattern: rawValue) }
}
