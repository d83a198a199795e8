import Platform

extension Database {
    /// Does all of `body` or nothing: it is committed, on the disk, when this returns, and undone when it throws.
    ///
    /// Other processes may read meanwhile and not write. Transactions do not nest: an inner one throws. Where the disk
    /// is full `body` runs once more. One that frees room in the end may use the reserve, where there is one: then it
    /// does not fail for want of room.
    @discardableResult
    public func transaction<T>(mayUseReserve: Bool = false, _ body: () throws -> T) throws -> T {
        let result: T
        do {
            result = try write(mayUseReserve, body)
        } catch let error as DatabaseError where error.isFull {
            // Then the log starts over, in the room that it has.
            try execute("PRAGMA wal_checkpoint(RESTART)")
            result = try write(mayUseReserve, body)
        }
        giveBack()
        return result
    }

    /// All that `body` reads is as it was in one moment, whoever writes meanwhile. It may not write.
    public func snapshot<T>(_ body: () throws -> T) throws -> T { try within("BEGIN", body) }

    private func write<T>(_ mayUseReserve: Bool, _ body: () throws -> T) throws -> T {
        try within("BEGIN IMMEDIATE") {
            guard let reserve else { return try body() }
            let before = try size
            let result = try body()
            let after = try size
            if after > before, let failure = reserve.grow(to: after, mayUseSpare: mayUseReserve) {
                throw DatabaseError.full(path, failure.code)
            }
            return result
        }
    }

    /// Refills the reserve, and lets the file become as small as it can be. What fails is tried again after the next
    /// transaction.
    private func giveBack() {
        guard let reserve else { return }
        do {
            guard reserve.refill(try size) else { return }
            try execute("PRAGMA wal_checkpoint(PASSIVE)")
            _ = reserve.refill(try size)
        } catch {
            // The transaction itself has been committed.
        }
    }

    /// In bytes, with what the present transaction adds; the file may be smaller still.
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

    // Some errors (a full disk, say) have undone the transaction already. If it can be neither committed nor
    // undone, the connection goes: what comes later must not become part of it.
    private func undo() {
        guard !isIdle else { return }
        do { try run("ROLLBACK") } catch { abandon() }
    }
}
