import CSQLite

/// One step of a schema's history, never changed once it has been released.
public struct Migration: Sendable {
    /// What `user_version` is after the step; the first is 1 or more, and each is greater than the one before.
    public var version: Int32
    /// Any number of statements, without BEGIN and COMMIT.
    public var sql: String

    public init(version: Int32, sql: String) {
        self.version = version
        self.sql = sql
    }
}

extension Database {
    /// Whether the file has not seen the first step of any schema.
    public var isEmpty: Bool {
        get throws(DatabaseError) { try number("PRAGMA user_version") == 0 }
    }

    /// Takes the file through the steps that it has not seen, each in a transaction of its own.
    ///
    /// - Throws: a `DatabaseError`; its `finding` is `.newer` if the file has seen a step that is not in the list.
    public func migrate(_ migrations: [Migration]) throws {
        let versions = migrations.map(\.version)
        guard zip([0] + versions, versions).allSatisfy(<) else {
            throw DatabaseError(CSQLITE_MISUSE, "the migrations are out of order", path: path)
        }
        let newest = versions.last ?? 0
        let found = try number("PRAGMA user_version")
        guard found <= Int64(newest) else {
            let text = "made by a newer version: its schema is \(found), known here is up to \(newest)"
            throw DatabaseError(CSQLITE_ERROR, text, path: path, finding: .newer)
        }
        for migration in migrations where found < Int64(migration.version) { try apply(migration) }
    }

    // Asks again once nobody else can write: another process may have been first.
    private func apply(_ migration: Migration) throws {
        try transaction {
            guard try number("PRAGMA user_version") < Int64(migration.version) else { return }
            try execute(migration.sql)
            try execute("PRAGMA user_version = \(migration.version)")
        }
    }
}
