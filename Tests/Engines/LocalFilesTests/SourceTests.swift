import Glibc
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import LocalFiles

@Suite(.watchdog(minutes: 10)) struct SourceTests {
    enum Meddling: String, CaseIterable {
        case append, truncate, overwrite, overwriteAndHide, replace, remove, makeEmpty

        func meddle(_ path: String, _ scratch: Scratch) throws {
            switch self {
            case .append: try write(path, O_WRONLY | O_APPEND)
            case .overwrite: try write(path, O_WRONLY)
            case .overwriteAndHide: try overwriteAndHide(path)
            case .truncate: #expect(cut(path, 1_400_000) == 0)
            case .makeEmpty: #expect(cut(path, 0) == 0)
            case .replace: #expect(rename(try scratch.file("other", noise(1_500_000)), path) == 0)
            case .remove: #expect(unlink(path) == 0)
            }
        }

        /// Overwrites a byte in the middle, and restores the modification time.
        private func overwriteAndHide(_ path: String) throws {
            var status = stat()
            #expect(stat(path, &status) == 0)
            let file = open(path, O_WRONLY)
            #expect(pwrite(file, "!", 1, status.st_size / 2) == 1)
            #expect(futimens(file, [status.st_atim, status.st_mtim]) == 0)
            close(file)
        }

        private func cut(_ path: String, _ size: Int) -> Int32 { Glibc.truncate(path, size) }

        private func write(_ path: String, _ flags: Int32) throws {
            let file = open(path, flags)
            #expect(Glibc.write(file, "!", 1) == 1)
            close(file)
        }
    }

    @Test(arguments: Meddling.allCases, [0, 262_144, 786_432])
    func `A file that changes during its upload is not stored`(meddling: Meddling, offset: Int64) async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(1_500_000))
        let upload = try await place.backend.upload(file: path, to: "a")
        let error = try await failure {
            _ = try await place.backend.run(upload) { step in
                guard case .send(let range) = step, range.lowerBound == offset else { return }
                do { try meddling.meddle(path, place.scratch) } catch { Issue.record(error) }
            }
        }
        #expect(error.code == .unknown && error.file == path)
        #expect(error.message.hasPrefix("File \(path) ") && error.message.contains("chang") || meddling == .remove)
        #expect(try await place.settledContents(.none) == .none)
    }

    @Test(arguments: Meddling.allCases)
    func `A small file that changes during its upload is not stored`(meddling: Meddling) async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(2000))
        let upload = try await place.backend.upload(file: path, to: "a")
        try meddling.meddle(path, place.scratch)
        let error = try await failure { _ = try await place.backend.run(upload) }
        #expect(error.code == .unknown && error.file == path)
        #expect(try await place.settledContents(.none) == .none)
    }

    @Test(arguments: Meddling.allCases)
    func `A small file that is read with its inspection is stored as it was then, once`(
        meddling: Meddling
    ) async throws {
        let place = try await EmbeddedFixture()
        let bytes = noise(Int(EmbeddedBackend.largestRow))
        let path = try place.scratch.file("source", bytes)
        let (identity, read) = try await place.backend.properties.files.read(path, upTo: 96 << 10)
        #expect(try await identity == place.backend.properties.files.inspect(path, below: nil) && read == bytes)
        try meddling.meddle(path, place.scratch)
        var upload = Upload(reference: try ref("a"), source: .file(path: path, identity), metadata: .init())
        upload.bytesOfFile = read
        let session = place.backend.beginUpload(upload)
        guard case .completed(let object) = await session.perform(.sendWhole) else {
            return #expect(Bool(false), "it was not stored")
        }
        #expect(object.size == bytes.count)
        guard case .failed(let error) = await session.perform(.sendWhole) else {
            return #expect(Bool(false), "it was stored again")
        }
        #expect(error.file == path)
    }

    @Test func `A paused upload of a small file reads it again`() async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(2000))
        let (identity, read) = try await place.backend.properties.files.read(path, upTo: 96 << 10)
        var upload = Upload(reference: try ref("a"), source: .file(path: path, identity), metadata: .init())
        upload.bytesOfFile = read
        let session = place.backend.beginUpload(upload)
        await session.stop(.sendWhole)
        session.park()
        try Meddling.remove.meddle(path, place.scratch)
        guard case .failed(let error) = await session.perform(.sendWhole) else {
            return #expect(Bool(false), "it was stored")
        }
        #expect(error.file == path)
    }

    @Test func `A larger file is inspected only`() async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(Int(EmbeddedBackend.largestRow) + 1))
        let (identity, bytes) = try await place.backend.properties.files.read(path, upTo: 96 << 10)
        #expect(try await identity == place.backend.properties.files.inspect(path, below: nil) && bytes == nil)
    }

    @Test func `A file that changed during a pause is not stored`() async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("source", noise(1_500_000))
        let session = place.backend.beginUpload(try await place.backend.upload(file: path, to: "a"))
        #expect(await session.perform(.open) == .opened())
        #expect(await session.perform(.send(0..<262_144)) == .received(upTo: 262_144))
        await session.stop(.query)
        try Meddling.overwrite.meddle(path, place.scratch)
        #expect(await session.perform(.query) == .received(upTo: 262_144))
        guard case .failed(let error) = await session.perform(.send(262_144..<1_500_000)) else {
            return #expect(Bool(false), "it was sent")
        }
        #expect(error.file == path)
        session.discard()
        #expect(try await place.settledContents(.none) == .none)
    }

    @Test func `A later file of the same inode, size and times is another file`() throws {
        let scratch = try Scratch()
        let path = try scratch.file("source", noise(2000))
        var identity = try SourceFile.inspect(path, in: nil)
        try SourceFile(path, identity, in: nil).checkUnchanged()
        // Only some file systems count generations.
        guard let generation = identity.generation else { return }
        identity.generation = generation ^ 1
        let error = #expect(throws: StorageError.self) {
            try SourceFile(path, identity, in: nil).checkUnchanged()
        }
        #expect(error?.message.contains("another file took its place") == true)
    }

    @Test func `A file that cannot be uploaded gives an error with the reason`() async throws {
        let place = try await EmbeddedFixture()
        let scratch = place.scratch
        let (fifo, link) = (scratch.path + "/fifo", scratch.path + "/link")
        #expect(mkfifo(fifo, 0o600) == 0 && symlink(scratch.path + "/nowhere", link) == 0)
        let file = try scratch.file("file", [1])
        let table = [
            (scratch.path + "/missing", "does not exist"), (scratch.path, "is not a regular file but a directory"),
            (fifo, "is not a regular file but a pipe"),
            (link, "does not exist"), (file + "/below", "cannot be opened: Not a directory"), ("", "does not exist"),
            ("/" + String(repeating: "x", count: 300), "cannot be opened: File name too long"),
        ]
        for (path, why) in table {
            let error = try await failure { _ = try await place.backend.properties.files.inspect(path, below: nil) }
            #expect(error == .file(path, why))
        }
    }

    @Test func `A socket cannot be uploaded`() async throws {
        let place = try await EmbeddedFixture()
        let path = place.scratch.path + "/socket"
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        let error = try await failure { _ = try await place.backend.properties.files.inspect(path, below: nil) }
        #expect(error.message.contains(path) && error.code == .unknown)
    }

    @Test(.disabled(if: geteuid() == 0, "nothing is unreadable to root"))
    func `An unreadable file is an error with the reason`() async throws {
        let place = try await EmbeddedFixture()
        let path = try place.scratch.file("secret", [1])
        chmod(path, 0)
        let error = try await failure { _ = try await place.backend.properties.files.inspect(path, below: nil) }
        #expect(error == .file(path, "cannot be opened: Permission denied"))
    }

    @Test func `A symbolic link to a file can be uploaded`() async throws {
        let place = try await EmbeddedFixture()
        let file = try place.scratch.file("file", noise(100))
        let link = place.scratch.path + "/link"
        #expect(symlink(file, link) == 0)
        _ = try await place.backend.run(place.backend.upload(file: link, to: "a"))
        #expect(try await place.bytes(of: ref("a")) == noise(100))
    }
}

extension TransferSession {
    /// Performs a step that is stopped before it begins.
    fileprivate func stop(_ step: Strategy.Step) async {
        let stopped = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await perform(step, StepContext())
        }
        #expect(await stopped.value == .aborted)
    }
}
