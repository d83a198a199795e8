import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct TaskListTests {
    let stage = TransfersFixture()

    @Test func `A result waits for the end and the wait can be cancelled`() async throws {
        let (task, session) = try await stage.sending()
        let waiting = Task { try await task.result() }
        let givenUp = Task { try await task.result() }
        try await TransfersFixture.succeedElsewhere()
        givenUp.cancel()
        await #expect(throws: CancellationError.self) { try await givenUp.value }
        session.complete()
        #expect(try await waiting.value.state == .success)
        #expect(try await task.result() == waiting.value)
    }

    @Test func `The result throws the failure with the object's name`() async throws {
        let (task, session) = try await stage.sending()
        session.answer(.failed(.refused))
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(error == .refused.about(session.upload.reference))
        #expect(task.snapshot().error == error && task.snapshot().status == .failure)
    }

    @Test func `The list keeps all unfinished tasks and the newest thousand finished ones`() async throws {
        let unfinished = try await stage.upload(1)
        var ids: [String] = []
        for _ in 0..<TransferLimits().finishedTasks + 5 { ids.append(try await stage.storedUpload()) }
        #expect(Set(ids).count == ids.count)
        #expect(stage.transfers.uploads.all.allSatisfy { RandomSource.number(inUUID: $0.id) == $0.number })
        #expect(stage.transfers.uploads.all.map(\.id) == [unfinished.0.id] + ids.suffix(TransferLimits().finishedTasks))
        for id in [ids[0], ids[4], "", "no such task"] {
            let error = #expect(throws: StorageError.self) { try stage.transfers.uploads.task(id) }
            #expect(error?.code == .invalidArgument && error?.message.contains("\"\(id)\"") == true)
        }
        #expect(try stage.transfers.uploads.task(ids[5]).state == .success)
        #expect(stage.transfers.uploads.count(of: .success) == TransferLimits().finishedTasks)
    }

    @Test func `The counts by state are those of the tasks`() async throws {
        let list = stage.transfers.uploads
        func check() {
            for state in TaskState.allCases { #expect(list.count(of: state) == list.all.count { $0.state == state }) }
        }
        let (task, session) = try await stage.upload(1)
        check()
        task.start()
        check()
        _ = try await session.nextStep()
        check()
        session.complete()
        _ = try await task.result()
        check()
        let (other, _) = try await stage.upload(1)
        _ = try await other.cancel()
        check()
        #expect(list.count(of: .cancelled) == 1 && list.count(of: .success) == 1)
        #expect(await list.forget(task))
        check()
        #expect(list.count(of: .success) == 0)
    }

    @Test func `An unreadable file fails the task and not the call`() async throws {
        let failure = StorageError.file("/no/such", "does not exist")
        let stage = TransfersFixture(ScriptedBackend(inspection: .failure(failure)))
        let task = try await stage.transfers.upload(UploadRequest(.file("/no/such"), to: TransfersFixture.reference()))
        #expect(task.state == .queued)
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        task.start()
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(error?.code == .unknown && error?.file == "/no/such" && error?.object == "a")
        #expect(recorder.lines == ["resume resume 0", "failure failure 0"])
        #expect(task.snapshot().progress.totalUnitCount == 0)
    }

    @Test func `The root cannot be written and has no metadata`() async throws {
        let root = try TransfersFixture.reference("")
        let calls: [() async throws -> Void] = [
            { _ = try await stage.transfers.upload(UploadRequest(.data([]), to: root)) },
            { _ = try await stage.transfers.upload(UploadRequest(.file("/f"), to: root)) },
            { _ = try await stage.transfers.metadata(of: root) },
            { _ = try await stage.transfers.updateMetadata(of: root, .init()) },
        ]
        for call in calls {
            let error = await #expect(throws: StorageError.self) { try await call() }
            #expect(error?.code == .invalidArgument)
        }
        #expect(stage.transfers.uploads.all.isEmpty)
    }

    nonisolated static let types: [(String?, String, String, String)] = [
        ("text/x-own", "/f.png", "a.gif", "text/x-own"), ("", "/f.png", "a.gif", ""),
        (nil, "/f.png", "a.gif", "image/png"), (nil, "/f", "a.gif", "image/gif"),
        (nil, "/d.png/f", "a.GIF", "image/gif"),
        (nil, "/f.what", "a.gif/b", "application/octet-stream"), (nil, "/.png", "a", "application/octet-stream"),
    ]
    @Test(arguments: types)
    func `The content type comes from the request, else the file, else the reference`(
        said: String?, file: String, path: String, type: String
    ) async throws {
        var change = MetadataChange()
        if let said { change.content[.contentType] = said }
        _ = try await stage.transfers.upload(UploadRequest(.file(file), to: TransfersFixture.reference(path), change))
        #expect(try await stage.backend.nextSession().upload.metadata.content[.contentType] == type)
    }

    @Test func `A null in the metadata of an upload counts as absent`() async throws {
        var change = MetadataChange()
        change.content = [.contentType: nil, .cacheControl: nil, .contentLanguage: ""]
        change.custom = .merge(["gone": nil, "kept": "x"])
        change.md5Hash = "abc"
        let task = try await stage.transfers.upload(
            UploadRequest(.data([1]), to: TransfersFixture.reference("a.txt"), change))
        let upload = try await stage.backend.nextSession().upload
        #expect(upload.metadata.content == [.contentType: "text/plain", .contentLanguage: ""])
        #expect(upload.metadata.custom == ["kept": "x"] && upload.expectedMD5 == "abc")
        #expect(task.snapshot().metadata == .uploading(upload.metadata, md5Hash: "abc"))
        change.custom = .removeAll
        _ = try await stage.transfers.upload(UploadRequest(.data([1]), to: TransfersFixture.reference(), change))
        #expect(try await stage.backend.nextSession().upload.metadata.custom == [:])
    }

    @Test func `Metadata beyond the limit creates no task`() async throws {
        var change = MetadataChange()
        change.custom = .merge(["k": String(repeating: "x", count: 8192)])
        await #expect(throws: StorageError.self) {
            try await stage.transfers.upload(UploadRequest(.data([1]), to: TransfersFixture.reference(), change))
        }
        #expect(stage.transfers.uploads.all.isEmpty)
    }
}
