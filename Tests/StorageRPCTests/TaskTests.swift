import Foundation
import StorageRPC
import TestSupport
import Testing

@Suite(.watchdog) struct TaskTests {
    @Test func `Handlers and completions run on the callback queue, one after the other`() async throws {
        try await ClientFixture.with { fixture in
            let heard = Heard()
            let task = fixture.root.child("a").putData(Data("a".utf8)) { _, _ in
                #expect(DispatchQueue.getSpecific(key: ClientFixture.key) == "callbacks")
                heard.append(.unknown)
            }
            for status in [StorageTaskStatus.resume, .progress, .success] {
                task.observe(status) { snapshot in
                    #expect(DispatchQueue.getSpecific(key: ClientFixture.key) == "callbacks")
                    heard.append(snapshot.status)
                }
            }
            try await eventually { heard.statuses.contains(.success) }
            #expect(heard.statuses.suffix(2) == [.unknown, .success])
        }
    }

    @Test func `Handlers that are added on the callback queue after the start receive all events`() async throws {
        try await ClientFixture.with { fixture in
            let heard = Heard()
            fixture.queue.sync {
                let task = fixture.root.child("a").putData(Data())
                // The upload ends meanwhile: its events wait for the queue.
                let ended = DispatchSemaphore(value: 0)
                Task {
                    _ = try? await task.wait()
                    ended.signal()
                }
                ended.wait()
                for status in [StorageTaskStatus.resume, .progress, .success] {
                    task.observe(status) { heard.append($0.status) }
                }
            }
            try await eventually { heard.statuses.count == 3 }
            #expect(heard.statuses == [.resume, .progress, .success])
        }
    }

    @Test func `Async functions without onProgress need no callback queue`() async throws {
        try await ClientFixture.with { fixture in
            fixture.queue.suspend()
            defer { fixture.queue.resume() }
            let note = fixture.root.child("note.txt")
            let stored = try await note.putDataAsync(Data("Hello".utf8))
            let data = try await note.data(maxSize: 5)
            #expect(stored.size == 5 && data == Data("Hello".utf8))
            let metadata = try await note.getMetadata()
            #expect(metadata.name == "note.txt")
        }
    }

    @Test func `An observer that removes itself is called once, and one that was removed never`() async throws {
        try await ClientFixture.with { fixture in
            let (removed, heard) = (Heard(), Heard())
            let task = try await fixture.heldUpload(times: 3)
            nonisolated(unsafe) var handle = ""  // On the callback queue alone.
            fixture.queue.sync {
                handle = task.observe(.pause) { snapshot in
                    heard.append(snapshot.status)
                    task.removeObserver(withHandle: handle)
                    task.removeAllObservers(for: .resume)
                }
                task.observe(.resume) { _ in removed.append(.resume) }
                task.removeAllObservers(for: .resume)
            }
            for _ in 0..<2 {
                #expect(try await task.perform(.pause))
                #expect(try await task.perform(.resume))
            }
            try await fixture.settled()
            _ = try await fixture.storage.ask(StorageCalls.HarnessRelease())
            try await task.wait()
            fixture.queue.sync {}
            #expect(heard.statuses == [.pause] && removed.statuses.isEmpty)
        }
    }

    @Test func `On a slow service a command in the first progress handler takes effect`() async throws {
        try await ClientFixture.with { fixture in
            fixture.storage.uploadChunkSizeBytes = 1 << 18
            _ = try await fixture.storage.ask(
                StorageCalls.HarnessArm(on: [.send], do: .init(rate: 1 << 18), times: .null))
            let file = try fixture.file("film.mov", bytes: 4 << 20)
            let heard = Heard()
            let task: StorageUploadTask = fixture.queue.sync {
                let task = fixture.root.child("film.mov").putFile(from: file)
                task.observe(.progress) { [weak task] _ in task?.cancel() }
                task.observe(.failure) { heard.append($0.status) }
                return task
            }
            #expect(await code { try await task.wait() } == .cancelled)
            try await eventually { heard.statuses == [.failure] }
        }
    }

    @Test func `Commands take effect in their order`() async throws {
        try await ClientFixture.with { fixture in
            let task = try await fixture.heldUpload(times: 2)
            let heard = Heard(task)
            task.pause()
            task.resume()
            task.pause()
            task.cancel()
            #expect(await code { try await task.wait() } == .cancelled)
            try await eventually { heard.statuses.last == .failure }
            #expect(heard.statuses == [.resume, .pause, .resume, .pause, .failure])
            #expect(try await task.perform(.pause) == false)
        }
    }

