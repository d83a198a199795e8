import Database
import JSONText
import Platform
import Roots
import Storage
import Synchronization
import TaskStore

/// A stored bucket. Of its properties only the defaults for new objects have an effect.
package struct StoredBucket: Sendable {
    package let name: String
    /// 1970 for a bucket that was neither created nor had an object, or that an earlier release created.
    package var timeCreated = Timestamp(microseconds: 0)
    package var updated = Timestamp(microseconds: 0)
    package var storageClassUpdated = Timestamp(microseconds: 0)
    /// Each change increments it.
    package var metageneration: Int64 = 1
    /// The properties of new objects whose uploads do not set them.
    package var defaults = KeptProperties()
    /// A JSON object; nil if it was never set.
    package var properties: String?
    package var policy: String?

    package init(_ name: String) { self.name = name }

    package var version: ObjectVersion { ObjectVersion(generation: 1, metageneration: metageneration) }
    package var root: Reference { get throws(StorageError) { try Reference(bucket: name, path: "") } }
}

/// The rule that says which buckets exist.
struct BucketRule: Sendable {
    /// The buckets that exist from the beginning; others must be created. Nil if every name is that of an existing
    /// bucket.
    let named: Set<String>?

    /// Throws `bucketNotFound` if the bucket of a reference must be created first.
    func check(_ reference: Reference, in database: Database) throws {
        guard named != nil, try database.bucket(named: reference.bucket) == nil else { return }
        throw StorageError.bucketNotFound(reference)
    }

    /// Creates the buckets that exist from the beginning.
    func apply(to database: Database, at now: Timestamp) throws(StorageError) {
        do {
            for name in (named ?? []).sorted() where try database.bucket(named: name) == nil {
                var bucket = StoredBucket(name)
                try database.make(&bucket, at: now)
            }
        } catch {
            throw .database(error)
        }
    }
}

/// The bucket of the last new object, which most likely is that of the next one, too.
final class LastBucket: Sendable {
    typealias Row = (id: Int64, defaults: KeptProperties?)

    private struct State {
        var name = ""
        var row: Row = (0, nil)
        /// The era of the database in which `row` is the bucket's row.
        var era: Database.Era?
    }

    private let state = Mutex(State())

    /// The row of the bucket of a new object, which is created if it does not exist. To be called within a transaction.
    func row(_ name: String, at now: Timestamp, in database: Database) throws -> Row {
        try state.withLock { state in
            if state.era == database.era, state.name.hasSameBytes(as: name) { return state.row }
            let row = try database.bucket(name, at: now)
            state = State(name: name, row: row, era: database.era)
            return row
        }
    }
}

// Buckets as rows. The caller opens the transaction.
extension Database {
    /// The number of a bucket that was created or has had an object.
    func bucket(named name: String) throws -> Int64? {
        try first("SELECT id FROM buckets WHERE name = :name", ["name": .text(name)]) { try $0.integer("id") }
    }

    /// The number of the bucket of a new object, and the object's default properties. Creates the bucket if it does not
    /// exist.
    func bucket(_ name: String, at now: Timestamp) throws -> (id: Int64, defaults: KeptProperties?) {
        let found = try first("SELECT id, kept FROM buckets WHERE name = :name", ["name": .text(name)]) { row in
            (id: try row.integer("id"), defaults: try row.kept)
        }
        if let found { return found }
        var bucket = StoredBucket(name)
        try make(&bucket, at: now)
        return (lastInsertedRowID, nil)
    }

    func make(_ bucket: inout StoredBucket, at now: Timestamp) throws {
        endEra()
        (bucket.timeCreated, bucket.updated, bucket.storageClassUpdated) = (now, now, now)
        try run("DELETE FROM deletedBuckets WHERE name = :name", ["name": .text(bucket.name)])
        let columns: Columns = ["name", "timeCreated"] + Self.bucketColumns
        try run(
            "INSERT INTO buckets (\(columns.list)) VALUES (\(columns.parameters))",
            try bucket.values + ["timeCreated": .integer(now.microseconds)])
    }

