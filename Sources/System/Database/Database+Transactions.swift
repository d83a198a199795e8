import CSQLite
import Platform

extension Database {
    /// Runs `body` in a transaction. The transaction is durable when this returns, and rolled back when `body` throws.
    ///
    /// Meanwhile other processes can read but not write. Transactions do not nest: an inner one throws. If the disk is
    /// full, `body` runs a second time. A transaction that frees room may use the reserve, if the database has one, and
    /// then does not fail for lack of room.
    @discardableResult public func transaction<T>(mayUseReserve: Bool = false, _ body: () throws -> T) throws -> T {
        var result: T?
        try transact(mayUseReserve) { result = try body() }
        return result.called
    }

    private func transact(_ mayUseReserve: Bool, _ body: () throws -> Void) throws {
        // While another connection reads the former log, later transactions try again: a wait could take seconds.
        if hasFormerLog, (try? withoutWaiting(startLogOver)) == true { hasFormerLog = false }
        if isLogDoubtful { try replaceLog() }
        do {
            return try write(mayUseReserve, body)
        } catch let error as DatabaseError where error.isFull && hasLog {
            // After a checkpoint the log starts over in the room that it already has.
            hasMovedLog = true
            if isLogDoubtful { try replaceLog() } else { try execute("PRAGMA wal_checkpoint(RESTART)") }
            return try write(mayUseReserve, body)
        }
    }

    /// Runs `body` in a read transaction: everything that it reads is one consistent snapshot. It may not write.
    public func snapshot<T>(_ body: () throws -> T) throws -> T {
        var result: T?
        try within("BEGIN") { result = try body() }
        return result.called
    }

    private func write(_ mayUseReserve: Bool, _ body: () throws -> Void) throws {
        var (size, frees) = (committedSize, false)
        try within("BEGIN IMMEDIATE") {
            (growth, mayHaveFreed) = (0, false)
            try body()
            frees = mayHaveFreed
            guard let reserve else { return }
            if let growth, committedSize > 0, reserve.hasRoom(for: committedSize + growth) {
                size = committedSize + growth
                return
            }
            size = try self.size
            if size > committedSize, let failure = reserve.grow(to: size, mayUseSpare: mayUseReserve) {
                throw DatabaseError.full(path, failure.code)
            }
        }
        commits &+= 1
        committedSize = size
        giveBack(freesRoom: mayUseReserve && frees)
    }

    /// Starts the log over.
    ///
    /// After a failed sync, systems count bytes as written that they have not written. A later sync of the log would then
    /// succeed, and a crash would lose earlier transactions of the log, and with them all later ones.
    private func replaceLog() throws {
        guard try startLogOver() else {
            throw DatabaseError(CSQLITE_BUSY, "the log is in use by another connection", path: path)
        }
        isLogDoubtful = false
    }

    /// Moves all that the log has to the file, so that the next change begins the log. Returns false if another
    /// connection uses the log.
    private func startLogOver() throws -> Bool {
        hasMovedLog = true
        return try noting { try first("PRAGMA wal_checkpoint(RESTART)") { try $0.integer("busy") == 0 } == true }
    }

    /// Notes whether the system has failed to write or sync while `body` has run.
    @discardableResult private func noting<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch {
            if hasLog, (error as? DatabaseError)?.isFailedWrite == true { isLogDoubtful = true }
            throw error
        }
    }

    /// Refills the reserve, and shrinks the file. A failure is retried after the next transaction.
    private func giveBack(freesRoom: Bool) {
        guard let reserve, freesRoom || hasMovedLog || !reserve.hasRoom(for: committedSize) else { return }
        hasMovedLog = false
        do {
            // A commit returns freed pages, but while there is room, the size before the commit is precise enough.
            if freesRoom || !reserve.isWhole(for: committedSize) { committedSize = try size }
            guard reserve.refill(committedSize) else { return }
            try noting { try execute("PRAGMA wal_checkpoint(PASSIVE)") }
            _ = reserve.refill(try size)
        } catch {
            // The transaction is committed; only the refill has failed.
            committedSize = 0
        }
    }

    private func within(_ begin: String, _ body: () throws -> Void) throws {
        try run(begin)
        do {
            try body()
            try noting { try run("COMMIT") }
            if checkpointResult.pointee != 0 {
                if DatabaseError.isFailedWrite(checkpointResult.pointee) { isLogDoubtful = true }
                (checkpointResult.pointee, hasMovedLog) = (0, true)
            }
        } catch {
            undo()
            throw error
        }
    }

    // Some errors, such as a full disk, have already rolled the transaction back. If it can be neither committed nor
    // rolled back, the connection is closed, so that later changes do not become part of it.
    private func undo() {
        endEra()
        guard !isIdle else { return }
        do { try run("ROLLBACK") } catch { abandon() }
    }
}

extension Optional {
    /// The result of a body that was called. The code around a call that stores its result is compiled once for all types
    /// of results.
    var called: Wrapped {
        guard let self else { preconditionFailure("The body was not called.") }
        return self
    }
}