    @Test func `A task without a reference runs to its end, and is released then`() async throws {
        try await ClientFixture.with { fixture in
            weak var weakTask: StorageUploadTask?
            let heard = Heard()
            func start() throws {
                let file = try fixture.file("a", bytes: 3 << 20)
                let task = fixture.root.child("a").putFile(from: file) { [heard] metadata, _ in
                    #expect(metadata?.size == 3 << 20)
                    heard.append(.success)
                }
                // A cycle, as users make them: the end breaks it.
                task.observe(.progress) { _ in _ = task.snapshot }
                weakTask = task
            }
            try start()
            try await eventually { heard.statuses == [.success] }
            try await eventually { weakTask == nil }
        }
    }

    @Test func `A thousand tasks run concurrently`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let heard = Heard()
            let tasks = (0..<1000).map { number in
                fixture.root.child("many/\(number)").putData(Data("\(number)".utf8)) { metadata, _ in
                    heard.append(metadata == nil ? .failure : .success)
                }
            }
            for task in tasks { try await task.wait() }
            try await eventually { heard.statuses.count == 1000 }
            #expect(!heard.statuses.contains(.failure))
            #expect(try await fixture.root.child("many").listAll().items.count == 1000)
        }
    }

    @Test func `A download to memory is paused and resumed, and has a maximum`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let film = fixture.root.child("film")
            let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            try await film.putDataAsync(bytes)
            let heard = Heard()
            let task = film.getData(maxSize: 3_000_000) { data, error in
                #expect(data == bytes && error == nil)
                heard.append(.success)
            }
            task.pause()
            task.resume()
            try await eventually { heard.statuses == [.success] }
            for maxSize in [0, 1, 2_999_999] as [Int64] {
                #expect(await code { _ = try await film.data(maxSize: maxSize) } == .downloadSizeExceeded)
            }
            #expect(await code { _ = try await fixture.root.child("none").data(maxSize: 1) } == .objectNotFound)
        }
    }

    @Test func `Bytes that no message can bring are uploaded in pieces`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let bytes = Data(repeating: 7, count: 20 << 20)
            let metadata = try await fixture.root.child("large").putDataAsync(bytes)
            #expect(metadata.size == 20 << 20)
            #expect(try await fixture.root.child("large").data(maxSize: .max) == bytes)
        }
    }

    @Test func `The snapshots of a task are a sequence that ends with it`() async throws {
        try await ClientFixture.with { fixture in
            let task = try await fixture.heldUpload()
            var statuses: [StorageTaskStatus] = []
            let iteration = task.snapshots.makeAsyncIterator()
            try await task.perform(.pause)
            try await task.perform(.resume)
            var iterator = iteration
            while let snapshot = try await iterator.next() {
                if statuses.last != snapshot.status { statuses.append(snapshot.status) }
            }
            #expect(statuses == [.pause, .resume, .progress, .success])
            let cancelled = try await fixture.heldUpload("other.mov")
            cancelled.cancel()
            #expect(await code { for try await _ in cancelled.snapshots {} } == .cancelled)
        }
    }

    @Test func `A cancelled loop over snapshots throws, and the task continues`() async throws {
        try await ClientFixture.with { fixture in
            let task = try await fixture.heldUpload()
            for isEarly in [true, false] {
                let loop = Task {
                    if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
                    for try await _ in task.snapshots {}
                }
                loop.cancel()
                await #expect(throws: CancellationError.self) { try await loop.value }
            }
            #expect(task.snapshot.error == nil)
            _ = try await fixture.storage.ask(StorageCalls.HarnessRelease())
            try await task.wait()
        }
    }

    /// Of what the service says, only its first answer, to `initialize`, arrives.
    @Test func `Cancelling the Swift task ends every wait for an answer`() async throws {
        let script = #""$0" "$@" | exec sed -u '2,$d'"#
        let fixture = try ClientFixture(flags: [], command: ["sh", "-c", script, ServiceProcess.program, "serve"])
        let (task, stream) = (fixture.root.child("a").putData(Data()), fixture.root.child("a").putStream())
        let waits: [@Sendable () async throws -> Void] = [
            { _ = try await task.taskID() }, { try await task.perform(.pause) }, { try await task.wait() },
            { _ = try await fixture.root.changes() }, { for try await _ in task.snapshots {} },
            { try await stream.write(Data()) }, { try await stream.finish() },
            { for try await _ in fixture.root.child("a").getStream() {} },
        ]
        for (number, wait) in waits.enumerated() {
            let waiting = Task { try await wait() }
            waiting.cancel()
            await #expect(throws: CancellationError.self, "\(number)") { try await waiting.value }
        }
        await fixture.storage.close()
    }

    @Test func `The progress of an empty object is complete`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let empty = fixture.root.child("empty")
            let file = fixture.directory.appending(path: "empty")
            for begin in [{ empty.putData(Data()) }, { empty.write(toFile: file) }] as [() -> StorageObservableTask] {
                let progress = try #require(try await begin().wait().progress)
                #expect(progress.fractionCompleted == 1 && progress.isFinished && !progress.isIndeterminate)
                #expect(progress.totalUnitCount == 0 && progress.completedUnitCount == 0)
            }
        }
    }

    @Test func `An update of metadata says what differs from what was read`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let a = fixture.root.child("a")
            let first = StorageMetadata()
            (first.contentType, first.cacheControl) = ("text/plain", "no-store")
            first.customMetadata = ["kept": "1", "changed": "1", "removed": "1", "theirs": "1"]
            let (mine, theirs) = (try await a.putDataAsync(Data(), metadata: first), try await a.getMetadata())
            theirs.contentType = "text/html"
            theirs.customMetadata?["theirs"] = "2"
            theirs.customMetadata?["kept"] = nil
            try await a.updateMetadata(theirs)
            (mine.contentType, mine.cacheControl) = ("text/plain", nil)  // One as it was, one removed.
            mine.contentLanguage = nil
            mine.customMetadata?["changed"] = "e\u{301}"
            mine.customMetadata?["removed"] = nil
            let now = try await a.updateMetadata(mine)
            #expect(now.contentType == "text/html" && now.cacheControl == nil)
            #expect(now.customMetadata == ["changed": "e\u{301}", "theirs": "2"])
            now.customMetadata?["changed"] = "\u{e9}"  // Equal to Swift, and other bytes.
            let last = try await a.updateMetadata(now)
            #expect(last.customMetadata?["changed"]?.unicodeScalars.count == 1)
            last.customMetadata = nil
            #expect(try await a.updateMetadata(last).customMetadata == nil)
        }
    }

    @Test func `Cancelling the Swift task cancels the transfer, and a wait alone`() async throws {
        try await ClientFixture.with { fixture in
            try await fixture.arm(.init(hold: true))
            let file = try fixture.file("a", bytes: 2 << 20)
            let upload = Task { try await fixture.root.child("a").putFileAsync(from: file) }
            try await eventually { try await fixture.settled().held.count == 1 }
            upload.cancel()
            #expect(await code { _ = try await upload.value } == .cancelled)

            let task = try await fixture.heldUpload()
            let wait = Task { try await task.wait() }
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
            #expect(task.snapshot.error == nil)
            _ = try await fixture.storage.ask(StorageCalls.HarnessRelease())
            try await task.wait()
        }
    }

    @Test func `onProgress is called before the function returns`() async throws {
        try await ClientFixture.with(flags: []) { fixture in
            let heard = Heard()
            let file = try fixture.file("a", bytes: 3 << 20)
            try await fixture.root.child("a").putFileAsync(from: file) { _ in heard.append(.progress) }
            #expect(!heard.statuses.isEmpty)
            let copy = fixture.directory.appending(path: "copy")
            #expect(try await fixture.root.child("a").writeAsync(toFile: copy) { _ in heard.append(.progress) } == copy)
            #expect(try Data(contentsOf: copy).count == 3 << 20)
        }
    }

    @Test func `A retry ends a wait, and the events of the task come once`() async throws {
        try await ClientFixture.with { fixture in
            _ = try await fixture.storage.ask(StorageCalls.HarnessClock(at: "2026-01-01T00:00:00Z"))
            try await fixture.arm(.init(fail: .init(httpStatus: 503)))
            let task = fixture.root.child("a").putFile(from: try fixture.file("a", bytes: 2 << 20))
            let resting = try await fixture.settled().resting
            #expect(resting.count == 1 && task.snapshot.retry?.attempt == 1)
            let heard = Heard(task)
            #expect(try await task.perform(.retry))
            try await task.wait()
            try await eventually { heard.statuses == [.resume, .success] }
        }
    }

    @Test func `A failed upload is retried, and observed again`() async throws {
        try await ClientFixture.with { fixture in
            fixture.storage.maxUploadRetryTime = 0
            try await fixture.arm(.init(fail: .init(httpStatus: 503)))
            let task = fixture.root.child("a").putFile(from: try fixture.file("a", bytes: 2 << 20))
            #expect(await code { try await task.wait() } == .retryLimitExceeded)
            #expect(try await task.perform(.retry))
            #expect(try await task.wait().metadata?.size == 2 << 20)
        }
    }

    @Test func `Observers that are added at any moment receive the end`() async throws {
        try await ClientFixture.with { fixture in
            let heard = Heard()
            for number in 0..<200 {
                let task = fixture.root.child("\(number)").putData(Data("x".utf8))
                if number % 2 == 0 { await Task.yield() } else { _ = try await task.taskID() }
                for _ in 0..<5 { task.observe(.success) { heard.append($0.status) } }
            }
            try await eventually { heard.statuses.count == 1000 }
        }
    }
}
