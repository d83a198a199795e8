import Database

/// The tables of uploads in parts. They form a schema of their own, since their migrations depend on no others.
enum MultipartSchema {
    static let schema = Schema(
        name: "multiparts",
        migrations: [
            // In a root without a table of versions, versions up to 4 apply to every schema, so this one begins above
            // that.
            //
            // The file of a part is in the state `stored` (`ObjectSchema.FileState`) without belonging to an object:
            // the part's row owns it.
            Migration(
                version: 5,
                sql: """
                    CREATE TABLE multiparts (
                        id TEXT PRIMARY KEY, bucket TEXT NOT NULL, name BLOB NOT NULL, metadata TEXT NOT NULL,
                        began INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE TABLE parts (
                        multipart TEXT NOT NULL, number INTEGER NOT NULL, file INTEGER NOT NULL, size INTEGER NOT NULL,
                        md5 BLOB NOT NULL, crc32c INTEGER NOT NULL, stored INTEGER NOT NULL,
                        PRIMARY KEY (multipart, number)) WITHOUT ROWID;
                    """),
            // `declared` contains other checksums of a part that its client has declared, as JSON.
            Migration(version: 6, sql: "ALTER TABLE parts ADD COLUMN declared TEXT NOT NULL DEFAULT '{}';"),
            // The row of a complete upload has the generation of the object, and `selection`, a digest of the parts that
            // the client has selected. It has no parts.
            Migration(
                version: 7,
                sql: """
                    ALTER TABLE multiparts ADD COLUMN generation INTEGER;
                    ALTER TABLE multiparts ADD COLUMN selection BLOB;
                    """),
        ])
}
