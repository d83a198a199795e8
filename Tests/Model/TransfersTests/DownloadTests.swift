import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct DownloadTests {
    let stage = TransfersFixture()
    let recorder = RecordingObserver()

    @Test func `Observers get every event of a download`() async throws {
        let (task, session) = try await stage.download()
        recorder.observeAll(task)
        #expect(task.snapshot().metadata == nil && task.snapshot().progress == .unknown)
        task.start()
        let report = try await session.nextTry()
        for completed in [Int64(5), 12] {
            report(.of(completed, 20))
            try await until { task.snapshot().progress == .of(completed, 20) }
        }
        session.complete()
        let last = try await task.result()
        #expect(
            recorder.lines == [
                "resume resume 0", "progress progress 5", "progress progress 12", "progress progress 20",
                "success success 20",
            ])
        #expect(last.metadata == .stored(.stored(session.download.reference, size: 20)))
        #expect(recorder.events.dropLast().allSatisfy { $0.snapshot.metadata == nil && $0.snapshot.kind == .download })
        #expect(session.download.file == "/f" && session.discards == 0)
    }

    @Test func `Observers get the newest of simultaneous reports before the end`() async throws {
        let (task, session) = try await stage.fetching()
        recorder.observeAll(task)
        let report = session.report
        for completed in Int64(1)...1000 { report(.of(completed, 2000)) }
        session.session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await task.result() }
        #expect(recorder.lines.dropFirst(2) == ["progress progress 1000", "failure failure 1000"])
    }

    @Test func `A report after the end of its attempt is ignored`() async throws {
        let (task, session) = try await stage.fetching()
        let late = session.report
        async let paused = task.pause()
        try await until { session.session.aborts == 1 }
        late(.of(3, 20))
        session.session.answer(.aborted)
        #expect(try await paused)
        #expect(task.snapshot().progress == .of(3, 20))
        late(.of(4, 20))
        try await TransfersFixture.succeedElsewhere()
        #expect(task.resume())
        _ = try await session.session.nextTry()
        late(.of(9, 50))
        try await TransfersFixture.succeedElsewhere()
        #expect(task.snapshot().progress == .of(3, 20))
    }

    @Test func `A cancellation error names the object`() async throws {
        let (task, session) = try await stage.fetching()
        recorder.observeAll(task)
        async let cancelled = task.cancel()
        try await until { session.session.aborts == 1 }
        session.session.answer(.aborted)
        #expect(try await cancelled)
        #expect(session.session.discards == 1)
        #expect(task.snapshot().error?.message == "User cancelled the download of gs://b/a.")
        #expect(recorder.events.last?.snapshot.error == .cancelled(.download, of: session.session.download.reference))
    }

    @Test func `A download retries failures within its retry time`() async throws {
        try stage.transfers.settings.set(.maxDownloadRetryTime, to: 2)
        let (task, session) = try await stage.fetching()
        #expect(session.session.download.caller.retryTime == .seconds(2))
        session.report(.of(1, 20))
        try await until { task.snapshot().progress == .of(1, 20) }
        stage.clock.advance(by: .seconds(1))
        session.session.answer(.failed(.busy))
        stage.clock.advance(by: try await stage.rest(upTo: 1))
        _ = try await session.session.nextTry()
        stage.clock.advance(by: .seconds(1))
        session.session.answer(.failed(.busy))
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(error?.code == .retryLimitExceeded && error?.object == "a")
    }

    @Test func `Downloads have a concurrency limit of their own`() async throws {
        var all: [(DownloadTask, ScriptedDownload)] = []
        for _ in 0..<3 { all.append(try await stage.download()) }
        let (upload, _) = try await stage.upload()
        for (task, _) in all { task.start() }
        upload.start()
        #expect(all.map(\.0.state) == [.running, .running, .queued] && upload.state == .running)
        #expect(stage.transfers.count(of: .running) == 3 && stage.transfers.count(of: .queued) == 1)
        _ = try await all[0].1.nextTry()
        all[0].1.complete()
        _ = try await all[2].1.nextTry()
        #expect(all[2].0.state == .running)
    }

    @Test func `The end of input waits for downloads and a shutdown pauses them`() async throws {
        let (task, session) = try await stage.fetching()
        let rest = Mail<Void>()
        Task {
            try await stage.transfers.restsOnly()
            rest.deliver(())
        }
        try await TransfersFixture.succeedElsewhere()
        #expect(rest.waiting.isEmpty)
        let suspended = Task { try await stage.transfers.suspend() }
        try await until { session.session.aborts == 1 }
        session.session.answer(.aborted)
        try await suspended.value
        try await rest.next()
        #expect(task.state == .paused)
    }

    @Test func `Uploads and downloads have separate tasks and observers`() async throws {
        let (upload, _) = try await stage.upload()
        let (download, _) = try await stage.download()
        let transfers = stage.transfers
        #expect(throws: StorageError.self) { try transfers.downloads.task(upload.id) }
        let error = #expect(throws: StorageError.self) { try transfers.uploads.task(download.id) }
        #expect(error?.message == "There is no upload task \"\(download.id)\", or it ended long ago.")
        #expect(transfers.downloads.all.map(\.id) == [download.id] && transfers.uploads.all.map(\.id) == [upload.id])
        download.observe(.pause, handle: "h", recorder.connection)
        #expect(!recorder.connection.removeObserver("h", of: UploadTask.self))
        #expect(recorder.connection.removeObserver("h", of: DownloadTask.self))
        #expect(!recorder.connection.removeObserver("h", of: DownloadTask.self))
    }

    @Test func `The root cannot be downloaded`() async throws {
        let root = try TransfersFixture.reference("")
        await #expect(throws: StorageError.self) { try await stage.transfers.download(root, to: "/f") }
        #expect(stage.transfers.downloads.all.isEmpty)
    }
}

extension TransfersFixture {
    /// A task that is not started.
    func download() async throws -> (DownloadTask, ScriptedDownload) {
        let task = try await transfers.download(Self.reference(), to: "/f")
        return (task, try await backend.nextDownload())
    }

    /// A task whose first attempt has begun.
    func fetching() async throws -> (DownloadTask, (session: ScriptedDownload, report: ScriptedDownload.Report)) {
        let (task, session) = try await download()
        task.start()
        return (task, (session, try await session.nextTry()))
    }
}

extension ScriptedDownload {
    func complete() { answer(.completed(.stored(download.reference, size: 20))) }
}

extension Progress {
    static func of(_ completed: Int64, _ total: Int64) -> Progress {
        Progress(completedUnitCount: completed, totalUnitCount: total)
    }
}
