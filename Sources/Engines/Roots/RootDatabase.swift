import Database
import Dispatch
import Metrics
import Platform
import Storage
import Synchronization

/// The database of a root, on its own threads.
///
/// Writes that arrive during a commit share the next one. Reads have a connection and a thread of their own, so they do
/// not wait for the disk, and a long read does not delay writes.
package final class RootDatabase: Sendable {
    private let root: StorageRoot
    private let writer = SerialQueue(on: WorkerThreads("store"), Writer())
    private let reader = SerialQueue(on: WorkerThreads("reading"), Reader())
    private let isReady = DispatchSemaphore(value: 0)
    /// The error of opening the database, valid once `isReady` was signalled.
    private let failure = Mutex<StorageError?>(nil)
    private let pending = Mutex<[PendingWrite]>([])
    private let counter = Atomic<Int>(0)

    /// The present edition. All reads that begin in the same settled edition have the same answers.
    package var edition: Edition { Edition(number: counter.load(ordering: .acquiring)) }

    /// A state of the objects that reads see. A commit that changes objects begins an unsettled edition, and ends with
    /// a new settled one.
    package struct Edition: Equatable, Sendable {
        fileprivate let number: Int

        package static let none = Edition(number: -1)

        /// No change of objects is being committed.
        package var isSettled: Bool { number.isMultiple(of: 2) }
    }

    fileprivate struct Writer {
        var database: Result<Database, StorageError>?
        /// Commits do not wait for the disk.
        var isRelaxed = false
    }

    private struct Reader {
        var database: Database?
    }

    private final class PendingWrite {
        let isUrgent, mayUseReserve, changesObjects: Bool
        let apply: (Database) throws -> Void
        let finish: (StorageError?) -> Void

        init(
            isUrgent: Bool, mayUseReserve: Bool, changesObjects: Bool, apply: @escaping (Database) throws -> Void,
            finish: @escaping (StorageError?) -> Void
        ) {
            (self.isUrgent, self.mayUseReserve, self.changesObjects) = (isUrgent, mayUseReserve, changesObjects)
            (self.apply, self.finish) = (apply, finish)
        }
    }

    /// Starts to open the database. Later reads and writes wait for that.
    package init(_ root: StorageRoot, _ open: @escaping @Sendable () throws(StorageError) -> Database) {
        self.root = root
        writer.submit { [self] writer in
            do throws(StorageError) {
                writer.database = .success(try open())
            } catch {
                writer.database = .failure(error)
                failure.withLock { $0 = error }
            }
            isReady.signal()
        }
    }

    /// Waits until the database is open. Throws an error that names the file that failed.
    package func open() async throws(StorageError) {
        try await writer.run { writer throws(StorageError) in _ = try writer.opened() }
    }

    /// Closes the file. Later reads and writes fail.
    package func close() async {
        let closed = StorageError(.unknown, "The root \(root.path) is closed.")
        await writer.run { [self] writer in
            failure.withLock { $0 = closed }
            writer.database = .failure(closed)
            // The edition never becomes settled again.
            if edition.isSettled { counter.add(1, ordering: .sequentiallyConsistent) }
        }
        await reader.run { $0.database = nil }
    }

    // MARK: - Reading

    /// Reads a snapshot that includes all earlier writes. Throws `objectNotFound` or an error of the database.
    package func read<Answer: Sendable>(
        _ query: @escaping @Sendable (Database) throws -> Answer
    ) async throws(StorageError) -> Answer {
        try await withCheckedContinuation { waiter in read(query) { waiter.resume(returning: $0) } }.get()
    }

    /// Reads a snapshot that includes all earlier writes, and calls `finish` on the thread that reads.
    package func read<Answer>(
        _ query: @escaping @Sendable (Database) throws -> Answer,
        then finish: @escaping @Sendable (Result<Answer, StorageError>) -> Void
    ) {
        reader.submit { [self] reader in
            let answer: Result<Answer, StorageError>
            do {
                try root.check()
                let database = try opened(&reader)
                answer = .success(try database.snapshot { try query(database) })
            } catch {
                answer = .failure(.database(error))
            }
            finish(answer)
        }
    }

    private func opened(_ reader: inout Reader) throws -> Database {
        if let database = reader.database { return database }
        isReady.wait()
        isReady.signal()
        if let failure = failure.withLock({ $0 }) { throw failure }
        let database = try Database(path: root.database, applicationID: StorageRoot.applicationID)
        // In KiB: enough for the inner pages of the trees of a million objects.
        try database.execute("PRAGMA query_only = ON; PRAGMA cache_size = -8192")
        reader.database = database
        return database
    }

    // MARK: - Writing

    /// Returns when the change is durable, or, if it is not urgent, when it survives the process. A change that frees
    /// room or ends a task may use the reserve, and then does not fail for lack of room. `changesObjects` is false for
    /// a change that reads of objects do not see.
    package func write<Answer: Sendable>(
        isUrgent: Bool = true, mayUseReserve: Bool = false, changesObjects: Bool = true,
        _ change: @escaping @Sendable (Database) throws -> Answer
    ) async throws(StorageError) -> Answer {
        let answer = await withCheckedContinuation { waiter in
            write(isUrgent: isUrgent, mayUseReserve: mayUseReserve, changesObjects: changesObjects, change) {
                waiter.resume(returning: $0)
            }
        }
        return try answer.get()
    }

    /// Calls `finish` on the thread that writes when the change is durable. With `here` the change runs on the caller's
    /// thread, which must be allowed to block, unless another write is in progress.
    package func write<Answer: Sendable>(
        isUrgent: Bool = true, mayUseReserve: Bool = false, changesObjects: Bool = true, here: Bool = false,
        _ change: @escaping @Sendable (Database) throws -> Answer,
        then finish: @escaping @Sendable (Result<Answer, StorageError>) -> Void
    ) {
        let isFirst = pending.withLock { pending in
            pending.append(Self.pendingWrite(isUrgent, mayUseReserve, changesObjects, change, finish))
            return pending.count == 1
        }
        guard isFirst else { return }
        let commit: @Sendable (inout Writer) -> Void = { writer in self.commit(&writer) }
        if here { writer.submitHere(commit) } else { writer.submit(commit) }
    }

    private static func pendingWrite<Answer>(
        _ isUrgent: Bool, _ mayUseReserve: Bool, _ changesObjects: Bool,
        _ change: @escaping @Sendable (Database) throws -> Answer,
        _ finish: @escaping @Sendable (Result<Answer, StorageError>) -> Void
    ) -> PendingWrite {
        var answer: Answer?
        return PendingWrite(
            isUrgent: isUrgent, mayUseReserve: mayUseReserve, changesObjects: changesObjects,
            apply: { database in answer = try change(database) },
            finish: { error in
                if let error { return finish(.failure(error)) }
                guard let answer else {
                    return finish(.failure(StorageError(.internalError, "A write ended without a result.")))
                }
                finish(.success(answer))
            })
    }

    private func commit(_ writer: inout Writer) {
        let writes = pending.withLock { exchange(&$0, with: []) }
        if let error = failure(of: writes, &writer) {
            guard writes.count > 1 else { return writes.forEach { $0.finish(error) } }
            // The writes are retried one by one, so that a failing one does not fail the others.
            for write in writes { write.finish(failure(of: [write], &writer)) }
        } else {
            for write in writes { write.finish(nil) }
        }
    }

    private func failure(of writes: [PendingWrite], _ writer: inout Writer) -> StorageError? {
        do {
            let database = try writer.opened()
            try writer.relax(database, !writes.contains { $0.isUrgent })
            let changesObjects = writes.contains { $0.changesObjects }
            if changesObjects { counter.add(1, ordering: .sequentiallyConsistent) }
            defer { if changesObjects { counter.add(1, ordering: .sequentiallyConsistent) } }
            try ProcessMetrics.commits.time {
                try root.transaction(in: database, mayUseReserve: writes.allSatisfy(\.mayUseReserve)) {
                    for write in writes { try write.apply(database) }
                }
            }
            return nil
        } catch {
            return .database(error)
        }
    }
}

