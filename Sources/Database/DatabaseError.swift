import CSQLite
import Platform

/// What went wrong with which database, in SQLite's words and numbers where SQLite was asked.
public struct DatabaseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the error is, when it is this room's finding and not SQLite's.
    public enum Finding: Sendable, Equatable {
        /// No usable SQLite library on this machine.
        case libraryMissing
        /// A good SQLite file, made by another program.
        case foreign
        /// Made by a newer version of this program: its `user_version` is beyond the last migration.
        case newer
    }

    /// SQLite's primary result code.
    public var code: Int32
    /// SQLite's extended result code; its low byte is the primary one.
    public var extendedCode: Int32
    public var message: String
    /// The database file, as it was given.
    public var path: String
    /// The system's errno behind a failed open, read or write; 0 if there was none.
    public var systemErrno: Int32 = 0
    public var finding: Finding?

    public var description: String {
        let number = finding == nil ? " (SQLite \(extendedCode))" : ""
        // Where a file cannot be opened for writing, SQLite tries to read it, and only that one's errno is known.
        let isKnown =
            systemErrno != 0 && !(code == CSQLITE_CANTOPEN.code && SystemError(code: systemErrno) == .notFound)
        let cause = isKnown ? ": \(SystemError(code: systemErrno).reason)" : ""
        return "\(path): \(message)\(cause)\(number)"
    }

    /// No room left on the disk, in the user's quota, or within the limit of a file's size.
    public var isFull: Bool { code == CSQLITE_FULL.code || SystemError(code: systemErrno).isFull }
    /// The file is damaged, or no SQLite database at all.
    public var isCorrupt: Bool { code == CSQLITE_CORRUPT.code || code == CSQLITE_NOTADB.code }
    /// Somebody else held the file for longer than the busy timeout.
    public var isBusy: Bool { code == CSQLITE_BUSY.code || code == CSQLITE_LOCKED.code }
    public var isReadOnly: Bool { code == CSQLITE_READONLY.code }
    /// The system failed to open, read, write or sync the file.
    public var isIO: Bool { code == CSQLITE_IOERR.code || code == CSQLITE_CANTOPEN.code }
}

extension DatabaseError {
    init(_ result: csqlite_result, _ message: String, path: String, finding: Finding? = nil) {
        self.init(code: result.code, extendedCode: result.code, message: message, path: path, finding: finding)
    }

    /// What the connection says about its last call, which returned `result`.
    init(result: Int32, connection: OpaquePointer, path: String) {
        let isLast = csqlite_extended_errcode(connection) == result
        let cause = csqlite_system_errno()
        // What the disk did not hand out is not known to be damaged.
        let result =
            result & 0xFF == CSQLITE_CORRUPT.code && SystemError(code: cause) == .inputOutput
            ? CSQLITE_IOERR.code : result
        let text = isLast ? csqlite_errmsg(connection) : csqlite_errstr(result)
        self.init(
            code: result & 0xFF, extendedCode: result,
            message: text.map { String(cString: $0) } ?? "unknown error", path: path,
            systemErrno: Self.isSystemCall(result) ? cause : 0)
    }

    static func full(_ path: String, _ systemErrno: Int32) -> Self {
        var error = Self(CSQLITE_FULL, "database or disk is full", path: path)
        error.systemErrno = systemErrno
        return error
    }

    static func libraryMissing(_ reason: String, path: String) -> Self {
        let advice = """
            SQLite is not on this machine (\(reason)): install the package libsqlite3-0 (Debian, Ubuntu), \
            sqlite-libs (Fedora, Alpine) or sqlite (Arch)
            """
        return Self(CSQLITE_ERROR, advice, path: path, finding: .libraryMissing)
    }

    // Others may have come after a system call that failed, as many do while all goes well.
    private static func isSystemCall(_ result: Int32) -> Bool {
        [CSQLITE_IOERR, CSQLITE_CANTOPEN, CSQLITE_FULL].contains { $0.code == result & 0xFF }
    }
}

extension csqlite_result {
    var code: Int32 { Int32(bitPattern: rawValue) }
}
