import Database
import LocalFiles
import Platform
import Storage
import TaskStore

/// An object to commit. Its bytes are in memory, in a synced file, or in the file of another object.
struct NewObject: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case file(Int64)
        case sharedFile(Int64)
    }

    var reference: Reference
    var metadata: SettableMetadata
    var size: Int64
    var md5: [UInt8]
    var crc32c: UInt32
    var body: Body
    /// The record of the upload's task, which ends in the same transaction.
    var record: TaskRecord?
    /// The store has no row of the task.
    var isUnrecorded = false
}

/// The outcome of a write of an object.
final class StoredObject: Sendable {
    let metadata: ObjectMetadata
    /// The file that the write has made unnecessary.
    let garbage: Int64?
    let changes: [ObjectChange]

    init(metadata: ObjectMetadata, garbage: Int64?, changes: [ObjectChange]) {
        (self.metadata, self.garbage, self.changes) = (metadata, garbage, changes)
    }
}

// Objects as rows. The caller opens the transaction.
extension Database {
    /// Stores an object, which replaces an existing one.
    ///
    /// - Parameter token: the download token, unless the custom metadata sets tokens.
    func put(
        _ object: NewObject, token: String, at now: Timestamp, _ generations: Generations
    ) throws -> StoredObject {
        var settable = object.metadata
        let tokens = settable.takeDownloadTokens() ?? [token]
        let (bucket, defaults) = try generations.lastBucket.row(object.reference.bucket, at: now, in: self)
        if let defaults { settable.kept = (settable.kept ?? KeptProperties()).filled(from: defaults) }
        let generation = try generations.next(now, in: self)
        let stored = ObjectMetadata(
            reference: object.reference, generation: generation, metageneration: 1, size: object.size,
            timeCreated: now, updated: now, checksums: Checksums(md5: object.md5, crc32c: object.crc32c),
            settable: settable,
            downloadTokens: tokens)
        var file = Value.null
        switch object.body {
        case .bytes(let bytes):
            try run(
                "INSERT INTO bodies (generation, bytes) VALUES (:generation, :bytes)",
                ["generation": .integer(generation), "bytes": .blob(bytes)])
        case .file(let id):
            file = .integer(id)
            try give(file: id, to: generation)
        case .sharedFile(let id):
            file = .integer(id)
            try share(file: id, with: generation)
        }
        var (old, garbage): (StoredParts?, Int64?) = (nil, nil)
        // Most names are new, which one statement finds out and settles.
        if try !insert(Self.insertNew, stored, bucket, file) {
            old = try pieces(of: object.reference)
            try old?.kept?.checkHolds(of: object.reference)
            garbage = try old.flatMap { try remove($0) }
            try insert(Self.insert, stored, bucket, file)
        }
        if let record = object.record {
            try end(
                record, .succeeded(stored), at: now, place: EmbeddedBackend.place, isUnrecorded: object.isUnrecorded)
        }
        return StoredObject(
            metadata: stored, garbage: garbage, changes: [ObjectChange(old == nil ? .created : .replaced, stored)])
    }

    func metadata(of reference: Reference) throws -> ObjectMetadata {
        let found = try first(Self.select, reference.key) { row in try metadata(in: row, of: reference) }
        guard let found else { throw StorageError.objectNotFound(reference) }
        return found
    }

    /// Reads the metadata from a row with `metadataColumns`.
    func metadata(in row: borrowing Row, of reference: Reference) throws -> ObjectMetadata {
        var metadata = ObjectMetadata(
            reference: reference, generation: try row.integer("generation"),
            metageneration: try row.integer("metageneration"), size: try row.integer("size"),
            timeCreated: Timestamp(microseconds: try row.integer("timeCreated")),
            updated: Timestamp(microseconds: try row.integer("updated")),
            // A stored object has both.
            checksums: Checksums(
                md5: try row.blob("md5"), crc32c: UInt32(truncatingIfNeeded: try row.integer("crc32c"))),
            settable: try row.content,
            downloadTokens: [String](downloadTokens: try row.text("downloadTokens")))
        guard try row.integer("hasCustom") == 1 else { return metadata }
        try rows(
            "SELECT key, value FROM customMetadata WHERE generation = :generation",
            ["generation": .integer(metadata.generation)]
        ) { row in metadata.settable.custom[try row.text("key")] = try row.text("value") }
        return metadata
    }

