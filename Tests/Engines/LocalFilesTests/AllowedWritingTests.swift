import Checksums
import Glibc
import Storage
import TestSupport
import Testing

@testable import LocalFiles

/// The files that downloads may write if `--allow-write` names directories.
@Suite(.watchdog) struct AllowedWritingTests {
    private let scene: AllowedScene
    private let allowed: FileAccessPolicy
    private var path: String { scene.path }
    private let bytes = noise(100_000)

    init() throws {
        scene = try AllowedScene()
        allowed = try FileAccessPolicy(reading: [], writing: [scene.path + "/in"])
    }

    private func partial(_ path: String) throws -> PartialDownload {
        try PartialDownload(for: path, in: allowed.writing)
    }
    private func refusal(_ path: String) -> StorageError { scene.refusal(path, "written", "--allow-write") }

    private func begin(_ partial: PartialDownload) throws {
        try partial.open(for: 1) { true }
        let start = Int(partial.offset)
        try bytes.withUnsafeBytes { try partial.append(.init(rebasing: $0[start...])) }
    }

    private func finish(_ partial: PartialDownload) throws {
        #expect(try partial.finish(size: Int64(bytes.count), Checksums(crc32c: Checksum(of: bytes).crc32c)) { true })
    }

    @Test func `A file inside an allowed directory may be written through any path`() throws {
        try scene.link("in/around", to: "../in")
        for name in ["in/new", "in/file", "in/sub/../new", "in/../in/new", "in/around/new"] {
            let partial = try partial("\(path)/\(name)")
            try begin(partial)
            try finish(partial)
            #expect(try contentsOf("\(path)/\(name)") == bytes)
        }
        #expect(try names(in: path + "/out") == ["secret", "sub"])
    }

    @Test func `A path through an outside directory is refused, whether that exists or not`() throws {
        try scene.link("in/missing", to: "../out/none")
        try scene.link("in/there", to: "../out/sub")
        try scene.link("out/sub/back", to: path + "/in")
        for name in [
            "out/sub/../../in/new", "out/none/../../in/new", "in/there/../../in/new", "in/missing/../../in/new",
            "out/secret/../../in/new", "out/sub/back/new", "in/there/back/new", "in/../out/sub/../../in/new",
            "in/../out/none/../../in/new",
        ] {
            let path = "\(path)/\(name)"
            #expect(try storageError { try begin(partial(path)) } == refusal(path))
        }
        #expect(try names(in: path + "/in") == ["file", "missing", "sub", "there"])
    }

    @Test func `A file outside the allowed directories is refused and not created, whether it exists or not`() throws {
        try scene.link("in/directory-link", to: "../out")
        try scene.link("in/none-link", to: "../out/none")
        for name in [
            "out/secret", "out/new", "out/none/new", "out/sub/new", "out/secret/below", "in/../out/new",
            "in/../out/none/new", "in/directory-link/new", "in/directory-link/secret", "in/none-link/new", "inside/new",
            "new", "../new", "in",
        ] {
            let path = "\(path)/\(name)"
            #expect(try storageError { try begin(partial(path)) } == refusal(path))
        }
        #expect(try names(in: path + "/out") == ["secret", "sub"] && names(in: path + "/inside") == ["secret"])
        #expect(try names(in: path) == ["in", "inside", "out"])
    }

    @Test func `Errors inside the allowed directories are reported`() throws {
        for (name, why) in [
            ("sub", "is not a regular file but a directory"), ("file/new", "cannot be written: Not a directory"),
            ("none/new", "cannot be written: the directory \(path)/in/none does not exist"),
        ] {
            #expect(try storageError { try begin(partial("\(path)/in/\(name)")) } == .file("\(path)/in/\(name)", why))
        }
    }

    @Test(arguments: ["out/secret", "out/none", "out/sub", "out", "/etc/passwd"])
    func `A symbolic link is replaced without following it`(target: String) throws {
        try scene.link("in/link", to: target.hasPrefix("/") ? target : "\(path)/\(target)")
        let partial = try partial(path + "/in/link")
        try begin(partial)
        try finish(partial)
        var status = stat()
        #expect(lstat(path + "/in/link", &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
        #expect(try contentsOf(path + "/in/link") == bytes && contentsOf(path + "/out/secret") == [1])
        #expect(try names(in: path + "/out") == ["secret", "sub"])
    }

    @Test(arguments: [AllowedScene.Swap.directory, .directoryToNothing], [false, true])
    func `A directory that is replaced by an outside one during a download gets no file`(
        swap: AllowedScene.Swap, isParked: Bool
    ) throws {
        let file = path + "/in/sub/new"
        let partial = try partial(file)
        try begin(partial)
        if isParked { partial.park() }
        try swap.swap(scene)
        let error = try storageError {
            try partial.open(for: 1) { true }
            try finish(partial)
        }
        #expect(error == refusal(file))
        partial.discard()
        try swap.undo(scene)
        let left = try names(in: path + "/in/sub")
        #expect(left.contains("deep") && !left.contains("new"))
        // The partial file of a parked download that was moved away is not removed.
        #expect(isParked || left == ["deep"])
        #expect(try names(in: path + "/out") == ["secret", "sub"])
    }

    @Test func `A parked download continues only in an allowed directory`() throws {
        let file = path + "/in/sub/new"
        let partial = try partial(file)
        try begin(partial)
        partial.park()
        try AllowedScene.Swap.directory.swap(scene)
        #expect(try storageError { try begin(partial) } == refusal(file))
        try AllowedScene.Swap.directory.undo(scene)
        try begin(partial)
        try finish(partial)
        #expect(try contentsOf(file) == bytes && names(in: path + "/in/sub") == ["deep", "new"])
    }

    @Test func `Downloads of embedded and remote engines refuse outside files`() async throws {
        for backend in try scene.backends(allowed) {
            try await backend.put(bytes, at: "a")
            let retryTime = Caller(retryTime: .seconds(600))
            func answer(_ name: String) async throws -> DownloadAnswer {
                let session = backend.beginDownload(
                    Download(reference: try ref("a"), file: "\(path)/\(name)", task: "task", caller: retryTime))
                return await session.fetch { _ in }
            }
            for name in ["out/new", "out/none/new"] {
                let refusal = try refusal("\(path)/\(name)").about(ref("a"))
                #expect(try await answer(name) == .failed(refusal))
            }
            guard case .completed = try await answer("in/new") else {
                Issue.record("it was not written")
                continue
            }
            #expect(try contentsOf(path + "/in/new") == bytes)
        }
        #expect(try names(in: path + "/out") == ["secret", "sub"])
    }
}

/// Directories that are moved, without restrictions by flags.
@Suite(.watchdog) struct MovedDirectoryTests {
    @Test(arguments: [false, true])
    func `A directory that is moved during a download gets no file`(isReplaced: Bool) throws {
        let scene = try AllowedScene()
        let (sub, file) = (scene.path + "/in/sub", scene.path + "/in/sub/new")
        let partial = try PartialDownload(for: file)
        try partial.open(for: 1) { true }
        #expect(rename(sub, scene.path + "/moved") == 0)
        if isReplaced { #expect(mkdir(sub, 0o700) == 0) }
        let error = try storageError { _ = try partial.finish(size: 0, Checksums(crc32c: 0)) { true } }
        let why = isReplaced ? "its directory was moved" : "the directory \(sub) does not exist"
        #expect(error == .file(file, "cannot be written: \(why)"))
        #expect(try names(in: scene.path + "/moved") == ["deep"])
    }
}
