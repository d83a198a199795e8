import Database
import Platform
import Roots
import Storage
import TaskStore

/// A bucket as it is kept. Nothing acts on its properties but those that new objects begin with.
package struct StoredBucket: Sendable {
    package let name: String
    /// 1970 where nobody has made the bucket or stored an object in it, or an earlier release was asked to.
    package var timeCreated = Timestamp(microseconds: 0)
    package var updated = Timestamp(microseconds: 0)
    package var storageClassUpdated = Timestamp(microseconds: 0)
    /// Each change adds 1.
    package var metageneration: Int64 = 1
    /// What objects begin with, unless their uploads say otherwise.
    package var defaults = KeptProperties()
    /// A JSON object; nil where nobody has set one.
    package var properties: String?
    package var policy: String?

    package init(_ name: String) { self.name = name }

    package var version: ObjectVersion { ObjectVersion(generation: 1, metageneration: metageneration) }
    package var root: Reference { get throws(StorageError) { try Reference(bucket: name, path: "") } }
}

/// Which buckets there are.
struct BucketRule: Sendable {
    /// Those that are there from the beginning: others have to be made. Nil where a bucket comes into being by being named.
    let named: Set<String>?

    /// Throws `bucketNotFound` where the bucket of a reference has to be made first.
    func check(_ reference: Reference, in database: Database) throws {
        guard named != nil, try database.bucket(named: reference.bucket) == nil else { return }
        throw StorageError.bucketNotFound(reference)
    }

    /// Makes those that are there from the beginning.
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

// Buckets as rows. The caller opens the transaction.
extension Database {
    /// The number of a bucket that was made, or has had an object.
    func bucket(named name: String) throws -> Int64? {
        try first("SELECT id FROM buckets WHERE name = :name", ["name": .text(name)]) { try $0.integer("id") }
    }

    /// The number of the bucket of a new object, which is made if it is not there, and what the object begins with.
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
        (bucket.timeCreated, bucket.updated, bucket.storageClassUpdated) = (now, now, now)
        try run("DELETE FROM deletedBuckets WHERE name = :name", ["name": .text(bucket.name)])
        let columns: Columns = ["name", "timeCreated"] + Self.bucketColumns
        try run(
            "INSERT INTO buckets (\(columns.list)) VALUES (\(columns.parameters))",
            try bucket.values + ["timeCreated": .integer(now.microseconds)])
    }

    /// Nil where it was not made, and has had no object.
    func storedBucket(_ name: String) throws -> StoredBucket? {
        try first("SELECT * FROM buckets WHERE name = :name", ["name": .text(name)]) { try StoredBucket($0) }
    }

    func update(_ bucket: StoredBucket) throws {
        try run("UPDATE buckets SET \(Self.bucketColumns.assignments) WHERE name = :name", try bucket.values)
    }

    func hasDeletedBucket(_ name: String) throws -> Bool {
        try first("SELECT 1 AS found FROM deletedBuckets WHERE name = :name", ["name": .text(name)]) { _ in true }
            ?? false
    }

    /// Removes a bucket with its unfinished uploads in parts. Returns their files, which must stay until the transaction is
    /// durable; nil where the bucket has objects.
    func removeBucket(_ name: String) throws -> [Int64]? {
        if let bucket = try bucket(named: name) {
            let values: Values = ["bucket": .integer(bucket)]
            let isUsed = try first("SELECT 1 AS used FROM objects WHERE bucket = :bucket LIMIT 1", values) { _ in true }
            guard isUsed == nil else { return nil }
            try run("DELETE FROM buckets WHERE id = :bucket", values)
        }
        try run("INSERT OR IGNORE INTO deletedBuckets (name) VALUES (:name)", ["name": .text(name)])
        return try multiparts(in: name, "", after: ("", ""), most: .max).flatMap { try removeMultipart($0.id) }
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
    }

    /// All but the time of the creation.
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
    /// Throws `bucketNotFound` where the bucket of a reference has to be made before objects are stored in it.
    package func checkBucket(of reference: Reference) async throws(StorageError) {
        guard buckets.named != nil else { return }
        try await store.read { [buckets] in try buckets.check(reference, in: $0) }
    }

    /// Throws `bucketNotFound` where it was deleted, or has to be made; any other name is that of a bucket.
    package func bucket(_ name: String) async throws(StorageError) -> StoredBucket {
        let root = try Reference(bucket: name, path: "")
        return try await store.read { [buckets] in try $0.bucket(at: root, buckets) }
    }

    /// The buckets that were made or have had an object, in the order of their names.
    ///
    /// - Parameters:
    ///   - pageToken: that of the page before. Throws `invalidArgument` for one of another list.
    ///   - most: at least 1.
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

    /// The names of the buckets that were made or have had an object. Throws `quotaExceeded` for more than `most`.
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

    /// Makes a bucket with these properties. Nil where it is there.
    package func make(_ wanted: StoredBucket) async throws(StorageError) -> StoredBucket? {
        try await store.write { [time] database in
            guard try database.bucket(named: wanted.name) == nil else { return nil }
            var bucket = wanted
            try database.make(&bucket, at: time.now())
            return bucket
        }
    }

    /// Changes a bucket, which comes into being where it need not be made. Throws as `bucket` does, and what `change` throws.
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

    /// False where it has objects. Throws as `bucket` does.
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
