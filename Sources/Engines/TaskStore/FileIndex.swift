import Database
import Platform
import Roots
import Storage
import Synchronization

/// The checksums of local files, in the database `files.sqlite3` of the root. After any failure files are read again; a
/// damaged database is created anew.
///
/// A commit does not wait for the disk. After a loss of power rows may be missing, but existing ones were true when
/// they were written, and are compared with the file again.
final class FileIndex: FileChecksums {
    private struct State {
        var database: Database?
        /// The database could not be opened.
        var isBroken = false
    }

    static let name = "files.sqlite3"
    /// The maximum number of rows, of about 100 bytes each.
    static let mostFiles: Int64 = 1_000_000
    private let root: StorageRoot
    private let mostFiles: Int64
    private let time: TimeSource
    private let queue: SerialQueue<State>
    /// The checksums for the next transaction.
    private let waiting = Mutex<[FileStamp: Checksums]>([:])

    var now: Timestamp { time.now() }

    init(in root: StorageRoot, on threads: WorkerThreads, mostFiles: Int64 = mostFiles, time: TimeSource = .system) {
        (self.root, self.mostFiles, self.time) = (root, mostFiles, time)
        queue = SerialQueue(on: threads, State())
    }

    func known(_ files: [FileStamp]) async -> [FileStamp: Checksums] {
        await queue.run { state in
            var found: [FileStamp: Checksums] = [:]
            self.use(&state) { database in
                for file in files { found[file] = try database.checksums(of: file) }
            }
            return found
        }
    }

    func note(_ files: [FileStamp: Checksums]) {
        let isFirst = waiting.withLock { waiting in
            defer { waiting.merge(files) { $1 } }
            return waiting.isEmpty && !files.isEmpty
        }
        if isFirst { queue.submit { self.write(&$0) } }
    }

    /// Writes all noted checksums, then closes the file. Later uses find nothing.
    func close() async { await queue.run { ($0.database, $0.isBroken) = (nil, true) } }

    private func write(_ state: inout State) {
        let files = waiting.withLock { exchange(&$0, with: [:]) }
        use(&state) { [mostFiles, root] database in
            try database.transaction {
                for (file, checksums) in files { try database.note(file, checksums) }
                try database.dropOldest(keeping: mostFiles)
                try root.check()
            }
        }
    }

    private func use(_ state: inout State, _ body: (Database) throws -> Void) {
        guard !state.isBroken else { return }
        do {
            try root.check()
            try body(opened(&state))
        } catch {
            state.database = nil
            // A full disk may have room again later. Any other error may be due to a damaged file, so one attempt is
            // made with a new one.
            if (error as? DatabaseError)?.isFull == true { return }
            state.isBroken = !remove() || (try? opened(&state)) == nil
        }
    }

    private func opened(_ state: inout State) throws -> Database {
        if let database = state.database { return database }
        let path = "\(root.path)/\(Self.name)"
        let database = try Database(path: path, applicationID: StorageRoot.applicationID, isExclusive: true)
        try database.sync(.normal)
        // In KiB.
        try database.execute("PRAGMA cache_size = -4096")
        try database.migrate([.fileIndex])
        state.database = database
        return database
    }

    /// Removes the database; false if that fails.
    private func remove() -> Bool {
        guard (try? root.check()) != nil else { return false }
        for ending in [""] + FolderPlanFile.companions { _ = try? root.directory.remove(Self.name + ending) }
        return (try? root.directory.status(of: Self.name)) == nil
    }
}

extension Schema {
    /// Rows are numbered in the order of their age.
    fileprivate static let fileIndex = Schema(
        name: "files",
        migrations: [
            Migration(
                version: 1,
                sql: """
                    CREATE TABLE files (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, device INTEGER NOT NULL, inode INTEGER NOT NULL,
                        size INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL, md5 BLOB,
                        crc32c INTEGER, UNIQUE (device, inode));
                    """)
        ])
}

extension Database {
    fileprivate func checksums(of file: FileStamp) throws -> Checksums? {
        try first(
            """
            SELECT md5, crc32c FROM files WHERE device = :device AND inode = :inode AND size = :size
                AND modified = :modified AND changed = :changed
            """, file.values
        ) { row in try row.checksums }
    }

    fileprivate func note(_ file: FileStamp, _ checksums: Checksums) throws {
        try run(
            """
            INSERT OR REPLACE INTO files (device, inode, size, modified, changed, md5, crc32c)
            VALUES (:device, :inode, :size, :modified, :changed, :md5, :crc32c)
            """, file.values + .checksums(checksums))
    }

    fileprivate func dropOldest(keeping most: Int64) throws {
        try run(
            "DELETE FROM files WHERE number <= (SELECT max(number) FROM files) - :most", ["most": .integer(most)])
    }
}

extension FileStamp {
    fileprivate var values: Values {
        [
            "device": .integer(Int64(bitPattern: device)), "inode": .integer(Int64(bitPattern: inode)),
            "size": .integer(size), "modified": .integer(modified), "changed": .integer(changed),
        ]
    }
}
