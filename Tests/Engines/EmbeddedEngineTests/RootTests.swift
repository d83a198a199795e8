import Database
import Foundation
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

@Suite(.watchdog(minutes: 10)) struct RootTests {
    @Test func `Opening a root in use is an error with the id of its process`() async throws {
        let place = try await EmbeddedFixture()
        let error = #expect(throws: StorageRoot.OpenError.self) { try StorageRoot(place.root.path) }
        #expect(
            error?.message.contains(place.root.path) == true && error?.message.contains("process \(getpid())") == true)
    }

    @Test func `A path that cannot be a root is an error that names it`() throws {
        let scratch = try Scratch()
        let file = try scratch.file("file", [])
        for path in [file, file + "/below", "/proc/none/root"] {
            let error = #expect(throws: StorageRoot.OpenError.self) { try StorageRoot(path) }
            #expect(error?.message.hasPrefix("The root \(path) cannot be used: ") == true)
        }
    }

    @Test func `A directory with other files is no root, unless a process has taken it before`() throws {
        let scratch = try Scratch()
        func refusal(_ files: [String: String]) throws -> String? {
            let path = scratch.path + "/\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)")) }
            do throws(StorageRoot.OpenError) { _ = try StorageRoot(path) } catch {
                #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == files.count)
                return error.message.replacing(path, with: "R")
            }
            return nil
        }
        let foreign =
            "The root R cannot be used: it is not empty and holds no storage; choose an empty or new directory."
        #expect(try refusal(["notes.txt": ""]) == foreign)
        #expect(try refusal(["lock": "yes", "notes.txt": ""]) == foreign)
        #expect(try refusal([:]) == nil)
        #expect(try refusal(["lost+found": ""]) == nil, "a new file system")
        #expect(try refusal(["lock": "", "service.log": "x"]) == nil, "killed before it wrote its id")
        #expect(try refusal(["lock": "7\n", "storage.sqlite3-new": "x"]) == nil, "killed before it had a database")
        #expect(try refusal(["lock": "7\nstorage-rpc serve\n", "notes.txt": ""]) == nil)
        #expect(try refusal(["1": "", "socket-http___h_1": ""]) == nil, "the tasks of a remote engine")
    }

    @Test func `A new root is private, and missing parent directories are created`() throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/a/b/c")
        var status = stat()
        #expect(stat(root.path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test func `A start removes the leftovers of a crash and keeps stored objects`() async throws {
        let place = try await EmbeddedFixture()
        let kept = noise(400_000)
        try await place.backend.put(kept, at: "kept")
        try await place.backend.store.write { database in
            _ = try database.run("INSERT INTO files (id, state) VALUES (100, 0), (101, 2), (102, 0)")
        }
        for id in [100, 101] { _ = try place.scratch.file("root/objects/\(id)", noise(10)) }
        let again = try await place.reopened()
        #expect(try await again.contents() == Contents(objects: 1, rows: 0, files: 1, filesOnDisk: 1))
        #expect(try await again.bytes(of: ref("kept")) == kept)
        try await again.backend.put(noise(400_000), at: "new")
        #expect(try await again.contents().filesOnDisk == 2)
    }

    @Test func `A start removes the file of an abandoned upload`() async throws {
        let place = try await EmbeddedFixture()
        let session = place.backend.beginUpload(.data(noise(900_000), to: try ref("a")))
        #expect(await session.perform(.open) == .opened())
        #expect(await session.perform(.send(0..<300_000)) == .received(upTo: 300_000))
        #expect(try await place.contents() == Contents(objects: 0, rows: 0, files: 1, filesOnDisk: 1))
        #expect(try await place.reopened().contents() == .none)
    }

    @Test func `A clock that was set back does not set generations back`() async throws {
        let place = try await EmbeddedFixture()
        let ahead: Int64 = 9_000_000_000_000_000
        try await place.backend.store.write {
            _ = try $0.run("UPDATE counters SET generation = :generation", ["generation": .integer(ahead)])
        }
        let again = try await place.reopened()
        #expect(try await again.backend.put([1], at: "a").generation == ahead + 1)
        #expect(try await again.backend.put([1], at: "a").generation == ahead + 2)
    }

    @Test func `A database of a newer version is refused`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.store.write { try $0.execute("PRAGMA user_version = 99") }
        let error = try await failure { _ = try await place.reopened() }
        #expect(error.message.contains(place.root.database) && error.message.contains("newer version"))
    }

    @Test func `A damaged database causes an error that names it`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        _ = try scratch.file("root/storage.sqlite3", noise(8192))
        let backend = try EmbeddedBackend(root, time: .system)
        let error = try await failure { try await backend.open() }
        #expect(error.message.contains(root.database))
        let later = try await failure { try await backend.put([1], at: "a") }
        #expect(later == error, "and stays one")
    }

    @Test func `A root that a process was making when it ended is made again`() async throws {
        let scratch = try Scratch()
        try #require(mkdir(scratch.path + "/root", 0o700) == 0)
        for suffix in ["", "-wal", "-shm", "-journal"] {
            _ = try scratch.file("root/storage.sqlite3-new" + suffix, noise(8192))
        }
        // An earlier release began with an empty file.
        _ = try scratch.file("root/storage.sqlite3", [])
        _ = try scratch.file("root/storage.sqlite3-wal", noise(8192))
        let backend = try EmbeddedBackend(StorageRoot(scratch.path + "/root"), time: .system)
        let stored = try await backend.put([1], at: "a")
        #expect(try await backend.metadata(of: ref("a")) == stored)
        let files = try names(in: scratch.path + "/root")
        #expect(!files.contains { $0.hasPrefix("storage.sqlite3-new") }, "\(files)")
        let mode = try FileStatus(ofPath: scratch.path + "/root/storage.sqlite3").permissions & 0o777
        #expect(mode == 0o600)
    }

    @Test func `Calls before the root is open wait for it`() async throws {
        let scratch = try Scratch()
        let backend = try EmbeddedBackend(StorageRoot(scratch.path + "/root"), time: .system)
        let stored = try await backend.put(noise(400_000), at: "a")
        #expect(try await backend.metadata(of: ref("a")) == stored)
    }

    @Test func `A failing write does not fail the others in its commit`() async throws {
        let place = try await EmbeddedFixture()
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                group.addTask {
                    do {
                        if number % 3 == 0 {
                            _ = try await place.backend.updateMetadata(of: ref("missing"), .init())
                        } else {
                            try await place.backend.put([1], at: "\(number)")
                        }
                        return true
                    } catch { return number % 3 != 0 || (error as? StorageError)?.code != .objectNotFound }
                }
            }
            #expect(await group.reduce(0) { $0 + ($1 ? 1 : 0) } == 40)
        }
        #expect(try await place.contents().objects == 40)
    }
}
