extension Database {
    /// Does all of `body` or nothing: it is committed, on the disk, when this returns, and undone when it throws.
    ///
    /// Other processes may read meanwhile and not write. Transactions do not nest: an inner one throws.
    @discardableResult
    public func transaction<T>(_ body: () throws -> T) throws -> T { try within("BEGIN IMMEDIATE", body) }

    /// All that `body` reads is as it was in one moment, whoever writes meanwhile. It may not write.
    public func snapshot<T>(_ body: () throws -> T) throws -> T { try within("BEGIN", body) }

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
