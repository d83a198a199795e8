import Database
import EventLoop
import Glibc
import Storage

/// The embedded engine's database, on a thread of its own where it may block.
///
/// Writes that come in while one commit is under way share the next one.
actor ObjectStore {
    private nonisolated let thread = WorkerThreads("store")
    private let root: Root
    private var database: Result<Database, StorageError>?
    private var pending: [PendingWrite] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private struct PendingWrite {
        var apply: (Database) throws -> Void
        var finish: (StorageError?) -> Void
    }

    init(_ root: Root) { self.root = root }

    /// Opens the database and sweeps up what a crash has left. Throws a sentence that names the file.
    func open() throws(StorageError) {
        let opened = Result { () throws(StorageError) in try openAndSweep() }
        database = opened
        _ = try opened.get()
    }

    private func openAndSweep() throws(StorageError) -> Database {
        do {
            let database = try Database(path: root.database, applicationID: Schema.applicationID)
            try database.migrate(Schema.migrations)
            var leftovers: [Int64] = []
            try database.rows("SELECT id FROM files WHERE state <> 1") { leftovers.append(try $0.integer(0)) }
            guard !leftovers.isEmpty else { return database }
            for file in leftovers { unlink(root.object(file)) }
            try database.run("DELETE FROM files WHERE state <> 1")
            return database
        } catch {
            throw .database(error)
        }
    }

    // MARK: - Reading

    /// Throws `objectNotFound`, or what the database says.
    func read<Result>(_ query: (Database) throws -> Result) throws(StorageError) -> Result {
        do { return try query(try opened()) } catch { throw .database(error) }
    }

    // MARK: - Writing

    /// Returns when the change is on the disk.
    func write<Result: Sendable>(
        _ change: @escaping @Sendable (Database) throws -> Result
    ) async throws(StorageError) -> Result {
        let outcome: Swift.Result<Result, StorageError> = await withCheckedContinuation { waiter in
            var result: Result?
            let write = PendingWrite { database in
                result = try change(database)
            } finish: { error in
                let missing = StorageError(.internalError, "A write ended without a result.")
                waiter.resume(
                    returning: result.map { error.map(Swift.Result.failure) ?? .success($0) }
                        ?? .failure(error ?? missing))
            }
            pending.append(write)
            if pending.count == 1 { Task { commit() } }
        }
        return try outcome.get()
    }

    private func commit() {
        let writes = pending
        pending = []
        if let error = failure(of: writes) {
            guard writes.count > 1 else { return writes.forEach { $0.finish(error) } }
            // One that fails must not take the others along.
            for write in writes { write.finish(failure(of: [write])) }
        } else {
            for write in writes { write.finish(nil) }
        }
    }

    private func failure(of writes: [PendingWrite]) -> StorageError? {
        do {
            let database = try opened()
            try database.transaction { for write in writes { try write.apply(database) } }
            return nil
        } catch {
            return .database(error)
        }
    }

    private func opened() throws(StorageError) -> Database {
        guard let database else { throw StorageError(.internalError, "The database is not open yet.") }
        return try database.get()
    }
}

extension StorageError {
    static func database(_ error: any Error) -> StorageError {
        switch error {
        case let error as StorageError: error
        case let error as DatabaseError where error.isFull:
            StorageError(.quotaExceeded, "There is no room left for the database: \(error).")
        case let error as DatabaseError where error.isReadOnly:
            StorageError(.unauthorized, "The database may not be written: \(error).")
        default: StorageError(.unknown, "The database failed: \(error).")
        }
    }
}
