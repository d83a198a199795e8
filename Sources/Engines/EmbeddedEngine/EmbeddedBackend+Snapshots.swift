import Checksums
import Database
import LocalFiles
import Platform
import Roots
import Storage
import TaskStore

// Operations for a harness only.
extension EmbeddedBackend {
    /// Stores small objects, which may replace others, in one transaction.
    package func putAll(_ uploads: [Upload]) async throws(StorageError) {
        let garbage = try await changing { [time, random, allowed, buckets, generations] database in
            let stored = try uploads.map { upload in
                try buckets.check(upload.reference, in: database)
                let bytes: [UInt8]
                switch upload.source {
                case .data(let data): bytes = data
                case .file(let path, let identity):
                    bytes = try SourceFile(path, identity, in: allowed.reading).readWhole()
                case .incoming, .object: throw StorageError(.internalError, "A seed has its bytes.")
                }
                let checksum = Checksum(of: bytes)
                try upload.checkMD5(checksum.md5)
                let object = NewObject(
                    reference: upload.reference, metadata: upload.metadata, size: Int64(bytes.count),
                    md5: checksum.md5, crc32c: checksum.crc32c, body: .bytes(bytes))
                return try database.put(object, token: random.uuid(), at: time.now(), generations)
            }
            return (stored.compactMap(\.garbage), stored.flatMap(\.changes))
        }
        for file in garbage { remove(file) }
    }

    /// The maximum size of an object for `putAll`, in bytes.
    package static var putAllLimit: Int64 { largestRow }

    /// Copies the root to a directory that must not exist. Returns the number of objects and their bytes.
    package func save(into directory: String) async throws(StorageError) -> (objects: Int64, bytes: Int64) {
        try await settleGenerations()
        return try await files.run { [root = objectFiles.root.path] in
            Result { () throws(StorageError) in
                do { return try RootCopy(root, to: directory).make() } catch {
                    throw .copying(root, to: directory, error)
                }
            }
        }.get()
    }

    /// All objects with their sizes.
    package func sizes() async throws(StorageError) -> [(Reference, Int64)] {
        try await store.read { database in
            var sizes: [(Reference, Int64)] = []
            try database.rows(
                "SELECT buckets.name AS bucket, objects.name AS object, size FROM objects "
                    + "JOIN buckets ON buckets.id = objects.bucket"
            ) { row in
                let name = String(decoding: try row.blob("object"), as: UTF8.self)
                sizes.append((try Reference(bucket: row.text("bucket"), object: name), try row.integer("size")))
            }
            return sizes
        }
    }

    /// Copies a root that `save` has stored to the directory of a root that no process uses. Blocks.
    package static func restore(_ saved: String, into root: String) throws(StorageError) {
        do { try RootCopy(saved, to: root).make(isInUse: false) } catch {
            throw .copying(saved, to: root, error)
        }
    }
}
