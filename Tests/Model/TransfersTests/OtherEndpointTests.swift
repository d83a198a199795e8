import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct OtherEndpointTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())

    /// An upload halfway and a download, as a process with another endpoint finds them.
    private func moved(
        _ wish: UnfinishedTasks = .pause, limits: TransferLimits = .init()
    ) async throws -> (TransfersFixture, UploadTask, DownloadTask) {
        let (upload, session) = try await stage.sending()
        session.mark = "six"
        session.answer(.received(upTo: 2))
        let (download, _) = try await stage.download()
        try await until { stage.store?.bookmark(of: upload.id) == "six" }
        stage.store?.move([upload.id, download.id], to: "https://other")
        let next = TransfersFixture(ScriptedBackend(), stage.store?.afterCrash(), limits: limits, isFirst: false)
        try await next.transfers.restore(wish)
        try await next.transfers.allTasks()
        return (next, try next.transfers.uploads.task(upload.id), try next.transfers.downloads.task(download.id))
    }

    @Test(arguments: UnfinishedTasks.allCases)
    func `A task of another endpoint shows the endpoint and cannot be resumed`(wish: UnfinishedTasks) async throws {
        let (next, upload, download) = try await moved(wish)
        #expect(upload.snapshot().endpoint == "https://other" && download.snapshot().endpoint == "https://other")
        #expect(upload.state == .paused && upload.snapshot().progress == .of(2, 20))
        #expect(!upload.resume() && !download.resume())
        #expect(try await !upload.pause())
        let refusal = #expect(throws: StorageError.self) { try upload.checkEndpoint() }
        #expect(refusal?.code == .invalidArgument && refusal?.message.contains("--endpoint https://other ") == true)
        try await TransfersFixture.succeedElsewhere()
        #expect(next.backend.uploadsBegun.isEmpty && next.transfers.count(of: .paused) == 2)
    }

    @Test func `A task of another endpoint can be cancelled without a request`() async throws {
        let (next, upload, download) = try await moved()
        let recorder = RecordingObserver()
        recorder.observeAll(upload)
        #expect(try await upload.cancel())
        #expect(try await download.cancel())
        #expect(recorder.lines == ["pause pause 2", "failure failure 2"])
        #expect(recorder.events.allSatisfy { $0.snapshot.endpoint == "https://other" })
        #expect(try await next.backend.nextDownload().discards == 1, "what has arrived is on this machine")
        #expect(next.backend.uploadsBegun.isEmpty)
        #expect(next.store?.kept.values.allSatisfy(\.hasEnded) == true && next.store?.spooled == [:])
        try upload.checkEndpoint()
        #expect(await next.transfers.uploads.forget(upload))
    }

    @Test func `A task of another endpoint does not count against limits and keeps its record`() async throws {
        var ended: [String] = []
        for _ in 0..<70 {
            let (task, _) = try await stage.upload()
            #expect(try await task.cancel())
            stage.clock.advance(by: .seconds(1))
            ended.append(task.id)
        }
        stage.store?.move(ended.dropFirst(), to: "https://other")
        var limits = TransferLimits()
        (limits.tasks, limits.finishedTasks) = (2, 2)
        let (next, upload, _) = try await moved(limits: limits)
        #expect(next.transfers.uploads.all.map(\.id) == [ended[0], ended[69], upload.id])
        for _ in 0..<2 { _ = try await next.upload() }
        try await TransfersFixture.succeedElsewhere()
        #expect(Set(ended).isSubset(of: try #require(next.store).kept.keys))
    }
}