    /// - Parameter token: the download token of an object without one, if the change creates one.
    func update(
        _ reference: Reference, _ change: MetadataChange, token: String, at now: Timestamp
    ) throws -> ObjectMetadata {
        var metadata = try metadata(of: reference)
        let storageClass = metadata.storageClass
        if let wanted = change.kept.storageClass, wanted != storageClass {
            throw StorageError.invalidArgument(
                "storageClass", "The storageClass of an object stays \(storageClass.rawValue) until it is rewritten.")
        }
        try metadata.settable.apply(change)
        if let tokens = change.downloadTokens {
            metadata.downloadTokens = tokens
            metadata.settable.custom[SettableMetadata.tokensKey] = nil
        }
        if change.makesDownloadToken, metadata.downloadTokens?.isEmpty != false { metadata.downloadTokens = [token] }
        metadata.metageneration = try next(after: metadata.metageneration)
        metadata.updated = max(now, metadata.updated)
        let values: Values = [
            "metageneration": .integer(metadata.metageneration), "updated": .integer(metadata.updated.microseconds),
            "downloadTokens": metadata.tokensValue,
        ]
        try run(Self.change, try values + .content(metadata.settable) + reference.key)
        try deleteCustom(of: metadata.generation)
        try insertCustom(metadata)
        return metadata
    }

    /// Deletes an object. Returns the file that is no longer needed.
    func delete(_ reference: Reference) throws -> (garbage: Int64?, change: ObjectChange) {
        guard let old = try pieces(of: reference) else { throw StorageError.objectNotFound(reference) }
        try old.kept?.checkHolds(of: reference)
        try run(Self.delete, reference.key)
        return (try remove(old), ObjectChange(.deleted, reference, old.version))
    }

    /// Stores a copy of an object, which replaces an existing object. Bytes in a file are shared, not copied. The
    /// source of a move is deleted.
    ///
    /// - Parameters:
    ///   - token: the download token of a copy that does not keep the source's tokens.
    ///   - checkCanBeRead: throws why the bytes of the source cannot be read.
    func copy(
        _ request: CopyRequest, as upload: Upload, token: String, at now: Timestamp, _ generations: Generations,
        _ checkCanBeRead: (ObjectMetadata, StoredBody) throws(StorageError) -> Void
    ) throws -> StoredObject {
        let source = request.reference
        try check(request.preconditions, at: source)
        let object = try metadata(of: source)
        let (md5, crc32c) = (object.checksums.md5 ?? [], object.checksums.crc32c ?? 0)
        try upload.check(md5: md5, crc32c)
        var settable = request.metadata(upload.metadata, of: object.settable)
        let keepsTokens = request.isMove || request.keepsDownloadTokens == true || source == upload.reference
        if request.keepsMetadata, keepsTokens, let tokens = object.downloadTokens {
            settable.custom[SettableMetadata.tokensKey] = tokens.joined(separator: ",")
        }
        let body = try body(of: source)
        try checkCanBeRead(object, body)
        let copy = NewObject(
            reference: upload.reference, metadata: settable, size: object.size, md5: md5, crc32c: crc32c,
            body: body.shared, record: upload.recorded)
        let put = try put(copy, token: token, at: now, generations)
        guard request.isMove else { return put }
        return StoredObject(
            metadata: put.metadata, garbage: put.garbage, changes: put.changes + [try delete(source).change])
    }

    func body(of reference: Reference) throws -> StoredBody {
        let body = try first(Self.selectBody, reference.key) { row -> StoredBody in
            if let file = try row.integerOrNil("file") { return .file(file) }
            return .bytes(try row.blob("bytes"))
        }
        guard let body else { throw StorageError.objectNotFound(reference) }
        return body
    }

    func check(_ conditions: Preconditions, at reference: Reference) throws {
        if conditions.isEmpty { return }
        try conditions.check(version(of: reference), at: reference)
    }

