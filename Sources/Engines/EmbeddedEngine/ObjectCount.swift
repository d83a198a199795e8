import Database
import Roots
import Storage

extension EmbeddedBackend {
    /// The number of objects that are counted in one read, which other reads wait for.
    package static let countedAtOnce: Int64 = 10_000

    /// The number of objects of all buckets. Objects that are stored or deleted meanwhile may be counted or not.
    package func objectCount(atOnce: Int64 = countedAtOnce) async throws(StorageError) -> Int64 {
        var (count, last): (Int64, ObjectPlace?) = (0, ObjectPlace(bucket: 0, name: []))
        while let place = last {
            let next = try await store.read { try $0.place(after: place, by: atOnce) }
            if next == nil { count += try await store.read { try $0.countObjects(after: place) } }
            if next != nil { count += atOnce }
            last = next
        }
        return count
    }
}

/// The key of an object's row.
private struct ObjectPlace: Sendable {
    let bucket: Int64
    let name: [UInt8]

    var values: Values { ["bucket": .integer(bucket), "name": .blob(name)] }
}

extension Database {
    fileprivate func place(after place: ObjectPlace, by count: Int64) throws -> ObjectPlace? {
        try first(
            """
            SELECT bucket, name FROM objects WHERE (bucket, name) > (:bucket, :name) ORDER BY bucket, name
            LIMIT 1 OFFSET \(count - 1)
            """, place.values
        ) { ObjectPlace(bucket: try $0.integer("bucket"), name: try $0.blob("name")) }
    }

    fileprivate func countObjects(after place: ObjectPlace) throws -> Int64 {
        try first("SELECT count(*) AS count FROM objects WHERE (bucket, name) > (:bucket, :name)", place.values) {
            try $0.integer("count")
        } ?? 0
    }
}
