import Checksums
import Database
import Dispatch
import Platform
import Foundation
import Glibc
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// Each file in `objects` belongs to one object, whatever the database has lost.
@Suite(.watchdog(minutes: 10)) struct FileNumberTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// A root after the loss of its write-ahead log: one object is left, and the files of twelve lost ones.
    private func rootWithoutLog(damage: (Database) throws -> Void = { _ in }) async throws -> String {
        let (before, after) = (scratch.path + "/before", scratch.path + "/after")
        let backend = try EmbeddedBackend(StorageRoot(before), time: .system)
        try await backend.put(noise(400_000), at: "kept")
        try await backend.store.write { _ in }
        try FileManager.default.createDirectory(atPath: after, withIntermediateDirectories: false)
        try await backend.checkpoint()
        try FileManager.default.copyItem(atPath: before + "/storage.sqlite3", toPath: after + "/storage.sqlite3")
        // More than the reserved files, so that rows of files are lost, too.
        for number in 0..<12 { try await backend.put(noise(280_000, seed: 2), at: "lost \(number)") }
        try FileManager.default.copyItem(atPath: before + "/objects", toPath: after + "/objects")
        let database = try Database(path: after + "/storage.sqlite3", applicationID: StorageRoot.applicationID)
        try damage(database)
        try database.close()
        return after
    }

    @Test func `After a lost write-ahead log, lost objects' files are removed and new objects are intact`() async throws
    {
        let path = try await rootWithoutLog()
        let complaints = Complaints()
        let root = try StorageRoot(path)
        let backend = try EmbeddedBackend(root, time: .system, complain: complaints.take)
        try await backend.open()
        #expect(backend.numbers == [1])
        #expect(complaints.all.count == 1 && complaints.all.first?.contains("does not know 24 of the files") == true)
        for number in 0..<4 { try await backend.put(noise(360_000 + number), at: "new \(number)") }
        for number in 0..<4 {
            #expect(try await backend.bytes(of: "new \(number)") == noise(360_000 + number))
        }
        #expect(try await backend.bytes(of: "kept") == noise(400_000))
        #expect(backend.numbers == [1, 29, 30, 31, 32], "each number is used once")
    }

    @Test func `The sweep keeps a file that an object needs if the row of the file is lost`() async throws {
        let path = try await rootWithoutLog { try $0.execute("DELETE FROM files") }
        let root = try StorageRoot(path)
        let backend = try EmbeddedBackend(root, time: .system)
        #expect(try await backend.bytes(of: "kept") == noise(400_000))
        #expect(backend.numbers == [1])
    }

    @Test(arguments: 1...8) func `The sweep finds all files, whatever its batch size`(batchSize: Int) async throws {
        let place = try await EmbeddedFixture()
        for name in ["a", "b"] { try await place.backend.put(noise(360_000), at: name) }
        try await place.backend.store.write { database in
            try database.execute("INSERT INTO files (id, state) VALUES (103, 0), (105, 2), (107, 2), (111, 0)")
            try database.execute("UPDATE files SET state = 2 WHERE id = 2")
        }
        for number in 103...109 { _ = try place.scratch.file("root/objects/\(number)", [1]) }
        let complaints = Complaints()
        let database = try Database(path: place.root.database, applicationID: StorageRoot.applicationID)
        try Sweep(files: place.backend.objectFiles, database: database, complain: complaints.take, batchSize: batchSize)
            .run()
        #expect(place.backend.numbers == [1, 2])
        #expect(complaints.all.count == 1 && complaints.all.first?.contains("does not know 4 of the files") == true)
        #expect(try await place.contents().files == 2)
    }

    @Test func `The sweep of a damaged database removes no files without a row`() async throws {
        let path = try await rootWithoutLog()
        // Appends a page that no table uses, as damage.
        let file = try #require(fopen(path + "/storage.sqlite3", "r+"))
        #expect(fseek(file, 0, SEEK_END) == 0)
        let pages = UInt32(ftell(file) / 4096)
        fwrite([UInt8](repeating: 0, count: 4096), 1, 4096, file)
        #expect(fseek(file, 28, SEEK_SET) == 0)
        withUnsafeBytes(of: (pages + 1).bigEndian) { _ = fwrite($0.baseAddress, 1, 4, file) }
        #expect(fclose(file) == 0)
        let complaints = Complaints()
        let root = try StorageRoot(path)
        let backend = try EmbeddedBackend(root, time: .system, complain: complaints.take)
        #expect(try await backend.bytes(of: "kept") == noise(400_000))
        #expect(backend.numbers == Set(5...28).union([1]))
        #expect(complaints.all.count == 1 && complaints.all.first?.contains("it is damaged") == true)
        try await backend.put(noise(360_000), at: "new")
        #expect(try await backend.bytes(of: "new") == noise(360_000))
        #expect(backend.numbers == Set(5...29).union([1]))
    }

    @Test func `A file number whose file exists already is skipped`() async throws {
        let place = try await EmbeddedFixture()
        for number in [1, 2, 4] { _ = try place.scratch.file("root/objects/\(number)", noise(300_000, seed: 9)) }
        for number in 0..<3 { try await place.backend.put(noise(360_000 + number), at: "\(number)") }
        for number in 0..<3 { #expect(try await place.bytes(of: ref("\(number)")) == noise(360_000 + number)) }
        #expect(place.backend.numbers == [1, 2, 3, 4, 5, 6])
        for number: Int64 in [1, 2, 4] {
            #expect(try contentsOf(place.backend.objectFiles.path(of: number)) == noise(300_000, seed: 9))
        }
        #expect(try await place.contents().files == 3)
    }

    @Test func `At most eight files are reserved, and the next start removes them`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(360_000), at: "a")
        let ahead = place.backend.reserved.all
        #expect((1...8).contains(ahead.count) && !ahead.contains(1))
        let again = try await place.reopened()
        #expect(try again.names() == ["1"])
        #expect(try await again.contents() == Contents(objects: 1, rows: 0, files: 1, filesOnDisk: 1))
    }

    @Test func `A reserved file that is missing or not empty is not used`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(360_000), at: "a")
        for change: (String) -> Bool in [{ unlink($0) == 0 }, { truncate($0, 10) == 0 }] {
            let next = try #require(place.backend.reserved.all.first)
            #expect(change(place.backend.objectFiles.path(of: next)))
            try await place.backend.put(noise(360_004), at: "b")
            #expect(try await place.bytes(of: ref("b")) == noise(360_004))
            #expect(!place.backend.reserved.all.contains(next))
        }
    }

    @Test(arguments: ["0", "-1", "007", "9223372036854775807", "9223372036854775808", "note.txt"])
    func `The sweep keeps files with names that the engine does not use`(name: String) async throws {
        let place = try await EmbeddedFixture()
        _ = try place.scratch.file("root/objects/\(name)", [1])
        let again = try await place.reopened()
        #expect(try again.names() == [name])
        try await again.backend.put(noise(360_000), at: "a")
        #expect(try await again.bytes(of: ref("a")) == noise(360_000))
    }

    // MARK: - Files of other objects

    @Test func `Deleting an object whose row names another object's file keeps that file`() async throws {
        let place = try await EmbeddedFixture()
        for name in ["a", "b", "c"] { try await place.backend.put(noise(360_000), at: name) }
        try await place.backend.store.write { try $0.execute("UPDATE objects SET file = 1") }
        try await place.backend.put([1], at: "b")
        try await place.backend.delete(ref("c"), if: .init(), for: Caller(retryTime: .seconds(600)))
        await place.backend.filesAreIdle()
        #expect(place.backend.numbers == [1, 2, 3])
        #expect(try await place.reopened().backend.bytes(of: "a") == noise(360_000))
    }

    enum Continuation: CaseIterable { case resumed, discarded }

    @Test(arguments: Continuation.allCases)
    func `A bookmark that names another object's file does not change that file`(continuation: Continuation)
        async throws
    {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(360_000, seed: 7), at: "other")
        let path = try place.scratch.file("source", noise(5 * granule))
        var upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
        let mark = try UploadCheckpoint(text: #require(upload.bookmark).text)
        #expect(mark.file == 2)
        upload.bookmark = Bookmark(
            try UploadCheckpoint(file: 1, offset: 0, crc32c: 0, md5: Checksum().md5State).text)
        let again = try await place.reopened()
        let session = again.backend.beginUpload(upload)
        if continuation == .discarded { session.discard() }
        guard case .forgotten = await session.perform(.query) else { throw Aborted() }
        await again.backend.filesAreIdle()
        #expect(again.backend.numbers.contains(1))
        #expect(try await again.backend.bytes(of: "other") == noise(360_000, seed: 7))
    }
}

/// The messages that the engine logs.
final class Complaints: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func take(_ complaint: String) { list.withLock { $0.append(complaint) } }
}

extension EmbeddedBackend {
    /// The numbers of all files except the reserved ones.
    var numbers: Set<Int64> {
        var numbers: Set<Int64> = []
        objectFiles.forEachBatch(100) { numbers.formUnion($0) }
        return numbers.subtracting(reserved.all)
    }

    /// All bytes, verified.
    func bytes(of path: String) async throws -> [UInt8] {
        try await data(of: ref(path), maxSize: 1 << 20, for: Caller(retryTime: .seconds(600)))
    }

    /// Writes the whole write-ahead log into the database file.
    fileprivate func checkpoint() async throws {
        // The checkpoint needs a connection without a transaction.
        let database = try Database(path: objectFiles.root.database, applicationID: StorageRoot.applicationID)
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
}