    private func version(of reference: Reference) throws -> ObjectVersion {
        try first(Self.selectVersion, reference.key) { try $0.version } ?? .none
    }

    /// Whether an object at the reference was stored after the task was created.
    func hasObject(at reference: Reference, newerThan task: String) throws -> Bool {
        let isNewer = try first(
            """
            SELECT objects.generation > tasks.lastGeneration OR objects.timeCreated > tasks.began AS isNewer
            FROM objects JOIN tasks ON tasks.id = :task WHERE \(Self.isObject)
            """, ["task": .text(task)] + reference.key
        ) { try $0.integer("isNewer") }
        return isNewer == 1
    }

    func hasObject(at reference: Reference, newerThan began: Beginning) throws -> Bool {
        let isNewer = try first(
            """
            SELECT generation > :generation OR timeCreated > :time AS isNewer FROM objects WHERE \(Self.isObject)
            """,
            ["generation": .integer(began.lastGeneration ?? .max), "time": .integer(began.time.microseconds)]
                + reference.key
        ) { try $0.integer("isNewer") }
        return isNewer == 1
    }

    /// The files of a task that has stored no object.
    func files(for task: String) throws -> [Int64] {
        var files: [Int64] = []
        let sql = "SELECT id FROM files WHERE state = 0 AND task = :task"
        try rows(sql, ["task": .text(task)]) { files.append(try $0.integer("id")) }
        return files
    }

    /// Selects the row of an object by the values of `Reference.key`.
    static let isObject = "objects.bucket = (SELECT id FROM buckets WHERE name = :bucket) AND objects.name = :name"

    private static let version: Columns = ["generation", "metageneration", "size", "timeCreated", "updated"]
    private static let columns = ["bucket", "name"] + version + ["md5", "crc32c", "downloadTokens", "file"] + .content
    private static let insert = "INSERT OR REPLACE \(into)"
    private static let insertNew = "INSERT \(into) ON CONFLICT (bucket, name) DO NOTHING"
    private static let into = "INTO objects (\(columns.list)) VALUES (\(columns.parameters))"
    static let metadataColumns = """
        objects.*, EXISTS (SELECT 1 FROM customMetadata WHERE generation = objects.generation) AS hasCustom
        """
    private static let select = "SELECT \(metadataColumns) FROM objects WHERE \(isObject)"
    private static let selectVersion = "SELECT generation, metageneration FROM objects WHERE \(isObject)"
    private static let selectParts = "SELECT generation, metageneration, file, kept FROM objects WHERE \(isObject)"
    /// Reads no page of `bodies` for an object in a file.
    private static let selectBody = """
        SELECT file, CASE WHEN file IS NULL
            THEN (SELECT bytes FROM bodies WHERE bodies.generation = objects.generation) END AS bytes
        FROM objects WHERE \(isObject)
        """
    private static let delete = "DELETE FROM objects WHERE \(isObject)"
    private static let change = """
        UPDATE objects SET \((["metageneration", "updated", "downloadTokens"] + Columns.content).assignments) WHERE \(isObject)
        """

    /// Returns false if the statement has inserted nothing.
    @discardableResult private func insert(
        _ sql: String, _ object: ObjectMetadata, _ bucket: Int64, _ file: Value
    ) throws -> Bool {
        let values: Values = [
            "bucket": .integer(bucket), "name": .name(object.reference), "generation": .integer(object.generation),
            "metageneration": .integer(object.metageneration), "size": .integer(object.size),
            "timeCreated": .integer(object.timeCreated.microseconds), "updated": .integer(object.updated.microseconds),
            "downloadTokens": object.tokensValue, "file": file,
        ]
        guard try run(sql, try values + .checksums(object.checksums) + .content(object.settable)) == 1 else {
            return false
        }
        try insertCustom(object)
        return true
    }

    private func insertCustom(_ object: ObjectMetadata) throws {
        for (key, value) in object.settable.custom {
            try run(
                "INSERT INTO customMetadata (generation, key, value) VALUES (:generation, :key, :value)",
                ["generation": .integer(object.generation), "key": .text(key), "value": .text(value)])
        }
    }

