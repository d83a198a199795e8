import Database

extension Schema {
    /// The plan of one task over a folder. The table `folder` has one row, the task.
    static let folders = Schema(
        name: "folders",
        migrations: [
            Migration(
                version: 1,
                sql: """
                    CREATE TABLE folder (
                        id TEXT PRIMARY KEY, place TEXT NOT NULL, number INTEGER NOT NULL, began INTEGER NOT NULL,
                        request TEXT NOT NULL, stage TEXT NOT NULL, outcome TEXT, error TEXT, ended INTEGER,
                        counts TEXT) WITHOUT ROWID;
                    CREATE TABLE items (
                        number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, action TEXT NOT NULL,
                        state TEXT NOT NULL, size INTEGER NOT NULL, generation INTEGER, theirSize INTEGER, md5 BLOB,
                        crc32c INTEGER, inode INTEGER, changed INTEGER, error TEXT);
                    CREATE INDEX byState ON items (state, action, number, size);
                    CREATE TABLE directories (number INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
                    """),
            // The newest generation of the engine when the task began.
            Migration(version: 2, sql: "ALTER TABLE folder ADD COLUMN lastGeneration INTEGER;"),
            // The source of a copy, and the generation at its target.
            Migration(
                version: 3,
                sql: """
                    ALTER TABLE items ADD COLUMN source BLOB;
                    ALTER TABLE items ADD COLUMN replaced INTEGER;
                    CREATE INDEX bySource ON items (source) WHERE source IS NOT NULL;
                    """),
            // The moment of the last retry, and the newest generation of the engine at that moment.
            Migration(
                version: 4,
                sql: """
                    ALTER TABLE folder ADD COLUMN retried INTEGER;
                    ALTER TABLE folder ADD COLUMN retriedGeneration INTEGER;
                    """),
        ])
}