    /// Nil for a bucket that was neither created nor has had an object.
    func storedBucket(_ name: String) throws -> StoredBucket? {
        try first("SELECT * FROM buckets WHERE name = :name", ["name": .text(name)]) { try StoredBucket($0) }
    }

    func update(_ bucket: StoredBucket) throws {
        endEra()
        try run("UPDATE buckets SET \(Self.bucketColumns.assignments) WHERE name = :name", try bucket.values)
    }

    func hasDeletedBucket(_ name: String) throws -> Bool {
        try first("SELECT 1 AS found FROM deletedBuckets WHERE name = :name", ["name": .text(name)]) { _ in true }
            ?? false
    }

    /// Removes a bucket with its unfinished uploads in parts. Returns their files, which must stay until the
    /// transaction is durable; nil if the bucket contains objects.
    func removeBucket(_ name: String) throws -> [Int64]? {
        if let bucket = try bucket(named: name) {
            let values: Values = ["bucket": .integer(bucket)]
            let isUsed = try first("SELECT 1 AS used FROM objects WHERE bucket = :bucket LIMIT 1", values) { _ in true }
            guard isUsed == nil else { return nil }
            endEra()
            try run("DELETE FROM buckets WHERE id = :bucket", values)
        }
        try run("INSERT OR IGNORE INTO deletedBuckets (name) VALUES (:name)", ["name": .text(name)])
        let files = try multiparts(in: name, "", after: ("", ""), most: .max).flatMap { try removeMultipart($0.id) }
        // Those that are complete have no files.
        try run("DELETE FROM multiparts WHERE bucket = :name", ["name": .text(name)])
        return files
    }

    private static let bucketColumns: Columns = [
        "updated", "storageClassUpdated", "metageneration", "kept", "properties", "policy",
    ]
}

extension StoredBucket {
    init(_ row: borrowing Row) throws {
        self.init(try row.text("name"))
        timeCreated = Timestamp(microseconds: try row.integer("timeCreated"))
        updated = Timestamp(microseconds: try row.integer("updated"))
        storageClassUpdated = Timestamp(microseconds: try row.integer("storageClassUpdated"))
        metageneration = try row.integer("metageneration")
        defaults = try row.kept ?? KeptProperties()
        properties = try row.textOrNil("properties")
        policy = try row.textOrNil("policy")
        for text in [properties, policy].compactMap(\.self) where JSON(wire: Array(text.utf8))?.object == nil {
            throw StorageError(
                .unknown, "The database is damaged: what it keeps with the bucket \(name) is no JSON object.")
        }
    }

    /// All values except the time of the creation.
    fileprivate var values: Values {
        get throws {
            [
                "name": .text(name), "updated": .integer(updated.microseconds),
                "storageClassUpdated": .integer(storageClassUpdated.microseconds),
                "metageneration": .integer(metageneration),
                "kept": .text(defaults.isEmpty ? nil : try defaults.text), "properties": .text(properties),
                "policy": .text(policy),
            ]
        }
    }
}

extension EmbeddedBackend {
    /// Throws `bucketNotFound` if the bucket of a reference must be created before objects are stored in it.
    package func checkBucket(of reference: Reference) async throws(StorageError) {
        guard buckets.named != nil else { return }
        try await store.read { [buckets] in try buckets.check(reference, in: $0) }
    }

    /// Throws `bucketNotFound` for a bucket that was deleted or must be created; otherwise any name is that of a
    /// bucket.
    package func bucket(_ name: String) async throws(StorageError) -> StoredBucket {
        let root = try Reference(bucket: name, path: "")
        return try await store.read { [buckets] in try $0.bucket(at: root, buckets) }
    }

