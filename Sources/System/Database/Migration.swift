import CSQLite

/// The tables of one module, in a file that modules may share.
public struct Schema: Sendable {
    public var name: String
    public var migrations: [Migration]

    public init(name: String, migrations: [Migration]) { (self.name, self.migrations) = (name, migrations) }
}

/// One migration step. Never changed after its release.
public struct Migration: Sendable {
    /// The version of the schema after the step: at least 1, and greater than in the step before.
    public var version: Int32
    /// Any number of statements, without BEGIN and COMMIT.
    public var sql: String

    public init(version: Int32, sql: String) { (self.version, self.sql) = (version, sql) }
}

// The table `schemas` contains the version of each schema. Earlier files have one version for all tables,
// `user_version`, up to 4: that version, stored under an empty name, applies to every schema without a row.
extension Database {
    /// The `user_version` of a file with the table `schemas`.
    private static let versionsInTable: Int64 = 5

    /// The file has no schema.
    public var isEmpty: Bool {
        get throws(DatabaseError) { try number("PRAGMA user_version") == 0 }
    }

    /// Applies the missing migrations, schema by schema, each in a transaction of its own.
    ///
    /// - Throws: a `DatabaseError`; its `finding` is `.newer` if the file has a step that is not in the list.
    public func migrate(_ schemas: [Schema]) throws { for schema in schemas { try migrate(schema) } }

    private func migrate(_ schema: Schema) throws {
        let versions = schema.migrations.map(\.version)
        guard zip([0] + versions, versions).allSatisfy(<) else {
            throw DatabaseError(CSQLITE_MISUSE, "the migrations are out of order", path: path)
        }
        let newest = versions.last ?? 0
        let found = try version(of: schema)
        guard found <= Int64(newest) else { throw newer("its schema is \(found), known here is up to \(newest)") }
        for migration in schema.migrations where found < Int64(migration.version) { try apply(migration, of: schema) }
    }

    // Checks again under the write lock: another process may have applied the migration meanwhile.
    private func apply(_ migration: Migration, of schema: Schema) throws {
        try transaction {
            guard try version(of: schema) < Int64(migration.version) else { return }
            let version = try number("PRAGMA user_version")
            if version < Self.versionsInTable {
                try execute(
                    """
                    CREATE TABLE schemas (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
                    INSERT INTO schemas VALUES ('', \(version));
                    PRAGMA user_version = \(Self.versionsInTable)
                    """)
            }
            try execute(migration.sql)
            try run(
                "INSERT OR REPLACE INTO schemas (name, version) VALUES (:name, :version)",
                ["name": .text(schema.name), "version": .integer(Int64(migration.version))])
        }
    }

    private func version(of schema: Schema) throws -> Int64 {
        let found = try number("PRAGMA user_version")
        if found < Self.versionsInTable { return found }
        guard found == Self.versionsInTable else { throw newer("its format is \(found)") }
        let sql = "SELECT version FROM schemas WHERE name IN (:name, '') ORDER BY name DESC"
        return try first(sql, ["name": .text(schema.name)]) { try $0.integer("version") } ?? 0
    }

    private func newer(_ how: String) -> DatabaseError {
        DatabaseError(CSQLITE_ERROR, "made by a newer version: \(how)", path: path, finding: .newer)
    }
}
