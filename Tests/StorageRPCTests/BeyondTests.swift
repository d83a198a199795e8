import Foundation
import Glibc
import StorageRPC
import TestSupport
import Testing

/// What the SDK does not have.
@Suite(.watchdog) struct BeyondTests {
    @Test func `An object is copied, moved and protected by its generation`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let (one, two, three) = (fixture.root.child("1"), fixture.root.child("2"), fixture.root.child("3"))
            let stored = try await one.putDataAsync(Data("one".utf8))
            #expect(try await one.copy(to: two).wait().metadata?.path == "2")
            try await two.move(to: three).wait()
            let names = try await fixture.root.listAll().items.map(\.name)
            #expect(names == ["1", "3"])
            let areThere = [try await one.objectExists(), try await two.objectExists()]
            #expect(areThere == [true, false])
            let refused = one.putData(Data(), ifGenerationMatch: 0)
            #expect(await code { try await refused.wait() } == .unknown)
            #expect(refused.snapshot.serviceError?.data.name == "preconditionFailed")
            #expect(refused.snapshot.serviceError?.data.generation == "\(stored.generation)")
            try await one.putData(Data("new".utf8), ifGenerationMatch: stored.generation).wait()
            #expect(await code { try await one.delete(ifGenerationMatch: stored.generation) } == .unknown)
            #expect(try await fixture.root.listRecursively().map(\.name) == ["1", "3"])
        }
    }

    @Test func `A folder is one task`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let directory = fixture.directory.appending(path: "photos")
            try FileManager.default.createDirectory(
                at: directory.appending(path: "2026"), withIntermediateDirectories: true)
            try Data("cat".utf8).write(to: directory.appending(path: "2026/cat.jpg"))
            try Data("dog".utf8).write(to: directory.appending(path: "dog.tmp"))
            let photos = fixture.root.child("photos")
            let upload = photos.putDirectory(from: directory, exclude: ["*.tmp"])
            #expect(try await upload.wait().folder?.files.completed == 1)
            let copy = fixture.directory.appending(path: "copy")
            try await photos.write(toDirectory: copy).wait()
            #expect(try Data(contentsOf: copy.appending(path: "2026/cat.jpg")) == Data("cat".utf8))
            let plan = photos.deleteAll(dryRun: true)
            try await plan.wait()
            #expect(try await plan.items().map(\.path) == ["2026/cat.jpg"])
            let album = fixture.root.child("album")
            #expect(try await photos.copyAll(to: album).wait().folder?.files.completed == 1)
            #expect(try await album.moveAll(to: fixture.root.child("moved")).wait().folder?.files.completed == 1)
            await #expect(throws: (any Error).self) { try await photos.moveAll(to: photos.child("deeper")).wait() }
            #expect(try await photos.deleteAll().wait().folder?.files.deleted == 1)
        }
    }

    @Test func `Streams bring and take bytes piece by piece`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let stream = fixture.root.child("log.txt").putStream()
            #expect(try await stream.write(Data("one\n".utf8)) == 4)
            #expect(try await stream.write(Data("two\n".utf8)) == 8)
            #expect(try await stream.finish().size == 8)
            var bytes = Data()
            for try await piece in fixture.root.child("log.txt").getStream(offset: 4) { bytes += piece }
            #expect(bytes == Data("two\n".utf8))
            let none = fixture.root.child("none").getStream()
            #expect(await code { for try await _ in none {} } == .objectNotFound)
        }
    }

    @Test func `A download stream is read in any order, in one generation`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let film = fixture.root.child("film")
            let bytes = Data((0..<(9 << 20)).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 11)) })
            try await film.putDataAsync(bytes)
            let stream = film.getStream()
            #expect(try await stream.size == Int64(bytes.count))
            for (offset, length) in [(5, 7), (8 << 20, 4 << 20), (100, (8 << 20) + 1), (bytes.count, 1), (9 << 21, 3)] {
                let expected = bytes.dropFirst(offset).prefix(length)
                #expect(try await stream.read(at: Int64(offset), length: length) == expected, "\(offset), \(length)")
            }
            #expect(try await stream.read(at: .max, length: 5).isEmpty)
            #expect(await code { _ = try await stream.read(at: -1, length: 5) } == .invalidArgument)
            var all = Data()
            for try await piece in stream { all += piece }
            #expect(all == bytes)
            #expect(try await stream.read(at: 5, length: 7) == bytes[5..<12], "after the end")
            try await film.putDataAsync(Data(count: 20))
            #expect(await code { _ = try await stream.read(at: 5, length: 7) } == .unknown)
        }
    }

    @Test func `A loop over a download stream that is left, and a stream that is dropped, cancel the download`()
        async throws
    {
        try await ClientFixture.with(flags: []) { fixture in
            let film = fixture.root.child("film")
            try await film.putDataAsync(Data(count: 3 << 20))
            let held = film.getStream()
            for try await _ in held { break }
            #expect(await code { try await held.task.wait() } == .cancelled)
            let left = film.getStream().task
            #expect(await code { try await left.wait() } == .cancelled)
            var (count, read) = (0, film.getStream().makeAsyncIterator())
            while let piece = try await read.next() { count += piece.count }
            #expect(count == 3 << 20)
            let tasks = try await fixture.storage.ask(StorageCalls.ServiceStatus()).tasks
            #expect(tasks["running", default: 0] + tasks["queued", default: 0] == 0)
        }
    }

    @Test func `An upload stream that is dropped before its end is cancelled, and stores nothing`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            func begin() async throws -> StorageUploadTask {
                let stream = fixture.root.child("log.txt").putStream()
                try await stream.write(Data("one\n".utf8))
                return stream.task
            }
            let task = try await begin()
            #expect(await code { try await task.wait() } == .cancelled)
            #expect(try await fixture.root.listAll().items.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `An upload stream throws when its service ends, and is continued at the next one`(isListed: Bool) async throws
    {
        let fixture = try ClientFixture(flags: [])
        func begin() async throws -> StorageUploadTask {
            let stream = fixture.root.child("log.txt").putStream()
            try await stream.write(Data("one\n".utf8))
            #expect(stream.offset == 4)
            let status = try await fixture.storage.ask(StorageCalls.ServiceStatus())
            kill(pid_t(status.pid), SIGKILL)
            #expect(await code { try await stream.task.wait() } == .unknown)
            #expect(await code { try await stream.finish() } == .unknown)
            #expect(await code { try await stream.write(Data("lost\n".utf8)) } == .unknown)
            return stream.task
        }
        let lost = try await begin()
        let listed = try #require(try await fixture.storage.uploadTasks().first)
        let rest = try await (isListed ? listed : lost).stream()
        #expect(rest.offset == 4 && rest.durable == 4)
        #expect(try await rest.write(Data("two\n".utf8)) == 8)
        #expect(try await rest.finish().size == 8)
        #expect(try await fixture.root.child("log.txt").data(maxSize: 8) == Data("one\ntwo\n".utf8))
        #expect(try await rest.task.wait().metadata?.size == 8)
        #expect(await code { _ = try await rest.task.stream() } == .invalidArgument)
        await fixture.storage.close()
    }

    /// The write waits, since the task is paused, until its Swift task is cancelled.
    @Test func `A stream that continues another one keeps the upload, and follows the bytes that it has`() async throws
    {
        try await ClientFixture.with(flags: []) { fixture in
            func begin() async throws -> StorageUploadStream {
                let stream = fixture.root.child("log.txt").putStream()
                try await stream.write(Data("one\n".utf8))
                try await stream.task.perform(.pause)
                let write = Task { try await stream.write(Data("two\n".utf8)) }
                write.cancel()
                await #expect(throws: (any Error).self) { try await write.value }
                await #expect(throws: (any Error).self) { try await stream.write(Data("four\n".utf8)) }
                await #expect(throws: (any Error).self) { try await stream.finish() }
                return try await stream.task.stream()
            }
            var rest: StorageUploadStream? = try await begin()
            #expect(rest?.offset == 4)
            try await rest?.write(Data("three\n".utf8))
            let task = try #require(rest?.task)
            #expect(task.snapshot.error == nil)
            rest = nil
            #expect(await code { try await task.wait() } == .cancelled)
        }
    }

    @Test func `A cancelled loop over changes or a stream throws`() async throws {
        try await ClientFixture.with { fixture in
            let changes = try await fixture.root.changes()
            let loop = Task { for try await _ in changes {} }
            loop.cancel()
            await #expect(throws: CancellationError.self) { try await loop.value }

            try await fixture.root.child("a").putDataAsync(Data(count: 1))
            _ = try await fixture.storage.ask(StorageCalls.HarnessArm(on: [.fetch], do: .init(hold: true)))
            let stream = fixture.root.child("a").getStream()
            let reading = Task { for try await _ in stream {} }
            try await eventually { try await fixture.settled().held.count == 1 }
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            #expect(await code { try await stream.task.wait() } == .cancelled)
        }
    }

    @Test func `A quota says which bound it is`() async throws {
        try await ClientFixture.with(flags: ["--max-tasks", "1"]) { fixture in
            let stream = fixture.root.child("a").putStream()
            try await stream.write(Data("a".utf8))
            do {
                try await fixture.root.child("b").putDataAsync(Data())
                Issue.record("It is not refused.")
            } catch StorageError.quotaExceeded(_, let serverError) {
                let error = StorageError.quotaExceeded(bucket: "b", serverError: serverError)
                #expect(error.localizedDescription.contains("--max-tasks"), "\(error.localizedDescription)")
            }
            try await stream.finish()
        }
    }

    @Test func `Changes are delivered while a loop runs`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let changes = try await fixture.root.child("in").changes()
            let a = fixture.root.child("in/a")
            try await a.putDataAsync(Data())
            try await fixture.root.child("out/a").putDataAsync(Data())
            try await a.delete()
            var told: [String] = []
            for try await change in changes {
                told.append("\(change.kind) \(change.reference.fullPath)")
                if change.kind == .deleted { break }
            }
            #expect(told == ["created in/a", "deleted in/a"])
        }
    }

    @Test func `Tasks of an earlier process are listed, paused, until they are resumed`() async throws {
        let fixture = try ClientFixture()
        let held = try await fixture.heldUpload()
        _ = try await fixture.storage.ask(StorageCalls.ServiceStop())
        #expect(await code { try await held.wait() } == .unknown)
        let task = try #require(try await fixture.storage.uploadTasks().first)
        #expect(task.snapshot.status == .pause && task.snapshot.reference.name == "film.mov")
        let heard = Heard(task)
        #expect(try await task.perform(.resume))
        #expect(try await task.wait().metadata?.size == 4 << 20)
        try await eventually { heard.statuses == [.pause, .resume, .success] }
        await fixture.storage.close()
    }
}
