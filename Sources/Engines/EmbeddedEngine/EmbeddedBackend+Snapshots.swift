import Checksums
import Database
import FoundationEssentials
import LocalFiles
import Platform
import Roots
import Storage
import TaskStore

// What a harness needs, and nobody else.
extension EmbeddedBackend {
    /// Stores small objects in one transaction. Replaced ones go.
    package func putAll(_ uploads: [Upload]) async throws(StorageError) {
        let garbage = try await store.write { [time, random, allowed] database in
            try uploads.compactMap { upload in
                let bytes: [UInt8]
                switch upload.source {
                case .data(let data): bytes = data
                case .file(let path, let identity):
                    bytes = try SourceFile(path, identity, in: allowed.reading).readWhole()
                case .incoming: throw StorageError(.internalError, "A seed has its bytes.")
                }
                let checksum = Checksum(of: bytes)
                try upload.checkMD5(checksum.md5)
                let object = NewObject(
                    reference: upload.reference, metadata: upload.metadata, size: Int64(bytes.count),
                    md5: checksum.md5, crc32c: checksum.crc32c, body: .bytes(bytes))
                return try database.put(object, token: random.uuid(), at: time.now()).garbage
            }
        }
        for file in garbage { remove(file) }
    }

    /// Objects of at most so many bytes are for `putAll`.
    package static var putAllLimit: Int64 { largestRow }

    /// Copies the root to a directory that is not there yet, while nothing changes it: the database, and the files under
    /// second names, since those of objects never change. Returns the number of objects and their bytes.
    package func save(into directory: String) async throws(StorageError) -> (objects: Int64, bytes: Int64) {
        try await files.run { [objectFiles] in
            Result { () throws(StorageError) in try RootCopy(objectFiles.root.path, directory).save(objectFiles) }
        }.get()
    }

    /// All objects, and their bytes.
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

    /// Copies what `save` has stored to the directory of a root that nobody has. Blocks.
    package static func restore(_ saved: String, into root: String) throws(StorageError) {
        try RootCopy(saved, root).restore()
    }
}

/// Copies the files of a root to another directory of the same file system.
private struct RootCopy {
    /// The files of uploads that are paused; they change when those go on.
    private static let parts = "parts"
    private let (from, to): (String, String)
    private let manager = FileManager.default

    init(_ from: String, _ to: String) { (self.from, self.to) = (from, to) }

    func save(_ files: ObjectFiles) throws(StorageError) -> (objects: Int64, bytes: Int64) {
        try trying {
            for name in ["objects", Self.parts, "spool"] { try makeDirectory(name) }
            let database = try Database(path: files.root.database, applicationID: StorageRoot.applicationID)
            try database.rows("VACUUM INTO :copy", ["copy": .text("\(to)/\(StorageRoot.databaseName)")]) { _ in }
            var totals: (objects: Int64, bytes: Int64) = (0, 0)
            try database.rows("SELECT count(*) AS objects, coalesce(sum(size), 0) AS bytes FROM objects") { row in
                totals = (try row.integer("objects"), try row.integer("bytes"))
            }
            try database.rows("SELECT id, state, task FROM files WHERE state <> 2") { row in
                let id = try row.integer("id")
                if try row.integer("state") == ObjectSchema.FileState.stored.rawValue {
                    try link("objects/\(id)")
                } else if try row.textOrNil("task") != nil {
                    try copy("objects/\(id)", "\(Self.parts)/\(id)")
                }
            }
            try forEach("spool", link)
            return totals
        }
    }

    func restore() throws(StorageError) {
        try trying {
            for name in ["objects", "spool"] { try makeDirectory(name) }
            try copy(StorageRoot.databaseName, StorageRoot.databaseName)
            try forEach("objects", link)
            try forEach("spool", link)
            try forEach(Self.parts) { try copy($0, "objects/" + $0.dropFirst(Self.parts.utf8.count + 1)) }
        }
    }

    private func trying<Value>(_ body: () throws -> Value) throws(StorageError) -> Value {
        do { return try body() } catch let error as StorageError { throw error } catch let error as DatabaseError {
            throw .database(error)
        } catch {
            throw StorageError(.unknown, "\(from) cannot be copied to \(to): \(error)")
        }
    }

    private func makeDirectory(_ name: String) throws {
        try manager.createDirectory(
            atPath: "\(to)/\(name)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func forEach(_ directory: String, _ body: (String) throws -> Void) throws {
        guard let names = try? manager.contentsOfDirectory(atPath: "\(from)/\(directory)") else { return }
        for name in names { try body("\(directory)/\(name)") }
    }

    private func link(_ name: String) throws {
        try OpenFile.link("\(from)/\(name)", to: "\(to)/\(name)")
    }

    private func copy(_ name: String, _ other: String) throws {
        try manager.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(other)")
    }
}
