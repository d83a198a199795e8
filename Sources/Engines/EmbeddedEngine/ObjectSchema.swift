import Database

/// The embedded engine's tables.
///
/// The row of a file is inserted before the file is created, so every file that a crash leaves has a row. A file
/// without a row means that the database has lost its newest changes: the start inserts a row for it and sweeps the
/// file.
enum ObjectSchema {
    /// To be applied after `Schema.tasks`.
    static let schema = Schema(name: "objects", migrations: migrations)

    private static let migrations = [
        Migration(
            version: 1,
            sql: """
                CREATE TABLE counters (generation INTEGER NOT NULL);
                INSERT INTO counters VALUES (0);
                CREATE TABLE buckets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL);
                CREATE INDEX unwanted ON files (state) WHERE state <> 1;
                CREATE TABLE objects (
                    bucket INTEGER NOT NULL, name BLOB NOT NULL,
                    generation INTEGER NOT NULL, metageneration INTEGER NOT NULL, size INTEGER NOT NULL,
                    timeCreated INTEGER NOT NULL, updated INTEGER NOT NULL, md5 BLOB NOT NULL, crc32c INTEGER NOT NULL,
                    cacheControl TEXT, contentDisposition TEXT, contentEncoding TEXT, contentLanguage TEXT,
                    contentType TEXT, downloadTokens TEXT NOT NULL, file INTEGER,
                    PRIMARY KEY (bucket, name)) WITHOUT ROWID;
                CREATE TABLE customMetadata (
                    generation INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
                    PRIMARY KEY (generation, key)) WITHOUT ROWID;
                CREATE TABLE bodies (generation INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
                """),
        Migration(version: 2, sql: "ALTER TABLE files ADD COLUMN task TEXT;"),
        // The generation that the file belongs to; NULL in rows from before this column.
        Migration(version: 3, sql: "ALTER TABLE files ADD COLUMN generation INTEGER;"),
        // Objects that are stored after a task was created have a generation greater than its `lastGeneration`.
        Migration(version: 4, sql: "ALTER TABLE tasks ADD COLUMN lastGeneration INTEGER NOT NULL DEFAULT 0;"),
        Migration(
            version: 5,
            sql: """
                CREATE TRIGGER began AFTER INSERT ON tasks BEGIN
                    UPDATE tasks SET lastGeneration = (SELECT generation FROM counters) WHERE id = new.id;
                END;
                """),
        // A task that is recorded only at its end needs no `lastGeneration`.
        Migration(
            version: 6,
            sql: """
                DROP TRIGGER began;
                CREATE TRIGGER began AFTER INSERT ON tasks WHEN new.ended IS NULL BEGIN
                    UPDATE tasks SET lastGeneration = (SELECT generation FROM counters) WHERE id = new.id;
                END;
                """),
        // Copies share a file: its first owner is in `files.generation`, and the others are in this table.
        Migration(
            version: 7,
            sql: """
                CREATE TABLE copies (
                    file INTEGER NOT NULL, generation INTEGER NOT NULL, PRIMARY KEY (file, generation)) WITHOUT ROWID;
                """),
        // `kept` contains kept properties as JSON, of an object, or of new objects in a bucket. A bucket in
        // `deletedBuckets` does not exist until it is named again.
        Migration(
            version: 8,
            sql: """
                ALTER TABLE objects ADD COLUMN kept TEXT;
                ALTER TABLE buckets ADD COLUMN timeCreated INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE buckets ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE buckets ADD COLUMN storageClassUpdated INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE buckets ADD COLUMN metageneration INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE buckets ADD COLUMN kept TEXT;
                ALTER TABLE buckets ADD COLUMN properties TEXT;
                ALTER TABLE buckets ADD COLUMN policy TEXT;
                CREATE TABLE deletedBuckets (name TEXT PRIMARY KEY) WITHOUT ROWID;
                """),
        // `kept` of an object may contain its number of components, the tag of its parts and `Expires`. Programs with
        // an earlier schema would remove them with the next change of the metadata.
        Migration(version: 9, sql: "UPDATE counters SET generation = generation;"),
    ]

    /// Matches files that are marked as unwanted and that no object needs. One scan of the objects finds the few that
    /// are needed nevertheless.
    static let isUnwanted = """
        state <> 1 AND id NOT IN (
            SELECT needed.id FROM objects CROSS JOIN files AS needed ON needed.id = objects.file
            WHERE needed.state <> 1)
        """

    /// The state of a file in `objects`.
    enum FileState: Int64 {
        case beingWritten = 0
        case stored = 1
        case garbage = 2

        var value: Value { .integer(rawValue) }
    }
}
