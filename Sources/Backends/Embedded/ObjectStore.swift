import Database
import Dispatch
import EventLoop
import Glibc
import Storage
import Synchronization

/// The embedded engine's database, on threads of its own where it may block.
///
/// Writes that come in while one commit is under way share the next one. Reads have a connection and a thread to
/// themselves, so neither do they wait for the disk, nor does a long one hold up who writes.
final class ObjectStore: Sendable {
    private let thread = WorkerThreads("store")
    private let readingThread = WorkerThreads("reading")
    private let root: Root
    private let isReady = DispatchSemaphore(value: 0)
    private let pending = Mutex<[PendingWrite]>([])
    /// Touched on the thread alone.
    private nonisolated(unsafe) var database: Result<Database, StorageError>?
    /// Touched on the reading thread alone.
    private nonisolated(unsafe) var readingDatabase: Database?

    /// Touched on the thread alone: commits do not wait for the disk.
    private nonisolated(unsafe) var isRelaxed = false

    private struct PendingWrite {
        var isUrgent: Bool
        var mayUseReserve: Bool
        var apply: (Database) throws -> Void
        var finish: (StorageError?) -> Void
    }

    /// Begins to open the database at once: whatever is asked of the store comes after that. `complain` is told, in a
    /// sentence, what is wrong with the root though it can be used.
    init(_ root: Root, complain: @escaping @Sendable (String) -> Void = { _ in }) {
        self.root = root
        thread.submit { [self] in
            database = Result { () throws(StorageError) in try Self.openAndSweep(root, complain: complain) }
            isReady.signal()
        }
    }

    /// Returns once the database is open, and what a crash has left is swept up. Throws a sentence that names the file.
    func open() async throws(StorageError) {
        let opened = await thread.run { [self] in Result { () throws(StorageError) in _ = try self.opened() } }
        try opened.get()
    }

    static func openAndSweep(
        _ root: Root, complain: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StorageError) -> Database {
        do {
            try root.check()
            let database = try Database(path: root.database, applicationID: Schema.applicationID)
            guard try !database.isEmpty || !root.hasObjects else { throw StorageError.lost(root) }
            try database.keepReserve()
            try database.migrate(Schema.migrations)
            try root.recordEnds(in: database)
            try Sweep(root: root, database: database, complain: complain).run()
            return database
        } catch {
            throw .database(error)
        }
    }

    // MARK: - Reading

    /// All that was written before, as it was in one moment. Throws `objectNotFound`, or what the database says.
    func read<Answer: Sendable>(
        _ query: @escaping @Sendable (Database) throws -> Answer
    ) async throws(StorageError) -> Answer {
        let answer = await readingThread.run { [self] in
            Result {
                try root.check()
                let database = try openedForReading()
                return try database.snapshot { try query(database) }
            }.mapError { StorageError.database($0) }
        }
        return try answer.get()
    }

    private func openedForReading() throws -> Database {
        if let readingDatabase { return readingDatabase }
        isReady.wait()
        isReady.signal()
        _ = try opened()
        let database = try Database(path: root.database, applicationID: Schema.applicationID)
        try database.execute("PRAGMA query_only = ON")
        readingDatabase = database
        return database
    }

    // MARK: - Writing

    /// Returns when the change is on the disk; one that is not urgent when it outlives the process. What frees room, or
    /// says that a task has ended, may use the reserve: then it does not fail for want of room.
    func write<Answer: Sendable>(
        isUrgent: Bool = true, mayUseReserve: Bool = false, _ change: @escaping @Sendable (Database) throws -> Answer
    ) async throws(StorageError) -> Answer {
        let answer = await withCheckedContinuation { waiter in
            write(isUrgent: isUrgent, mayUseReserve: mayUseReserve, change) { waiter.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// Tells, on the store's thread, when the change is on the disk.
    func write<Answer: Sendable>(
        isUrgent: Bool = true, mayUseReserve: Bool = false, _ change: @escaping @Sendable (Database) throws -> Answer,
        then finish: @escaping @Sendable (Result<Answer, StorageError>) -> Void
    ) {
        let isFirst = pending.withLock { pending in
            pending.append(Self.pendingWrite(isUrgent, mayUseReserve, change, finish))
            return pending.count == 1
        }
        if isFirst { thread.submit { [self] in commit() } }
    }

    private static func pendingWrite<Answer>(
        _ isUrgent: Bool, _ mayUseReserve: Bool, _ change: @escaping @Sendable (Database) throws -> Answer,
        _ finish: @escaping @Sendable (Result<Answer, StorageError>) -> Void
    ) -> PendingWrite {
        var answer: Answer?
        return PendingWrite(isUrgent: isUrgent, mayUseReserve: mayUseReserve) { database in
            answer = try change(database)
        } finish: { error in
            let missing = StorageError(.internalError, "A write ended without a result.")
            finish(answer.map { error.map(Result.failure) ?? .success($0) } ?? .failure(error ?? missing))
        }
    }

    private func commit() {
        let writes = pending.withLock { exchange(&$0, with: []) }
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
            try relax(database, !writes.contains { $0.isUrgent })
            try root.check()
            try database.transaction(mayUseReserve: writes.allSatisfy(\.mayUseReserve)) {
                for write in writes { try write.apply(database) }
            }
            return nil
        } catch {
            return .database(error)
        }
    }

    private func relax(_ database: Database, _ wanted: Bool) throws {
        guard wanted != isRelaxed else { return }
        try database.execute("PRAGMA synchronous = \(wanted ? "NORMAL" : "FULL")")
        isRelaxed = wanted
    }

    private func opened() throws(StorageError) -> Database {
        guard let database else { throw StorageError(.internalError, "The database is not open yet.") }
        return try database.get()
    }
}

extension StorageError {
    fileprivate static func lost(_ root: Root) -> StorageError {
        StorageError(
            .unknown,
            """
            The database \(root.database) is empty, but there are bytes of objects in \(root.objects): \
            put the database back, or move them away.
            """)
    }

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