extension RootDatabase.Writer {
    fileprivate mutating func relax(_ database: Database, _ wanted: Bool) throws {
        guard wanted != isRelaxed else { return }
        try database.sync(wanted ? .normal : .full)
        isRelaxed = wanted
    }

    fileprivate func opened() throws(StorageError) -> Database {
        guard let database else { throw StorageError(.internalError, "The database is not open yet.") }
        return try database.get()
    }
}

extension StorageRoot {
    /// The text "sRPC".
    package static let applicationID: Int32 = 0x7352_5043

    /// Opens the database for writing, with these tables. `check` throws if a root without tables cannot be a new one;
    /// `recover` repairs the traces of a crash.
    package func openDatabase(
        _ schemas: [Schema], ifEmpty check: () throws -> Void = {}, recover: (Database) throws -> Void
    ) throws(StorageError) -> Database {
        do {
            try self.check()
            try makeDatabaseIfMissing(schemas, check)
            let database = try Database(path: self.database, applicationID: Self.applicationID)
            if try database.isEmpty { try check() }
            try database.keepReserve()
            // The names of the database and of its log, which is open now: SQLite ignores that their sync fails.
            try sync()
            try database.migrate(schemas)
            try recover(database)
            return database
        } catch let error as SystemError {
            throw unusable(error)
        } catch {
            throw .database(error)
        }
    }
}

extension StorageError {
    package static func database(_ error: any Error) -> StorageError {
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
