import Database

/// The tables of uploads in parts. A schema of its own, as its migrations depend on no others.
enum MultipartSchema {
    static let schema = Schema(
        name: "multiparts",
        migrations: [
            // A root without a table of versions has up to 4 as that of every schema.
            //
            // The file of a part is stored (`ObjectSchema.FileState`), although it is no object's: the row of the part owns it.
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
                    """)
        ])
}
