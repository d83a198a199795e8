import Glibc
import Storage
import TestSupport
import Testing

@testable import LocalFiles

/// The files that may be uploaded if `--allow-read` names directories.
@Suite(.watchdog) struct AllowedReadingTests {
    private let scene: AllowedScene
    private var path: String { scene.path }

    init() throws { scene = try AllowedScene() }

    private func inspect(_ path: String, in directories: [String]? = nil) throws {
        let places = try FileAccessPolicy(reading: directories ?? [self.path + "/in"], writing: [])
        _ = try SourceFile.inspect(path, in: places.reading)
    }

    private func refusal(_ path: String) -> StorageError { scene.refusal(path, "read", "--allow-read") }

    @Test func `A file inside an allowed directory may be read through any path`() throws {
        try scene.link("in/absolute", to: path + "/in/file")
        try scene.link("in/relative", to: "sub/../file")
        try scene.link("in/around", to: "../in/sub/../../in/sub")
        try scene.link("in/up", to: "..")
        for name in [
            "in/file", "in/sub/deep", "in//sub/./../file", "in/../in/file", "in/absolute", "in/relative",
            "in/around/deep", "in/around/../file", "in/up/in/up/in/file",
        ] {
            #expect(throws: Never.self, "\(name)") { try inspect("\(path)/\(name)") }
        }
    }

    @Test func `A file outside the allowed directories is refused, whether it exists or not`() throws {
        try scene.link("in/file-link", to: path + "/out/secret")
        try scene.link("in/none-link", to: path + "/out/none")
        try scene.link("in/directory-link", to: "../out")
        try scene.link("in/none-directory", to: "../out/none")
        try scene.link("in/loop-out", to: path + "/out/loop")
        try scene.link("out/loop", to: "loop")
        // A link to itself leads to no file, so to none inside.
        try scene.link("in/loop", to: "loop")
        #expect(mkfifo(path + "/out/fifo", 0o600) == 0)
        for name in [
            "out/secret", "out/none", "out/none/none", "out/secret/below", "out", "out/fifo", "in/../out/secret",
            "in/../out/none", "in/sub/../../out/secret", "in/file-link", "in/none-link", "in/directory-link/secret",
            "in/directory-link/none", "in/directory-link/sub/../secret", "in/none-directory/none", "in/loop-out",
            "in/loop",
            "inside/secret", "inside/none", "in ", ".", "..", "../../../../../../etc/passwd",
        ] {
            let path = "\(path)/\(name)"
            #expect(try storageError { try inspect(path) } == refusal(path))
        }
        for path in ["/etc/passwd", "/etc/none", "/", "", "/dev/null", "/none/none", "/root/none"] {
            #expect(try storageError { try inspect(path) } == refusal(path))
        }
    }