    private func deleteCustom(of generation: Int64) throws {
        try run("DELETE FROM customMetadata WHERE generation = :generation", ["generation": .integer(generation)])
    }

    /// The parts of an object in other tables.
    private func pieces(of reference: Reference) throws -> StoredParts? {
        try first(Self.selectParts, reference.key) {
            StoredParts(version: try $0.version, file: try $0.integerOrNil("file"), kept: try $0.kept)
        }
    }

    /// Deletes the parts of an object. Returns its file, which must stay until the transaction is durable.
    private func remove(_ old: StoredParts) throws -> Int64? {
        try deleteCustom(of: old.generation)
        if let file = old.file { return try discard(file: file, of: old.generation) ? file : nil }
        try run("DELETE FROM bodies WHERE generation = :generation", ["generation": .integer(old.generation)])
        return nil
    }

    private func give(file: Int64, to generation: Int64) throws {
        let changed = try run(
            "UPDATE files SET state = :stored, generation = :generation WHERE id = :id AND state = :beingWritten",
            [
                "stored": ObjectSchema.FileState.stored.value, "generation": .integer(generation),
                "id": .integer(file), "beingWritten": ObjectSchema.FileState.beingWritten.value,
            ])
        guard changed == 1 else {
            throw damaged("it does not know the new file \(file)")
        }
    }

    /// Shares the file of another object with a copy.
    private func share(file: Int64, with generation: Int64) throws {
        try run(
            "INSERT INTO copies (file, generation) VALUES (:file, :generation)",
            ["file": .integer(file), "generation": .integer(generation)])
    }

    /// Removes an object's share in a file. Returns true if the file is no longer needed; false if other objects have
    /// it, or if a damaged row makes the owner unclear.
    private func discard(file: Int64, of generation: Int64) throws -> Bool {
        let isOwner = "id = :file AND (generation = :generation OR generation IS NULL)"
        let values: Values = ["file": .integer(file), "generation": .integer(generation)]
        let isCopy = "file = :file AND generation = :generation"
        if try run("DELETE FROM copies WHERE \(isCopy)", values) == 1 { return false }
        let heir = try first("SELECT generation FROM copies WHERE file = :file LIMIT 1", ["file": .integer(file)]) {
            try $0.integer("generation")
        }
        guard let heir else {
            return try run(
                "UPDATE files SET state = :state WHERE \(isOwner)",
                values + ["state": ObjectSchema.FileState.garbage.value]) == 1
        }
        if try run("UPDATE files SET generation = :heir WHERE \(isOwner)", values + ["heir": .integer(heir)]) == 1 {
            try run("DELETE FROM copies WHERE \(isCopy)", ["file": .integer(file), "generation": .integer(heir)])
        }
        return false
    }

    private func damaged(_ how: String) -> StorageError {
        StorageError(.unknown, "The database \(path) is damaged: \(how).")
    }

    /// The number after this one. Only a damaged row has the maximum.
    func next(after number: Int64) throws(StorageError) -> Int64 {
        guard number < .max else {
            throw damaged("no generation can come after \(number)")
        }
        return number + 1
    }
}

/// Where the bytes of an object are: in a row, or in a file with a number.
enum StoredBody: Sendable {
    case bytes([UInt8])
    case file(Int64)

    /// The body of a copy.
    fileprivate var shared: NewObject.Body {
        switch self {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let file): .sharedFile(file)
        }
    }
}

/// The parts of an object in other tables.
struct StoredParts: Sendable {
    var version: ObjectVersion
    var file: Int64?
    var kept: KeptProperties?

    var generation: Int64 { version.generation }
}

extension Row {
    fileprivate var version: ObjectVersion {
        get throws {
            ObjectVersion(generation: try integer("generation"), metageneration: try integer("metageneration"))
        }
    }
}

extension ObjectMetadata {
    var tokensValue: Value { .text((downloadTokens ?? []).joined(separator: ",")) }
}

extension Reference {
    /// The values for `Database.isObject`.
    var key: Values { ["bucket": .text(bucket), "name": .name(self)] }
}
