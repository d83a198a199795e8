import Database
import Platform
import Roots
import Storage

/// Copies a root, which a service may be using, to a directory that becomes a root of its own: a backup, a snapshot, or
/// the root of a space that is reset to a snapshot.
struct RootCopy {
    private let (root, copy): (String, String)
    private var database: String { "\(copy)/\(StorageRoot.databaseName)" }

    /// The maximum number of copies of the database. A copy is repeated if it names a file that was deleted before it
    /// could be linked.
    private static let attempts = 100

    init(_ root: String, to copy: String) { (self.root, self.copy) = (Self.canonical(root), Self.canonical(copy)) }

    /// The path of a directory without links, because SQLite follows none.
    private static func canonical(_ path: String) -> String {
        (try? OpenFile(path, .directory))?.location ?? path
    }

    /// Copies the root. Blocks. Returns the number of objects and their bytes.
    ///
    /// Files of objects never change, and numbers are never reused. All existing files are linked first, so that few of
    /// those that the copied database names can be missing.
    ///
    /// - Parameter isInUse: false for a root that does not change, so that its database is copied as a file.
    @discardableResult
    func make(isInUse: Bool = true) throws -> (objects: Int64, bytes: Int64) {
        for name in ["objects", "spool"] {
            try FileSystem.makeDirectories("\(copy)/\(name)")
            for file in (try? OpenFile.entries(of: "\(root)/\(name)")) ?? [] {
                try link("\(name)/\(file.name)")
            }
        }
        let source = "\(root)/\(StorageRoot.databaseName)"
        for _ in 0..<Self.attempts {
            if isInUse {
                try Database(path: source, applicationID: StorageRoot.applicationID)
                    .rows("VACUUM INTO :copy", ["copy": .text(database)]) { _ in }
            } else {
                try FileSystem.copy(source, to: database)
            }
            if let totals = try complete() { return totals }
            try remove(database)
        }
        throw StorageError(.unknown, "\(root) changes too fast for a copy.")
    }

    /// Links the files that the copied database names, and removes all others. Nil if a file is missing.
    private func complete() throws -> (objects: Int64, bytes: Int64)? {
        let copied = try Database(path: database, applicationID: StorageRoot.applicationID)
        var (isComplete, isNamed): (Bool, Set<Int64>) = (true, [])
        let states = ObjectSchema.FileState.self
        try copied.rows(
            "SELECT id, state FROM files WHERE state = :stored OR state = :beingWritten AND task IS NOT NULL",
            ["stored": states.stored.value, "beingWritten": states.beingWritten.value]
        ) { row in
            let id = try row.integer("id")
            isNamed.insert(id)
            if try row.integer("state") == states.stored.rawValue {
                isComplete = try link("objects/\(id)") && isComplete
            } else {
                // The file changes when the upload continues, so it is copied.
                FileSystem.remove("\(copy)/objects/\(id)")
                try? FileSystem.copy("\(root)/objects/\(id)", to: "\(copy)/objects/\(id)")
            }
        }
        guard isComplete else { return nil }
        for name in try OpenFile.entries(of: "\(copy)/objects").map(\.name) {
            if Int64(name).map({ !isNamed.contains($0) }) ?? true { try remove("\(copy)/objects/\(name)") }
        }
        var totals: (objects: Int64, bytes: Int64) = (0, 0)
        try copied.rows("SELECT count(*) AS objects, coalesce(sum(size), 0) AS bytes FROM objects") { row in
            totals = (try row.integer("objects"), try row.integer("bytes"))
        }
        return totals
    }

    private func remove(_ path: String) throws(StorageError) {
        guard FileSystem.remove(path) else { throw StorageError(.unknown, "\(path) cannot be removed.") }
    }

    /// Links a file, or copies it to another file system. False if it is missing.
    @discardableResult
    private func link(_ name: String) throws -> Bool {
        let (from, to) = ("\(root)/\(name)", "\(copy)/\(name)")
        guard !FileSystem.exists(to) else { return true }
        do throws(SystemError) { try OpenFile.link(from, to: to) } catch {
            guard error != .notFound else { return false }
            do throws(SystemError) { try FileSystem.copy(from, to: to) } catch {
                guard !FileSystem.exists(from) else { throw error }
                FileSystem.remove(to)
                return false
            }
        }
        return true
    }
}

extension StorageError {
    /// The error of a copy that failed.
    static func copying(_ root: String, to copy: String, _ error: any Error) -> StorageError {
        switch error {
        case let error as StorageError: error
        case let error as DatabaseError: .database(error)
        case let error as SystemError:
            StorageError(.unknown, "\(root) cannot be copied to \(copy): \(error.reason)")
        default: StorageError(.unknown, "\(root) cannot be copied to \(copy): \(error)")
        }
    }
}
