import Database

extension Schema {
    /// The table of tasks. Engines may add columns of their own to it.
    package static let tasks = Schema(
        name: "tasks",
        migrations: [
            Migration(
                version: 2,
                sql: """
                    CREATE TABLE tasks (
                        id TEXT PRIMARY KEY, place TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL,
                        bucket TEXT NOT NULL, name BLOB NOT NULL, completed INTEGER NOT NULL, total INTEGER,
                        request TEXT, bookmark TEXT,
                        cacheControl TEXT, contentDisposition TEXT, contentEncoding TEXT, contentLanguage TEXT,
                        contentType TEXT, customMetadata TEXT, md5Hash TEXT,
                        ended INTEGER, outcome TEXT, error TEXT, generation INTEGER, metageneration INTEGER,
                        timeCreated INTEGER, updated INTEGER, md5 BLOB, crc32c INTEGER) WITHOUT ROWID;
                    CREATE INDEX unfinished ON tasks (id) WHERE ended IS NULL;
                    """),
            Migration(version: 4, sql: "ALTER TABLE tasks ADD COLUMN began INTEGER NOT NULL DEFAULT 0;"),
        ])
}
