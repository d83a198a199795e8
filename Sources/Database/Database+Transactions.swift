import Platform

extension Database {
    /// Runs `body` in a transaction. The transaction is durable when this returns, and rolled back when `body` throws.
    ///
    /// Other processes can read meanwhile but not write. Transactions do not nest: an inner one throws. If the disk is
    /// full, `body` runs a second time. A transaction that frees room may use the reserve, where there is one; then it
    /// does not fail for lack of room.
    @discardableResult public func transaction<T>(mayUseReserve: Bool = false, _ body: () throws -> T) throws -> T {
        let (result, size): (T, Int64)
        do {
            (result, size) = try write(mayUseReserve, body)
        } catch let error as DatabaseError where error.isFull {
            // A checkpoint lets the log start over in the room it already has.
            try execute("PRAGMA wal_checkpoint(RESTART)")
            (result, size) = try write(mayUseReserve, body)
        }
        giveBack(size)
        return result
    }

    /// Runs `body` in a read transaction: everything that it reads is one consistent snapshot. It may not write.
    public func snapshot<T>(_ body: () throws -> T) throws -> T { try within("BEGIN", body) }

    /// Returns the size of the file as well; 0 without a reserve.
    private func write<T>(_ mayUseReserve: Bool, _ body: () throws -> T) throws -> (T, Int64) {
        try within("BEGIN IMMEDIATE") {
            guard let reserve else { return (try body(), 0) }
            let before = try size
            let result = try body()
            let after = try size
            if after > before, let failure = reserve.grow(to: after, mayUseSpare: mayUseReserve) {
                throw DatabaseError.full(path, failure.code)
            }
            return (result, after)
        }
    }

    /// Refills the reserve, and shrinks the file. A failure is retried after the next transaction.
    private func giveBack(_ size: Int64) {
        guard let reserve else { return }
        do {
            guard reserve.refill(size) else { return }
            try execute("PRAGMA wal_checkpoint(PASSIVE)")
            _ = reserve.refill(try self.size)
        } catch {
            // The transaction is committed; only the refill failed.
        }
    }

    /// The size in bytes, including the pages of the current transaction. The file may still be smaller.
    private var size: Int64 { get throws(DatabaseError) { try number("PRAGMA page_count") * pageSize } }

    private func within<T>(_ begin: String, _ body: () throws -> T) throws -> T {
        try run(begin)
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            undo()
            throw error
        }
    }

    // Some errors, such as a full disk, have already rolled the transaction back. If it can be neither committed nor
    // rolled back, the connection is closed, so that later changes do not become part of it.
    private func undo() {
        guard !isIdle else { return }
        do { try run("ROLLBACK") } catch { abandon() }
    }
}
