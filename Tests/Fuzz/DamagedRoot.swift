import Checksums
import FoundationEssentials
import Glibc
import Platform
import Storage

@testable import EmbeddedEngine
@testable import TaskStore
@testable import Roots
@testable import Database

/// A root with some dozen objects, whose database is written again for each input, and then damaged.
final class DamagedRoot {
    let root: StorageRoot
    let objectFiles: ObjectFiles
    /// What was stored, by reference.
    private(set) var objects: [Reference: [UInt8]] = [:]
    private var files: [String: [UInt8]] = [:]
    private(set) var template: [UInt8] = []
    /// The objects stored since, and the write-ahead log that has them.
    private(set) var latest: [Reference: [UInt8]] = [:]
    private(set) var log: [UInt8] = []

    init() throws {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        root = try StorageRoot("\(directory)/root-\(getpid())")
        objectFiles = try ObjectFiles(in: root)
        let database = try open()
        try database.transaction { try fill(database) }
        // Nothing in it may depend on when it was made: findings have to be found again.
        try database.execute(
            """
            UPDATE objects SET timeCreated = 1700000000000000, updated = 1700000000000000, downloadTokens = 'token';
            VACUUM
            """)
        try database.close()
        template = try Array(Data(contentsOf: URL(filePath: root.database)))
        try writeLog()
    }

    func open() throws(StorageError) -> Database {
        try EmbeddedBackend.openAndSweep(objectFiles, TaskFiles(in: root)) { _ in }
    }

    private func writeLog() throws {
        let database = try open()
        for (number, size) in [(6, 70_000), (0, 10), (7, 300)] {
            let bytes = [UInt8](repeating: UInt8(number), count: size)
            let reference = try Reference(bucket: "latest", path: "\(number)")
            try database.transaction {
                if number > 0 {
                    try database.run("INSERT INTO files (id, state) VALUES (:id, 0)", ["id": .integer(Int64(number))])
                }
                _ = try database.put(
                    NewObject(reference, bytes, file: number > 0 ? Int64(number) : nil), token: "t",
                    at: TimeSource.system.now(), Generations())
            }
            latest[reference] = bytes
            if number > 0 { files[objectFiles.path(of: Int64(number))] = bytes }
        }
        log = try Array(Data(contentsOf: URL(filePath: root.database + "-wal")))
        try database.close()
    }

    private func fill(_ database: Database) throws {
        try database.run("UPDATE counters SET generation = 9000000000000000")
        for number in 0..<48 { try put("n/\(number)", [UInt8](repeating: UInt8(number), count: number), database) }
        for (index, name) in ["a", "b/c", "b/c/d", "b/c/e/f", "ü", "empty"].enumerated() {
            try put(name, [UInt8](repeating: UInt8(index), count: index == 3 ? 6000 : 5 - index), database)
        }
        for (id, name) in [(1, "b/large"), (2, "large"), (3, "z")] {
            try database.run("INSERT INTO files (id, state) VALUES (:id, 0)", ["id": .integer(Int64(id))])
            try put(name, [UInt8](repeating: UInt8(id), count: 100 * id), database, file: Int64(id))
        }
        // What a crash has left.
        try database.run("INSERT INTO files (id, state) VALUES (4, 0), (5, 2)")
        for id in [4, 5] { files[objectFiles.path(of: Int64(id))] = [] }
    }

    private func put(_ name: String, _ bytes: [UInt8], _ database: Database, file: Int64? = nil) throws {
        let reference = try Reference(bucket: "b", path: name)
        let object = NewObject(reference, bytes, file: file)
        _ = try database.put(object, token: "t", at: TimeSource.system.now(), Generations())
        objects[reference] = bytes
        if let file { files[objectFiles.path(of: file)] = bytes }
    }

    /// Everything as it was, but for the database, which is this.
    func restore(_ bytes: [UInt8], log: [UInt8] = []) throws {
        for ending in ["-wal", "-shm", "-journal"] { unlink(root.database + ending) }
        for (path, bytes) in files { try write(bytes, path) }
        try write(bytes, root.database)
        if !log.isEmpty { try write(log, root.database + "-wal") }
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }
}

extension NewObject {
    init(_ reference: Reference, _ bytes: [UInt8], file: Int64? = nil) {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "text/plain"]
        if bytes.count % 3 == 0 { metadata.custom = ["key": "value", "other": "\(bytes.count)"] }
        let checksum = Checksum(of: bytes)
        self.init(
            reference: reference, metadata: metadata, size: Int64(bytes.count), md5: checksum.md5,
            crc32c: checksum.crc32c, body: file.map { .file($0) } ?? .bytes(bytes))
    }
}
