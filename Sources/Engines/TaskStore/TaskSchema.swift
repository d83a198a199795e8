import Database
import Storage

extension Schema {
    /// The tables of tasks: `tasks` has the unfinished ones, and engines may add columns to it.
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
                    """), Migration(version: 4, sql: "ALTER TABLE tasks ADD COLUMN began INTEGER NOT NULL DEFAULT 0;"),
            // The request of a copy, as JSON.
            Migration(version: 5, sql: "ALTER TABLE tasks ADD COLUMN copy TEXT;"),
            // The id of the task over a folder that a task belongs to.
            Migration(version: 6, sql: "ALTER TABLE tasks ADD COLUMN folder TEXT;"),
            // The key that the client has given the task.
            Migration(version: 7, sql: "ALTER TABLE tasks ADD COLUMN taskKey TEXT;"),
            // The kept properties of the object, as JSON.
            Migration(version: 8, sql: "ALTER TABLE tasks ADD COLUMN kept TEXT;"),
            // Rows of ended tasks are in the order of `sequence`, so that an end adds a row behind the last one. The
            // columns of `tasks` for ends are unused.
            Migration(
                version: 9,
                sql: """
                    CREATE TABLE endedTasks (
                        sequence INTEGER NOT NULL, id TEXT NOT NULL, place TEXT NOT NULL, kind TEXT NOT NULL,
                        number INTEGER NOT NULL, began INTEGER NOT NULL, bucket TEXT NOT NULL, name BLOB NOT NULL,
                        completed INTEGER NOT NULL, total INTEGER, ended INTEGER NOT NULL, outcome TEXT, error TEXT,
                        generation INTEGER, metageneration INTEGER, timeCreated INTEGER, updated INTEGER, md5 BLOB,
                        crc32c INTEGER, contentType TEXT, cacheControl TEXT, contentDisposition TEXT,
                        contentEncoding TEXT, contentLanguage TEXT, customMetadata TEXT, kept TEXT, md5Hash TEXT,
                        request TEXT, bookmark TEXT, copy TEXT, folder TEXT, taskKey TEXT,
                        PRIMARY KEY (sequence, id)) WITHOUT ROWID;
                    INSERT INTO endedTasks SELECT
                        0, id, place, kind, number, began, bucket, name, completed, total, ended, outcome, error,
                        generation, metageneration, timeCreated, updated, md5, crc32c, contentType, cacheControl,
                        contentDisposition, contentEncoding, contentLanguage, customMetadata, kept, md5Hash, request,
                        bookmark, copy, folder, taskKey
                    FROM tasks WHERE ended IS NOT NULL;
                    DELETE FROM tasks WHERE ended IS NOT NULL;
                    DROP INDEX unfinished;
                    """),
            // The key is `sequence` alone, so that a new last row splits no page; earlier rows have keys below 0. Columns
            // whose values others imply may be NULL.
            Migration(
                version: 10,
                sql: """
                    ALTER TABLE endedTasks RENAME TO formerEndedTasks;
                    CREATE TABLE endedTasks (
                        sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, place TEXT NOT NULL, kind TEXT NOT NULL,
                        outcome TEXT, folder TEXT, number INTEGER, began INTEGER NOT NULL, bucket TEXT NOT NULL,
                        name BLOB NOT NULL, completed INTEGER, total INTEGER, ended INTEGER NOT NULL, error TEXT,
                        generation INTEGER, metageneration INTEGER, timeCreated INTEGER, updated INTEGER, md5 BLOB,
                        crc32c INTEGER, contentType TEXT, cacheControl TEXT, contentDisposition TEXT,
                        contentEncoding TEXT, contentLanguage TEXT, customMetadata TEXT, kept TEXT, md5Hash TEXT,
                        request TEXT, bookmark TEXT, copy TEXT, taskKey TEXT);
                    CREATE INDEX endedBelow0 ON endedTasks (id) WHERE sequence <= 0;
                    INSERT INTO endedTasks SELECT
                        -row_number() OVER (), id, place, kind, outcome, folder, number, began, bucket, name, completed,
                        total, ended, error, generation, metageneration, timeCreated, updated, md5, crc32c, contentType,
                        cacheControl, contentDisposition, contentEncoding, contentLanguage, customMetadata, kept,
                        md5Hash, request, bookmark, copy, taskKey
                    FROM formerEndedTasks;
                    DROP TABLE formerEndedTasks;
                    """),
        ])
}

extension Value {
    /// Names are stored as bytes, which have one order and one equality.
    package static func name(_ reference: Reference) -> Value { .blob(Array(reference.object.utf8)) }
}

extension Row {
    package var content: SettableMetadata {
        get throws {
            var settable = SettableMetadata()
            for property in ContentProperty.allCases { settable.content[property] = try textOrNil(property.column) }
            settable.kept = try kept
            return settable
        }
    }

    package var checksums: Checksums {
        get throws {
            Checksums(
                md5: try blobOrNil("md5"),
                crc32c: try integerOrNil("crc32c").map { UInt32(truncatingIfNeeded: $0) })
        }
    }

    /// Nil if there are no kept properties.
    package var kept: KeptProperties? {
        get throws { try textOrNil("kept").map(KeptProperties.init(text:)) }
    }
}

extension Columns {
    package static let content = Columns(ContentProperty.allCases.map(\.rawValue) + ["kept"])
}

extension Values {
    package static func checksums(_ checksums: Checksums?) -> Values {
        ["md5": .blob(checksums?.md5), "crc32c": .integer(checksums?.crc32c.map(Int64.init))]
    }

    package static func content(_ settable: SettableMetadata) throws -> Values {
        let content = settable.content
        return [
            "cacheControl": .text(content[.cacheControl]), "contentDisposition": .text(content[.contentDisposition]),
            "contentEncoding": .text(content[.contentEncoding]), "contentLanguage": .text(content[.contentLanguage]),
            "contentType": .text(content[.contentType]), "kept": .text(try settable.kept?.text),
        ]
    }
}

extension ContentProperty {
    fileprivate var column: StaticString {
        switch self {
        case .cacheControl: "cacheControl"
        case .contentDisposition: "contentDisposition"
        case .contentEncoding: "contentEncoding"
        case .contentLanguage: "contentLanguage"
        case .contentType: "contentType"
        }
    }
}