    @Test func `A path through an outside directory is refused, whether that exists or not`() throws {
        for (name, target) in [("missing", "../out/none"), ("there", "../out/sub"), ("far", "/usr/../none")] {
            try scene.link("in/" + name, to: target)
        }
        try scene.link("out/back", to: path + "/in/sub")
        try scene.link("out/sub/loop", to: "loop")
        let names = [
            "out/sub", "out/none", "out/secret", "out/back", "out/sub/loop", "none", "in/missing", "in/there", "in/far",
        ]
        for name in names {
            let up = String(repeating: "../", count: 12)
            for end in [
                "/../../in/file", "/../in/file", "/../../../in/file", "/" + up + path.dropFirst() + "/in/file", "/deep",
            ] {
                for start in [path, path + "/in/..", path + "/in/sub/../.."] {
                    let path = "\(start)/\(name)\(end)"
                    #expect(try storageError { try inspect(path) } == refusal(path))
                }
            }
        }
        let outside = path + "/out/sub/../../in/file"
        #expect(throws: Never.self, "where it is allowed, too") {
            try inspect(outside, in: [path + "/in", path + "/out"])
        }
    }

    @Test func `A path may begin with the directory as the flag names it, including links`() throws {
        try scene.link("named", to: "in")
        try scene.link("other", to: "in")
        let directories = [path + "/named/../in//sub/.", path + "/./named"]
        for name in ["named/file", "named/sub/../file", "in/file", "named/../in/file", "named//sub/deep"] {
            #expect(throws: Never.self, "\(name)") { try inspect("\(path)/\(name)", in: directories) }
        }
        for name in ["other/file", "named-not/file", "nam/file"] {
            #expect(try storageError { try inspect("\(path)/\(name)", in: directories) } == refusal("\(path)/\(name)"))
        }
    }

    @Test func `A symbolic link with a name that is not UTF-8 can be read`() throws {
        let name: [UInt8] = [0x66, 0xFF, 0xFE]
        let bytes = name.map { CChar(bitPattern: $0) } + [0]
        let directory = open(path + "/in", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        let file = openat(directory, bytes, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        #expect(file >= 0 && close(file) == 0 && symlinkat(bytes, directory, "odd") == 0)
        #expect(throws: Never.self) { try inspect(path + "/in/odd") }
    }

    @Test func `Links in /proc to roots and descriptors are refused`() throws {
        let secret = open(path + "/out/secret", O_RDONLY | O_CLOEXEC)
        defer { close(secret) }
        for path in ["/proc/self/fd/\(secret)", "/proc/self/root\(path)/in/file", "/proc/self/cwd\(path)/in/file"] {
            #expect(try storageError { try inspect(path) } == refusal(path))
        }
    }

    @Test func `Errors inside the allowed directories are reported`() throws {
        try scene.link("in/dangling", to: path + "/in/none")
        #expect(mkfifo(path + "/in/fifo", 0o600) == 0)
        let table = [
            ("none", "does not exist"), ("none/below", "does not exist"), ("dangling", "does not exist"),
            ("file/below", "cannot be opened: Not a directory"), ("sub", "is not a regular file but a directory"),
            ("fifo", "is not a regular file but a pipe"),
        ]
        for (name, why) in table {
            let path = "\(path)/in/\(name)"
            #expect(try storageError { try inspect(path) } == .file(path, why))
        }
    }

    @Test func `Allowed directories may be named by any path and be nested`() throws {
        try scene.link("named", to: "in")
        let up = String(repeating: "../", count: 40)
        for directories in [
            [path + "/in/"], [path + "/in//."], [path + "/out/../in"], [path + "/named"], [path + "/named/"],
            [up + path.dropFirst() + "/in"], [path + "/in/sub", path + "/in"], [path + "/out", path + "/in"], ["/"],
            [path + "/in", "/"],
        ] {
            #expect(throws: Never.self, "\(directories)") { try inspect(path + "/in/file", in: directories) }
        }
        let deep = [path + "/in/sub"]
        #expect(throws: Never.self) { try inspect(path + "/in/sub/deep", in: deep) }
        #expect(try storageError { try inspect(path + "/in/file", in: deep) } == refusal(path + "/in/file"))
        #expect(throws: Never.self) { try inspect("/etc/passwd", in: ["/"]) }
        #expect(try storageError { try inspect("/etc/none", in: ["/"]) } == .file("/etc/none", "does not exist"))
    }

    @Test func `Names of directories are compared by bytes`() throws {
        let (composed, decomposed) = (path + "/\u{E9}", path + "/e\u{301}")
        for directory in [composed, decomposed] {
            #expect(mkdir(directory, 0o700) == 0)
            _ = try scene.scratch.file(String(directory.dropFirst(path.count + 1)) + "/file", [1])
        }
        #expect(throws: Never.self) { try inspect(composed + "/file", in: [composed]) }
        let error = try storageError { try inspect(decomposed + "/file", in: [composed]) }
        #expect(error == refusal(decomposed + "/file"))
    }

    @Test func `An invalid allowed directory is an error that names it`() throws {
        for (directory, why) in [
            (path + "/none", "No such file or directory"), (path + "/in/file", "Not a directory"),
            (path + "/none/none", "No such file or directory"),
        ] {
            for (reading, writing, flag) in [([directory], [], "read"), (["/"], ["/", directory], "write")] {
                let error = #expect(throws: FileAccessPolicy.InvalidDirectory.self) {
                    _ = try FileAccessPolicy(reading: reading, writing: writing)
                }
                #expect(error?.message == "--allow-\(flag) \(directory) cannot be used: \(why)")
            }
        }
    }

    @Test(arguments: AllowedScene.Swap.allCases, [2000, 1_500_000])
    func `A file that is replaced by an outside file after its task was created is refused`(
        swap: AllowedScene.Swap, size: Int
    ) async throws {
        let file = try scene.scratch.file("in/sub/swapped", noise(size))
        for backend in try scene.backends(FileAccessPolicy(reading: [path + "/in"], writing: [])) {
            let upload = try await backend.upload(file: file, to: "a")
            try swap.swap(scene)
            let error = try await failure { _ = try await backend.run(upload) }
            try swap.undo(scene)
            #expect(error.about(upload.reference) == refusal(file).about(upload.reference))
            await #expect(throws: StorageError.self) { try await backend.metadata(of: ref("a")) }
        }
    }

    @Test(arguments: AllowedScene.Swap.allCases)
    func `A file that is replaced by an outside file while it is read is refused`(swap: AllowedScene.Swap) throws {
        let file = try scene.scratch.file("in/sub/swapped", noise(10))
        let places = try FileAccessPolicy(reading: [path + "/in"], writing: [])
        let source = try SourceFile(file, SourceFile.inspect(file, in: places.reading), in: places.reading)
        try source.checkUnchanged()
        try swap.swap(scene)
        #expect(try storageError { try source.checkUnchanged() } == refusal(file))
    }
}

func storageError(_ body: () throws -> Void) throws -> StorageError {
    var found: StorageError?
    do { try body() } catch { found = error as? StorageError }
    return try #require(found, "no storage error was thrown")
}
