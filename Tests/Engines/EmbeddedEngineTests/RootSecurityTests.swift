import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// The protection of a root against other users, symbolic links and removal.
@Suite(.watchdog) struct RootSecurityTests {
    private let scratch: Scratch
    private var root: String { scratch.path + "/root" }
    private let outside: String

    init() throws {
        scratch = try Scratch()
        outside = scratch.path + "/outside"
        for path in [outside, scratch.path + "/root"] { #expect(mkdir(path, 0o755) == 0 && chmod(path, 0o755) == 0) }
    }

    private func mode(_ name: String) -> mode_t {
        var status = stat()
        return lstat("\(root)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func refusal() throws -> String {
        try #require(#expect(throws: StorageRoot.OpenError.self) { _ = try StorageRoot(root) }).message
    }

    @Test func `All files of a root are private, even if the root directory is not`() async throws {
        let backend = try EmbeddedBackend(StorageRoot(root), time: .system)
        try await backend.put(noise(400_000), at: "large")
        try await backend.put([1], at: "small")
        #expect(mode(".") == 0o755 && mode("objects") == 0o700)
        for name in ["lock", "objects/1"] + ["", "-wal", "-shm", "-reserve"].map({ "storage.sqlite3" + $0 }) {
            #expect(mode(name) == 0o600, "\(name)")
        }
    }

    @Test(arguments: [
        "objects", "lock", "storage.sqlite3", "storage.sqlite3-wal", "storage.sqlite3-shm", "storage.sqlite3-journal",
        "storage.sqlite3-reserve",
    ])
    func `A root with a symbolic link in it is refused`(name: String) throws {
        for target in [outside, outside + "/none", try scratch.file("other", [7])] {
            #expect(symlink(target, "\(root)/\(name)") == 0)
            #expect(try refusal() == "The root \(root) cannot be used: \(name) is a symbolic link.")
            #expect(unlink("\(root)/\(name)") == 0)
        }
        #expect(try names(in: outside) == [] && contentsOf(scratch.path + "/other") == [7])
    }

    @Test func `A symbolic link that is created in an open root is not followed`() async throws {
        let backend = try EmbeddedBackend(StorageRoot(root), time: .system)
        try await backend.open()
        #expect(rename(root + "/storage.sqlite3", outside + "/stolen") == 0)
        #expect(symlink(outside + "/stolen", root + "/storage.sqlite3") == 0)
        let before = try contentsOf(outside + "/stolen")
        let error = try await failure { try await backend.put([1], at: "a") }
        #expect(error.message.contains(root + "/storage.sqlite3"))
        #expect(try contentsOf(outside + "/stolen") == before)
    }

    @Test func `A symbolic link in place of an object's file is not followed`() async throws {
        let other = try scratch.file("other", noise(400_000))
        let backend = try EmbeddedBackend(StorageRoot(root), time: .system)
        try await backend.put(noise(400_000), at: "a")
        #expect(unlink(root + "/objects/1") == 0 && symlink(other, root + "/objects/1") == 0)
        let unread = try await failure { _ = try await backend.bytes(of: "a") }
        #expect(
            unread.message
                == "The bytes of object a cannot be read: \(root)/objects/1: Too many levels of symbolic links.")
        for target in [other, outside + "/none"] {
            let next = try #require(backend.reserved.ready.first)
            #expect(unlink("\(root)/objects/\(next)") == 0 && symlink(target, "\(root)/objects/\(next)") == 0)
            try await backend.put(noise(360_000), at: "b")
            #expect(try await backend.bytes(of: "b") == noise(360_000))
            #expect(try names(in: root + "/objects").contains("\(next)"))
        }
        try await backend.delete(ref("a"), if: .init(), for: Caller(retryTime: .seconds(600)))
        await backend.filesAreIdle()
        #expect(try contentsOf(other) == noise(400_000) && names(in: outside) == [])
    }

    @Test func `A directory of objects that is replaced by a link is not followed`() async throws {
        let backend = try EmbeddedBackend(StorageRoot(root), time: .system)
        try await backend.put(noise(400_000), at: "a")
        #expect(rename(root + "/objects", root + "/moved") == 0 && symlink(outside, root + "/objects") == 0)
        try await backend.put(noise(360_000), at: "b")
        #expect(try await backend.bytes(of: "a") == noise(400_000))
        #expect(try names(in: outside) == [] && names(in: root + "/moved").contains("2"))
    }

    @Test func `A root may be a symbolic link, which is resolved once at the start`() async throws {
        let link = scratch.path + "/link"
        #expect(symlink(root, link) == 0)
        let backend = try EmbeddedBackend(StorageRoot(link), time: .system)
        try await backend.put([1], at: "a")
        #expect(unlink(link) == 0 && symlink(outside, link) == 0)
        try await backend.put(noise(400_000), at: "b")
        #expect(try names(in: outside) == [])
    }

    @Test(.enabled(if: geteuid() == 0, "needs to give files away"))
    func `A root with files of another user is refused`() throws {
        #expect(chown(root, 65534, 0) == 0)
        #expect(
            try refusal() == "The root \(root) cannot be used: it belongs to another user (65534); name another --root."
        )
        #expect(chown(root, 0, 0) == 0 && mkdir(root + "/objects", 0o777) == 0)
        #expect(chown(root + "/objects", 65534, 0) == 0)
        #expect(
            try refusal()
                == "The root \(root) cannot be used: objects belongs to another user (65534); name another --root.")
    }

    @Test func `Writes and reads fail with the path if the root is removed`() async throws {
        let file = try scratch.file("file", noise(400_000))
        let backend = try EmbeddedBackend(StorageRoot(root), time: .system)
        try await backend.put(noise(400_000), at: "a")
        let upload = try await backend.upload(file: file, to: "b")
        #expect(rename(root, outside + "/elsewhere") == 0)
        try await backend.put([1], at: "moved along")
        let (database, elsewhere) = (root + "/storage.sqlite3", outside + "/elsewhere")
        for name in try names(in: elsewhere + "/objects") { #expect(unlink("\(elsewhere)/objects/\(name)") == 0) }
        #expect(rmdir(elsewhere + "/objects") == 0)
        let unstored = try await failure { _ = try await backend.run(upload) }
        #expect(unstored.message.contains(root + "/objects/") && unstored.message.contains("No such file"))
        for name in try names(in: elsewhere) { #expect(unlink("\(elsewhere)/\(name)") == 0) }
        let gone = "The database \(database) is gone: No such file or directory."
        for _ in 0..<2 {
            #expect(try await failure { try await backend.put([1], at: "c") }.message == gone)
            #expect(try await failure { _ = try await backend.metadata(of: ref("a")) }.message == gone)
        }
        _ = try scratch.file("outside/elsewhere/storage.sqlite3", [])
        let replaced = "The database \(database) was replaced while it was in use."
        #expect(try await failure { try await backend.put([1], at: "c") }.message == replaced)
    }
}
