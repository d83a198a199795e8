import Checksums
import Foundation
import Glibc
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import LocalFiles
@testable import Roots

@Suite(.watchdog(minutes: 10)) struct DirectoryTreeTests {
    private let scratch: Scratch
    private let threads = WorkerThreads("tree", limit: 4)
    private var path: String { scratch.path + "/tree" }

    init() throws {
        scratch = try Scratch()
        for name in ["tree", "tree/sub", "tree/sub/deep", "out"] { try make(name) }
        for name in ["tree/file", "tree/sub/other", "out/secret"] { _ = try scratch.file(name, [1, 2, 3]) }
    }

    private func make(_ name: String) throws { try #require(mkdir(scratch.path + "/" + name, 0o700) == 0) }

    private func tree(
        _ path: String? = nil, _ policy: FileAccessPolicy = .everywhere, isWritten: Bool = true
    ) -> DirectoryTree {
        DirectoryTree(path ?? self.path, in: policy, isWritten: isWritten, on: threads)
    }

    private func all(_ tree: DirectoryTree, in directory: String = "", most: Int = 2) async throws -> [LocalEntry] {
        let reader = try await tree.read(directory)
        var found: [LocalEntry] = []
        while case let piece = try await reader.next(most), !piece.isEmpty {
            #expect(piece.count <= most)
            found += piece
        }
        #expect(try await reader.next(most).isEmpty)
        return found.map(\.withoutVersion).sorted { $0.path < $1.path }
    }

    private func object(_ bytes: [UInt8], md5: Bool = true, crc32c: Bool = true) -> FolderObject {
        let checksum = Checksum(of: bytes)
        return FolderObject(
            generation: 1, size: Int64(bytes.count),
            checksums: Checksums(
                md5: md5 ? checksum.md5 : nil, crc32c: crc32c ? checksum.crc32c : nil))
    }

    @Test func `A use after the end of the work holds no descriptor`() async throws {
        func held() throws -> Int {
            let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return all.count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix(path)
                    == true
            }
        }
        let tree = tree()
        _ = try await tree.entry("sub/other")
        #expect(try held() > 0)
        tree.end()
        #expect(try held() == 0)
        _ = try await tree.entry("sub/other")
        #expect(try held() == 0)
    }

    // MARK: - Reading

    @Test func `A directory is read with the paths, kinds and sizes of its entries`() async throws {
        let tree = tree()
        #expect(try await all(tree) == [LocalEntry("file", .file, size: 3), LocalEntry("sub", .directory)])
        #expect(
            try await all(tree, in: "sub") == [
                LocalEntry("sub/deep", .directory), LocalEntry("sub/other", .file, size: 3),
            ])
        #expect(try await all(tree, in: "sub/deep").isEmpty)
        #expect(try await tree.entry("sub/other")?.withoutVersion == LocalEntry("sub/other", .file, size: 3))
        #expect(try await tree.entry("") == LocalEntry("", .directory))
        for missing in ["none", "none/none", "file/none", "sub/none"] { #expect(try await tree.entry(missing) == nil) }
        #expect(tree.absolute("sub/other") == path + "/sub/other" && tree.absolute("") == path)
        #expect(self.tree("/").absolute("etc") == "/etc")
    }

    @Test func `Links, sockets, pipes and names that are not UTF-8 are refused`() async throws {
        try #require(symlink(scratch.path + "/out/secret", path + "/link") == 0)
        try #require(symlink("sub", path + "/link to sub") == 0 && mkfifo(path + "/pipe", 0o600) == 0)
        try #require(mknod(path + "/socket", S_IFSOCK | 0o600, 0) == 0)
        let latin = (path + "/caf").utf8CString.dropLast() + [CChar(bitPattern: 0xE9), 0]
        try #require(close(open(Array(latin), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) == 0)
        let found = try await all(tree())
        let expected = [
            "link": "is a symbolic link", "link to sub": "is a symbolic link", "pipe": "is a pipe",
            "socket": "is a socket",
            "caf\u{FFFD}": "has a name that is not UTF-8",
        ]
        for (name, why) in expected { #expect(found.contains(LocalEntry(name, .other(why)))) }
        #expect(found.count == expected.count + 2)
        #expect(try await tree().entry("link") == LocalEntry("link", .other("is a symbolic link")))
    }

    @Test func `Partial files of downloads are skipped in a directory`() async throws {
        let task = "01234567-89ab-4def-8123-456789abcdef"
        for name in [".a.\(task).part", ".a.b.\(task).12.part"] { _ = try scratch.file("tree/sub/deep/" + name, [1]) }
        #expect(try await all(tree(), in: "sub/deep").isEmpty)
        let others = ["a.\(task).part", ".\(task).part", ".a.\(task).x.part", ".a.\(task).part2", ".a.part", ".part"]
        for name in others { _ = try scratch.file("tree/sub/deep/" + name, [1]) }
        #expect(try await all(tree(), in: "sub/deep").map(\.path) == others.map { "sub/deep/" + $0 }.sorted())
    }

    @Test func `A link on the way is not followed`() async throws {
        try #require(symlink(scratch.path + "/out", path + "/link") == 0)
        try #require(symlink("..", path + "/sub/up") == 0)
        let tree = tree()
        for way in ["link", "sub/up/sub", "sub/up"] {
            let error = try await failure { _ = try await tree.read(way) }
            #expect(error.message == "Directory \(path)/\(way) cannot be read: Not a directory." && error.file != nil)
            #expect(try await tree.entry(way + "/secret") == nil)
            #expect(try await tree.remove(way + "/secret", nil) == false)
            #expect(try await tree.hasBytes(way + "/secret", of: object([1, 2, 3])) == false)
        }
        let error = try await failure { try await tree.makeParents(of: "link/new/file", newFilesMask: nil) }
        #expect(error == .file(path + "/link", "is not a directory but a symbolic link"))
        #expect(try contentsOf(scratch.path + "/out/secret") == [1, 2, 3])
    }

    @Test(arguments: ["..", ".", "a/../b", "../out", "sub//other", "/file", "sub/", "a\0b", "./file"])
    func `A path that could lead out of the tree is refused`(way: String) async throws {
        let tree = tree()
        for error in [
            try await failure { _ = try await tree.read(way) }, try await failure { _ = try await tree.entry(way) },
            try await failure { _ = try await tree.remove(way, nil) },
            try await failure { try await tree.makeParents(of: way, newFilesMask: nil) },
        ] {
            #expect(error.code == .unknown && error.file == tree.absolute(way))
        }
    }

    @Test(arguments: [0, 1, 700_000])
    func `A file is compared by its MD5, or without one by its CRC32C`(size: Int) async throws {
        let bytes = noise(size)
        _ = try scratch.file("tree/sub/new", bytes)
        let tree = tree(isWritten: false)
        for known in [object(bytes), object(bytes, md5: false), object(bytes, crc32c: false)] {
            #expect(try await tree.hasBytes("sub/new", of: known))
            var other = known
            (other.checksums.md5, other.checksums.crc32c) = (
                other.checksums.md5.map { $0.reversed() }, other.checksums.crc32c.map { ~$0 }
            )
            #expect(try await !tree.hasBytes("sub/new", of: other))
            other = known
            other.size += 1
            #expect(try await !tree.hasBytes("sub/new", of: other))
        }
        #expect(try await !tree.hasBytes("sub/new", of: object(bytes, md5: false, crc32c: false)))
        for nothing in ["none", "sub", "none/file"] { #expect(try await !tree.hasBytes(nothing, of: object(bytes))) }
    }

    @Test func `Files of several directories are compared in one call`() async throws {
        try #require(symlink("other", path + "/sub/link") == 0)
        let files = ["file", "sub/other", "sub/none", "sub/link", "sub/../file", "sub/deep/none", "sub/other", "file"]
        let tree = tree(isWritten: false), object = object([1, 2, 3])
        #expect(
            try await tree.haveBytes(files.map { ($0, object) }, knownTo: nil) == [
                true, true, false, false, false, false, true, true,
            ])
    }

    /// Answers the same checksums for every file, and records its calls.
    private final class Index: FileChecksums {
        let said: Checksums?
        private let notes = Mutex<[FileStamp: Checksums]>([:])
        var told: [Checksums] { notes.withLock { Array($0.values) } }
        let now: Timestamp

        init(_ said: Checksums?, now: Timestamp = .init(microseconds: .max)) {
            (self.said, self.now) = (said, now)
        }

        func known(_ files: [FileStamp]) async -> [FileStamp: Checksums] {
            said.map { said in Dictionary(files.map { ($0, said) }) { $1 } } ?? [:]
        }

        func note(_ files: [FileStamp: Checksums]) { notes.withLock { $0.merge(files) { $1 } } }
    }

    @Test func `A file whose checksums are known is not read, and those of others are remembered`() async throws {
        let tree = tree(isWritten: false), object = object([1, 2, 3])
        let same = object.checksums, other = Checksums(md5: [0], crc32c: 0)
        #expect(try await tree.haveBytes([("file", object)], knownTo: Index(other)) == [false], "nothing is read")
        #expect(try await tree.haveBytes([("none", object)], knownTo: Index(same)) == [false])
        let new = Index(nil)
        #expect(try await tree.haveBytes([("file", object)], knownTo: new) == [true])
        #expect(new.told.map { $0.agree(with: object.checksums.strongest) } == [true])
        let young = Index(nil, now: .init(microseconds: 0))
        #expect(try await tree.haveBytes([("file", object)], knownTo: young) == [true])
        #expect(young.told.isEmpty, "a file may be written again within one tick of its clock")
    }

    @Test func `A comparison ends when its caller is cancelled`() async throws {
        let file = try OpenFile(path + "/large", [.readingAndWriting, .create])
        try file.truncate(to: 1 << 40)
        let object = FolderObject(generation: 1, size: 1 << 40, checksums: Checksums(md5: []))
        let comparison = Task { try await tree().hasBytes("large", of: object) }
        comparison.cancel()
        #expect(try await failure { _ = try await comparison.value }.code == .cancelled)
    }

    @Test(.disabled(if: geteuid() == 0, "nothing is unreadable to root"))
    func `An unreadable directory is an error that names it`() async throws {
        try #require(chmod(path + "/sub", 0) == 0)
        defer { chmod(path + "/sub", 0o700) }
        let error = try await failure { _ = try await tree().read("sub") }
        #expect(error.message == "Directory \(path)/sub cannot be read: Permission denied.")
    }

    @Test func `A directory that is missing or no directory cannot be read`() async throws {
        for (way, why) in [("none", "No such file or directory"), ("file", "Not a directory")] {
            for (tree, way) in [(tree(), way), (tree(path + "/" + way), "")] {
                let error = try await failure { _ = try await tree.read(way) }
                let absolute = tree.absolute(way)
                #expect(error.message == "Directory \(absolute) cannot be read: \(why)." && error.file == absolute)
            }
            #expect(try await tree(path + "/" + way).entry("") == nil)
        }
        let error = try await failure { _ = try await tree("tree").read("") }
        #expect(error == .file("tree", "cannot be used: it needs an absolute path"))
    }

    @Test func `A directory of many entries is read in pieces`() async throws {
        let count = 20_000
        for number in 0..<count { close(open("\(path)/sub/deep/\(number)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) }
        let names = try await all(tree(), in: "sub/deep", most: 500).map(\.path)
        #expect(Set(names) == Set((0..<count).map { "sub/deep/\($0)" }) && names.count == count)
    }

    @Test func `A tree may be deeper than the longest path of the system`() async throws {
        let name = String(repeating: "n", count: 200)
        let way = Array(repeating: name, count: 40).joined(separator: "/")
        let tree = tree()
        try await tree.makeParents(of: way + "/file", newFilesMask: nil)
        #expect(try await tree.entry(way) == LocalEntry(way, .directory))
        #expect(try await all(tree, in: way).isEmpty)
        // No program removes it by one path.
        try #require(rename(path + "/" + name, scratch.path + "/deep") == 0)
        try flatten(scratch.path + "/deep", name)
    }

    private func flatten(_ directory: String, _ name: String) throws {
        let below = scratch.path + "/below"
        while rename("\(directory)/\(name)", below) == 0 {
            try #require(rmdir(directory) == 0 && rename(below, directory) == 0)
        }
        try #require(rmdir(directory) == 0)
    }

    // MARK: - Writing

    @Test func `Missing directories are created with the umask of the client`() async throws {
        let new = path + "/x/y"
        try await tree(new).makeParents(of: "a/b/file", newFilesMask: 0o027)
        for made in [path + "/x", new, new + "/a", new + "/a/b"] {
            let status = try FileStatus(ofPath: made)
            #expect(status.kind == .directory && status.permissions == 0o750)
        }
        try await tree(new).makeParents(of: "a/b/other", newFilesMask: 0)
        try await tree(new).makeParents(of: "file", newFilesMask: 0)
        #expect(try FileStatus(ofPath: new + "/a/b").permissions == 0o750)
        try await tree(path + "/z/./q//").makeParents(of: "file", newFilesMask: nil)
        #expect(try FileStatus(ofPath: path + "/z/q").kind == .directory)
    }

    @Test func `The names of all directories above a file become durable with one sync each`() async throws {
        let synced = Mutex<[FileStatus.Key]>([]), failing = Mutex<FileStatus.Key?>(nil)
        func tree() -> DirectoryTree {
            DirectoryTree(path + "/new", in: .everywhere, isWritten: true, on: threads) { opened throws(SystemError) in
                let key = try opened.status().key
                synced.withLock { $0.append(key) }
                if failing.withLock({ $0 == key }) { throw SystemError(code: EIO) }
            }
        }
        func key(_ directory: String) throws -> FileStatus.Key { try FileStatus(ofPath: path + directory).key }
        let first = tree()
        for file in ["a/b/file", "a/c/file"] { try await first.makeParents(of: file, newFilesMask: 0) }
        failing.withLock { $0 = try? key("/new") }
        #expect(await first.syncNames(of: ["a/b", "a/c"]).allSatisfy { $0?.message.contains("new/a/") == true })
        failing.withLock { $0 = nil }
        #expect(await first.syncNames(of: ["a/b", "a/c"]) == [nil, nil])
        synced.withLock { $0 = [] }
        #expect(await first.syncNames(of: ["a/b", "a/c"]) == [nil, nil])
        #expect(synced.withLock { $0.isEmpty })
        // The tree of the next process finds the directories, and does not know whether their names are durable.
        let next = tree()
        try await next.makeParents(of: "a/b/file", newFilesMask: 0)
        #expect(await next.syncNames(of: ["a/b", "a/c"]) == [nil, nil])
        for directory in ["/new/a", "/new", ""] {
            let key = try key(directory)
            #expect(synced.withLock { $0.count { $0 == key } } == 1)
        }
        // A directory that is made again has no durable name.
        try #require(rmdir(path + "/new/a/b") == 0)
        try await first.makeParents(of: "a/b/file", newFilesMask: 0)
        synced.withLock { $0 = [] }
        #expect(await first.syncNames(of: ["a/b", "a/c"]) == [nil, nil])
        #expect(try synced.withLock { $0 } == [key("/new/a")])
    }

    @Test func `A new directory inherits the group of its directory`() async throws {
        try #require(chmod(path + "/sub", 0o2770) == 0)
        try await tree().makeParents(of: "sub/new/file", newFilesMask: 0o022)
        #expect(try FileStatus(ofPath: path + "/sub/new").permissions == 0o2755)
    }

    @Test func `What is in the way of a directory is named`() async throws {
        try #require(mkfifo(path + "/sub/pipe", 0o600) == 0)
        try #require(symlink(scratch.path + "/none", path + "/dangling") == 0)
        for (way, obstacle, what) in [
            ("file/new", "file", "a regular file"), ("sub/pipe/a/new", "sub/pipe", "a pipe"),
            ("dangling/new", "dangling", "a symbolic link"),
        ] {
            let error = try await failure { try await tree().makeParents(of: way, newFilesMask: nil) }
            #expect(error == .file("\(path)/\(obstacle)", "is not a directory but \(what)"))
        }
        for (root, obstacle, what) in [
            ("file/a", "file", "a regular file"), ("dangling/a", "dangling", "a symbolic link"),
        ] {
            let error = try await failure {
                try await tree("\(path)/\(root)").makeParents(of: "new", newFilesMask: nil)
            }
            #expect(error == .file("\(path)/\(obstacle)", "is not a directory but \(what)"))
        }
        let error = try await failure { try await tree(path + "/none/../x").makeParents(of: "new", newFilesMask: nil) }
        #expect(error.message.contains(path + "/none/..") && error.message.contains("cannot be created"))
        #expect(try FileStatus(ofPath: path).kind == .directory && names(in: path) == ["dangling", "file", "sub"])
    }

    @Test func `Files and links are removed, and directories are kept`() async throws {
        try #require(symlink(scratch.path + "/out/secret", path + "/sub/link") == 0)
        let tree = tree()
        for name in ["sub/other", "sub/link"] {
            #expect(try await tree.remove(name, nil))
            #expect(try await !tree.remove(name, nil))
        }
        #expect(try contentsOf(scratch.path + "/out/secret") == [1, 2, 3])
        for missing in ["none", "none/none", "file/none"] { #expect(try await !tree.remove(missing, nil)) }
        let error = try await failure { _ = try await tree.remove("sub", nil) }
        #expect(error == .file(path + "/sub", "is not a regular file but a directory"))
        #expect(try await failure { _ = try await tree.remove("", nil) }.file == path)
        #expect(try names(in: path + "/sub") == ["deep"])
    }

    @Test func `A tree that is read is not changed`() async throws {
        let tree = tree(isWritten: false)
        #expect(try await failure { _ = try await tree.remove("file", nil) }.code == .internalError)
        let error = try await failure { try await tree.makeParents(of: "new/file", newFilesMask: nil) }
        #expect(error.code == .internalError)
        #expect(try names(in: path) == ["file", "sub"])
    }

    // MARK: - Changes meanwhile

    @Test(arguments: ["written", "replaced", "renamed", "chmod"])
    func `A file that was changed after it was listed is not removed`(how: String) async throws {
        let tree = tree(), file = path + "/file"
        let version = try #require(try await tree.entry("file")?.version)
        switch how {
        case "written": _ = try scratch.file("tree/file", [1, 2, 4])
        case "replaced":
            try #require(rename(path + "/sub/other", file) == 0)
        case "renamed": try #require(rename(file, file + "2") == 0 && rename(file + "2", file) == 0)
        default: try #require(chmod(file, 0o640) == 0)
        }
        let error = try await failure { _ = try await tree.remove("file", version) }
        #expect(error == .file(file, "was changed meanwhile, so it is not removed"))
        #expect(try await tree.remove("file", try await tree.entry("file")?.version))
    }

    @Test(arguments: [false, true])
    func `Below a tree no link is followed to a file that is read or written`(isAllowed: Bool) async throws {
        let policy =
            isAllowed ? try FileAccessPolicy(reading: [scratch.path], writing: [scratch.path]) : .everywhere
        let named = scratch.path + "/named"
        try #require(symlink(path, named) == 0)
        let trees = [path, named, path + "/."].map { tree($0, policy).directories }
        for tree in trees {
            for name in ["file", "sub/other", "sub/deep/new"] {
                let path = "\(tree.root)/\(name)"
                var target = DestinationFile(path: path, below: tree, in: policy.writing)
                try target.open()
                guard name != "sub/deep/new" else { continue }
                _ = try SourceFile.inspect(path, below: tree, in: policy.reading)
            }
        }
        try #require(rename(path + "/sub", path + "/moved") == 0)
        try #require(symlink(scratch.path + "/out", path + "/sub") == 0)
        for tree in trees.prefix(2) {
            let file = tree.root + "/sub/secret"
            let error = StorageError.file(
                file, "cannot be used: a directory between it and \(tree.root) became a link, or was moved")
            #expect(try await failure { _ = try SourceFile.inspect(file, below: tree, in: policy.reading) } == error)
            var target = DestinationFile(path: file, below: tree, in: policy.writing)
            #expect(try await failure { try target.open() } == error)
        }
        // A client that names the file means it.
        _ = try SourceFile.inspect(path + "/sub/secret", in: policy.reading)
    }

    @Test func `A directory that was replaced is found again`() async throws {
        let tree = tree()
        #expect(try await tree.entry("sub/other") != nil)
        try #require(rename(path + "/sub", scratch.path + "/moved") == 0)
        #expect(try await tree.entry("sub/other")?.withoutVersion == nil)
        #expect(try await !tree.remove("sub/other", nil))
        try #require(symlink(scratch.path + "/moved", path + "/sub") == 0)
        #expect(try await !tree.remove("sub/other", nil))
        #expect(try contentsOf(scratch.path + "/moved/other") == [1, 2, 3])
        try #require(unlink(path + "/sub") == 0)
        try await tree.makeParents(of: "sub/new", newFilesMask: nil)
        #expect(try await tree.entry("sub") == LocalEntry("sub", .directory))
    }

    @Test(arguments: ["link", "directory", "nothing"], [false, true])
    func `A tree whose own directory was moved away is not used`(inPlace: String, isAllowed: Bool) async throws {
        let policy =
            isAllowed ? try FileAccessPolicy(reading: [scratch.path], writing: [scratch.path]) : .everywhere
        let (tree, moved, file) = (tree(nil, policy), scratch.path + "/moved", path + "/file")
        #expect(try await tree.entry("sub/other") != nil)
        var target = DestinationFile(path: file, below: tree.directories, in: policy.writing)
        try target.open()
        try #require(rename(path, moved) == 0)
        switch inPlace {
        case "link": try #require(symlink(scratch.path + "/out", path) == 0)
        case "directory": try make("tree")
        default: break
        }
        let error = StorageError.file(path, "cannot be used: it was moved or replaced meanwhile")
        for name in ["", "secret", "sub/other"] {
            #expect(try await failure { _ = try await tree.entry(name) } == error)
        }
        #expect(try await failure { _ = try await tree.read("") } == error)
        #expect(try await failure { _ = try await tree.sync("") } == error)
        #expect(try await failure { try await tree.makeParents(of: "new/file", newFilesMask: nil) } == error)
        #expect(try await failure { _ = try await tree.remove("secret", nil) } == error)
        var other = DestinationFile(path: file, below: tree.directories, in: policy.writing)
        if inPlace != "nothing" {
            #expect(try await failure { try target.open() } == error.with(\.file, file))
            #expect(try await failure { try other.open() } == error.with(\.file, file))
        }
        #expect(FileSystem.exists(path) == (inPlace != "nothing"))
        // The moved directory itself may be at its path again.
        if inPlace != "nothing" { try #require(FileSystem.remove(path)) }
        try #require(symlink(moved, path) == 0)
        #expect(try await tree.entry("sub/other") != nil)
        // A task that resumes uses what is at its path.
        try #require(unlink(path) == 0 && symlink(scratch.path + "/out", path) == 0)
        tree.end()
        tree.begin()
        #expect(try await tree.entry("secret") != nil)
        try other.open()
        _ = try SourceFile.inspect(path + "/secret", below: tree.directories, in: policy.reading)
    }

    @Test func `A tree whose own directory was removed may be made again in its place alone`() async throws {
        let (tree, outer) = (tree(path + "/sub/deep"), path + "/sub")
        #expect(try await tree.entry("") != nil)
        try #require(FileSystem.remove(outer))
        #expect(try await tree.entry("") == nil)
        try await tree.makeParents(of: "file", newFilesMask: nil)
        #expect(try await tree.entry("") != nil)
        try #require(FileSystem.remove(outer) && symlink(scratch.path + "/out", outer) == 0)
        let error = try await failure { try await tree.makeParents(of: "file", newFilesMask: nil) }
        #expect(error == .file(tree.absolute(""), "cannot be used: it was moved or replaced meanwhile"))
    }

    // MARK: - Places that are not a client's

    @Test func `The root of the service is neither read nor changed`() async throws {
        let root = try StorageRoot(path + "/sub/root")
        try make("tree/sub/root/objects")
        let tree = tree()
        let why = "is the root of the service, which only the service reads and changes"
        #expect(try await tree.entry("sub/root") == LocalEntry("sub/root", .other(why)))
        #expect(try await all(tree, in: "sub").contains(LocalEntry("sub/root", .other(why))))
        for (tree, way) in [(tree, "sub/root/"), (self.tree(root.path), ""), (self.tree(root.path + "/objects"), "")] {
            for error in [
                try await failure { try await tree.makeParents(of: way + "new/file", newFilesMask: nil) },
                try await failure { _ = try await tree.remove(way + "lock", nil) },
                try await failure { _ = try await tree.entry(way + "lock") },
            ] {
                #expect(error.message.contains(why))
            }
        }
        let new = self.tree(root.path + "/new")
        #expect(try await failure { try await new.makeParents(of: "a", newFilesMask: nil) }.message.contains(why))
        #expect(try await failure { _ = try await tree.read("sub/root") }.message.contains(why))
        #expect(try names(in: root.path) == ["lock", "objects"])
        withExtendedLifetime(root) {}
    }

    @Test(arguments: ["sub/root/lock", "sub/root/none", "sub/root/none/below", "link/objects/1", "file-link"])
    func `A file of the root is read for no client, whether it exists or not`(name: String) throws {
        let root = try StorageRoot(path + "/sub/root")
        try make("tree/sub/root/objects")
        try #require(symlink(root.path, path + "/link") == 0 && symlink("sub/root/lock", path + "/file-link") == 0)
        let file = "\(path)/\(name)"
        let policy = try FileAccessPolicy(reading: [path], writing: [])
        for allowed in [nil, policy.reading] {
            let error = #expect(throws: StorageError.self) { _ = try SourceFile.inspect(file, in: allowed) }
            #expect(error?.message.contains("in the root of the service") == true, "\(error?.message ?? "")")
        }
        _ = try SourceFile.inspect(root.path + "/lock", in: .own)
        withExtendedLifetime(root) {}
    }

    @Test func `Directories of the system are left out`() async throws {
        let tree = tree("/", isWritten: false)
        for entry in try await all(tree, most: 100) where ["dev", "proc", "sys"].contains(entry.path) {
            #expect(
                entry.kind
                    == .other("is below /\(entry.path), where a service neither reads nor writes for its clients"))
        }
        for place in ["proc/1", "dev", "sys"] {
            #expect(try await failure { _ = try await tree.read(place) }.message.contains("is below /"))
        }
        #expect(try await failure { _ = try await self.tree("/proc/self").read("") }.message.contains("is below /proc"))
    }

    @Test func `A tree is read and written in allowed directories alone`() async throws {
        let reading = try FileAccessPolicy(reading: [path], writing: [scratch.path + "/out"])
        let refusal = "it is in no directory that --allow-"
        #expect(try await tree(nil, reading, isWritten: false).entry("sub/other") != nil)
        #expect(try await tree(path + "/sub", reading, isWritten: false).entry("other") != nil)
        for (root, isWritten) in [("out", false), ("tree", true), ("none", false), ("none", true)] {
            let tree = tree("\(scratch.path)/\(root)", reading, isWritten: isWritten)
            let error = try await failure { _ = try await tree.entry("") }
            #expect(error.code == .unauthorized && error.message.contains(refusal + (isWritten ? "write" : "read")))
        }
        let new = tree(scratch.path + "/out/x/y", reading)
        #expect(try await new.entry("") == nil)
        try await new.makeParents(of: "a/file", newFilesMask: nil)
        #expect(try await new.entry("a") == LocalEntry("a", .directory))
        for outside in ["out/../new/x", "new/x", "out/none/../../new/x"] {
            let tree = tree("\(scratch.path)/\(outside)", reading)
            await #expect(throws: StorageError.self) { try await tree.makeParents(of: "file", newFilesMask: nil) }
        }
        #expect(try names(in: scratch.path) == ["out", "tree"])
    }

    @Test func `A directory that is moved out of the allowed one is not used`() async throws {
        let policy = try FileAccessPolicy(reading: [], writing: [path])
        let tree = tree(path + "/sub", policy)
        #expect(try await tree.entry("other") != nil)
        try #require(rename(path + "/sub", scratch.path + "/out/sub") == 0)
        try #require(symlink(scratch.path + "/out/sub", path + "/sub") == 0)
        #expect(try await failure { _ = try await tree.remove("other", nil) }.code == .unauthorized)
        #expect(try contentsOf(scratch.path + "/out/sub/other") == [1, 2, 3])
    }
}

extension LocalEntry {
    fileprivate var withoutVersion: LocalEntry { LocalEntry(path, kind, size: size) }
}

extension DirectoryTree {
    fileprivate func hasBytes(_ path: String, of object: FolderObject) async throws -> Bool {
        try await haveBytes([(path, object)], knownTo: nil) == [true]
    }
}