    /// The buckets that were created or have had an object, ordered by their names.
    ///
    /// - Parameters:
    ///   - pageToken: the token of the page before. Throws `invalidArgument` for a token of another list.
    ///   - most: the maximum number of buckets, at least 1.
    package func buckets(
        prefix: String, pageToken: String? = nil, most: Int
    ) async throws(StorageError) -> (page: [StoredBucket], pageToken: String?) {
        let last = try pageToken.map { text throws(StorageError) in
            try PageToken(text, ofBucketsWith: prefix).entry
        }
        return try await store.read { database in
            var page: [StoredBucket] = []
            var hasMore = false
            let sql = """
                SELECT * FROM buckets
                WHERE CAST(name AS BLOB) > :last AND substr(CAST(name AS BLOB), 1, length(:prefix)) = :prefix
                ORDER BY CAST(name AS BLOB)
                """
            try database.scan(sql, ["last": .blob(last ?? []), "prefix": .blob(Array(prefix.utf8))]) { row in
                hasMore = page.count == most
                if !hasMore { page.append(try StoredBucket(row)) }
                return !hasMore
            }
            guard hasMore, let last = page.last else { return (page, nil) }
            return (page, PageToken(after: Array(last.name.utf8)).text(forBucketsWith: prefix))
        }
    }

    /// The names of the buckets that were created or have had an object. Throws `quotaExceeded` for more than `most`.
    package func buckets(most: Int = .max) async throws(StorageError) -> [String] {
        try await store.read { database in
            var names: [String] = []
            try database.rows("SELECT name FROM buckets ORDER BY CAST(name AS BLOB)") { row in
                guard names.count < most else { throw StorageError.tooManyBuckets(most) }
                names.append(try row.text("name"))
            }
            return names
        }
    }

    /// Creates a bucket with these properties. Nil if it exists.
    package func make(_ wanted: StoredBucket) async throws(StorageError) -> StoredBucket? {
        try await store.write { [time] database in
            guard try database.bucket(named: wanted.name) == nil else { return nil }
            var bucket = wanted
            try database.make(&bucket, at: time.now())
            return bucket
        }
    }

    /// Changes a bucket, and creates it if buckets need not be created. Throws the errors of `bucket` and of `change`.
    package func changeBucket(
        _ name: String, if conditions: Preconditions,
        _ change: @escaping @Sendable (inout StoredBucket) throws(StorageError) -> Void
    ) async throws(StorageError) -> StoredBucket {
        let root = try Reference(bucket: name, path: "")
        return try await store.write { [time, buckets] database in
            var bucket = try database.bucket(at: root, buckets)
            try conditions.check(bucket.version, at: root)
            let (now, before) = (time.now(), bucket.defaults.storageClass)
            try change(&bucket)
            if try database.bucket(named: name) == nil {
                var made = StoredBucket(name)
                try database.make(&made, at: now)
                bucket.storageClassUpdated = now
            }
            bucket.metageneration = try database.next(after: bucket.metageneration)
            bucket.updated = max(now, bucket.updated)
            if bucket.defaults.storageClass != before { bucket.storageClassUpdated = bucket.updated }
            try database.update(bucket)
            return try database.bucket(at: root, buckets)
        }
    }

    /// Removes a bucket; false if it contains objects. Throws the errors of `bucket`.
    package func removeBucket(_ name: String, if conditions: Preconditions) async throws(StorageError) -> Bool {
        let root = try Reference(bucket: name, path: "")
        let files = try await store.write { [buckets] database in
            try conditions.check(database.bucket(at: root, buckets).version, at: root)
            return try database.removeBucket(name)
        }
        for file in files ?? [] { remove(file) }
        return files != nil
    }
}

extension Database {
    fileprivate func bucket(at root: Reference, _ rule: BucketRule) throws -> StoredBucket {
        if let stored = try storedBucket(root.bucket) { return stored }
        guard try rule.named == nil && !hasDeletedBucket(root.bucket) else {
            throw StorageError.bucketNotFound(root)
        }
        return StoredBucket(root.bucket)
    }
}
