import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// Where a backup grows, and what it leaves.
@Suite(.watchdog) struct BackupTests {
    private let scratch: Scratch
    private var root: String { scratch.path + "/root" }
    private var place: String { scratch.path + "/shared" }
    private static let prefix = ".storage-rpc-backup-"

    init() async throws {
        scratch = try Scratch()
        try #require(mkdir(scratch.path + "/shared", 0o700) == 0)
        let backend = try EmbeddedBackend(StorageRoot(scratch.path + "/root"), time: .system)
        try await backend.put(noise(400_000), at: "a")
        await backend.close()
    }

    private func error(_ body: () throws -> Void) throws -> StorageError {
        var found: StorageError?
        do { try body() } catch { found = error as? StorageError }
        return try #require(found, "no storage error was thrown")
    }

    @Test func `A backup is private, and leaves nothing beside it`() throws {
        #expect(try RootBackup.make(of: root, in: place + "/copy") == (1, 400_000))
        #expect(try FileStatus(ofPath: place + "/copy").permissions == 0o700)
        #expect(try names(in: place) == ["copy"])
    }

    @Test func `An existing directory is not used`() throws {
        let made = "\(place)/copy.unfinished-\(getpid())"
        #expect(mkdir(made, 0o777) == 0)
        _ = try RootBackup.make(of: root, in: place + "/copy")
        #expect(try names(in: made) == [])
    }

    @Test func `A root and a place behind symbolic links are backed up`() throws {
        try #require(mkdir(place + "/real", 0o700) == 0)
        for (target, name) in [(root, "root"), (place + "/real", "linked")] {
            try #require(symlink(target, "\(place)/to-\(name)") == 0)
        }
        #expect(try RootBackup.make(of: place + "/to-root", in: place + "/to-linked/copy") == (1, 400_000))
    }

    @Test func `The next backup removes what a killed one has left`() throws {
        for name in ["left", "left/objects"] { #expect(mkdir("\(place)/\(Self.prefix)\(name)", 0o700) == 0) }
        _ = try scratch.file("shared/\(Self.prefix)left/objects/1", [7])
        _ = try RootBackup.make(of: root, in: place + "/copy")
        #expect(try names(in: place) == ["copy"])
    }

    @Test func `A backup leaves alone what another one is making, and what only has such a name`() throws {
        let other = try ScratchDirectory(in: place, named: Self.prefix)
        _ = try scratch.file("shared/\(Self.prefix)file", [7])
        #expect(symlink(root, "\(place)/\(Self.prefix)link") == 0)
        let before = try names(in: place)
        _ = try RootBackup.make(of: root, in: place + "/copy")
        #expect(try Set(names(in: place)) == Set(before + ["copy"]))
        #expect(before.count == 3 && access(root + "/storage.sqlite3", F_OK) == 0)
        other.remove()
    }

    @Test func `A place that is taken is refused, and keeps what it has`() throws {
        let (file, link) = (try scratch.file("shared/file", [7]), place + "/link")
        #expect(symlink(scratch.path + "/elsewhere", link) == 0)
        for path in [file, link] {
            let refused = try error { _ = try RootBackup.make(of: root, in: path) }
            #expect(refused.message == "\(path) exists, and is not a directory.")
        }
        #expect(mkdir(place + "/full", 0o700) == 0)
        _ = try scratch.file("shared/full/file", [7])
        #expect(
            try error { _ = try RootBackup.make(of: root, in: place + "/full") }.message
                == "\(place)/full is not empty.")
        #expect(
            try error { _ = try RootBackup.make(of: root, in: "") }.message == "A backup needs a directory with a name."
        )
        #expect(try names(in: place).count == 3 && access(scratch.path + "/elsewhere", F_OK) != 0)
        #expect(mkdir(place + "/empty", 0o700) == 0)
        #expect(try RootBackup.make(of: root, in: place + "/empty/").objects == 1)
    }

    @Test(.enabled(if: geteuid() == 0, "needs to give files away"))
    func `A directory of another user is not filled`() throws {
        let path = place + "/theirs"
        #expect(mkdir(path, 0o777) == 0 && chown(path, 65534, 0) == 0)
        #expect(
            try error { _ = try RootBackup.make(of: root, in: path) }.message
                == "\(path) belongs to another user (65534).")
        let left = "\(place)/\(Self.prefix)theirs"
        #expect(mkdir(left, 0o777) == 0 && chown(left, 65534, 0) == 0)
        _ = try RootBackup.make(of: root, in: place + "/copy")
        #expect(access(left, F_OK) == 0)
    }
}
