import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct RestoreTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())

    /// An upload of 20 bytes, 6 of them acknowledged.
    private func halfway(_ stage: TransfersFixture) async throws -> (UploadTask, ScriptedSession) {
        let (task, session) = try await stage.sending()
        session.mark = "two"
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        session.mark = "six"
        session.answer(.received(upTo: 6))
        #expect(try await session.nextStep() == .send(6..<14))
        try await until { stage.store?.bookmark(of: task.id) == "six" }
        return (task, session)
    }

    @Test func `A restored upload continues at the engine's offset with the same id`() async throws {
        var change = MetadataChange()
        change.content = [.contentType: "x/y"]
        change.custom = .merge(["k": "v"])
        change.md5Hash = "abc"
        let made = try await stage.transfers.upload(
            UploadRequest(.file("/f"), to: TransfersFixture.reference(), change))
        let first = try await stage.acknowledge(made, mark: "two")
        try await until { stage.store?.bookmark(of: made.id) == "two" }

        let next = try await stage.afterCrash()
        let task = try #require(next.transfers.uploads.all.first)
        #expect(task.id == made.id && task.state == .paused && next.transfers.uploads.all.count == 1)
        #expect(task.snapshot().progress == .of(2, 20) && task.snapshot().status == .pause)
        #expect(task.snapshot().metadata == made.snapshot().metadata && next.backend.uploadsBegun.isEmpty)
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        #expect(recorder.lines == ["pause pause 2"])
        #expect(task.resume() && !task.resume())
        let session = try await next.backend.nextSession()
        #expect(session.upload.isRestored && session.upload.bookmark == Bookmark("two"))
        #expect(session.upload.metadata == first.upload.metadata && session.upload.expectedMD5 == "abc")
        #expect(try await session.nextStep() == .query)
        session.answer(.received(upTo: 6))
        #expect(try await session.nextStep() == .send(6..<8))
        session.complete()
        #expect(try await task.result().state == .success)
        #expect(
            recorder.lines == [
                "pause pause 2", "resume resume 2", "progress progress 6", "progress progress 20", "success success 20",
            ])
    }

    /// The next process, which has read no task that has ended.
    private func next(after stage: TransfersFixture, keeping most: Int = 1000) async throws -> TransfersFixture {
        var limits = TransferLimits()
        limits.finishedTasks = most
        let next = TransfersFixture(ScriptedBackend(), stage.store?.afterCrash(), limits: limits, isFirst: false)
        try await next.transfers.restore(.pause)
        return next
    }

    @Test func `Tasks that have ended are read once, when the first of them is asked for`() async throws {
        let before = try await stage.storedUpload()
        let next = try await next(after: stage)
        let since = try await next.storedUpload()
        try await next.transfers.ready(for: since)
        try await next.transfers.readyToCount()
        #expect(next.transfers.count(of: .success) == 2 && next.store?.readsOfEnded == 0)
        async let first: Void = next.transfers.ready(for: before)
        async let second: Void = next.transfers.allTasks()
        _ = try await (first, second)
        try await next.transfers.ready(for: "unknown")
        #expect(next.store?.readsOfEnded == 1 && next.transfers.count(of: .success) == 2)
        #expect(next.transfers.uploads.all.map(\.id) == [before, since])
        #expect(try next.transfers.uploads.task(before).state == .success)
    }

    @Test func `A task that is forgotten while earlier ones are read remains forgotten`() async throws {
        _ = try await stage.storedUpload()
        let next = try await next(after: stage)
        let task = try next.transfers.uploads.task(try await next.storedUpload())
        next.store?.stall()
        async let all: Void = next.transfers.allTasks()
        try await next.store?.stalled.next()
        async let isForgotten = next.transfers.uploads.forget(task)
        try await next.store?.stalled.next()
        next.store?.proceed()
        _ = try await all
        #expect(await isForgotten && next.transfers.uploads.all.count == 1)
    }

    @Test func `The oldest tasks that have ended are forgotten, whether they were read or not`() async throws {
        var ids = [String]()
        for _ in 0..<2 { ids.append(try await stage.storedUpload()) }
        let next = try await next(after: stage, keeping: 3)
        for _ in 0..<2 { ids.append(try await next.storedUpload()) }
        #expect(next.store?.readsOfEnded == 0)
        try await next.transfers.readyToCount()
        #expect(next.transfers.uploads.all.map(\.id) == Array(ids.suffix(3)))
        #expect(next.transfers.count(of: .success) == 3)

        let last = try await self.next(after: next, keeping: 3)
        ids = ids.suffix(3)
        for _ in 0..<4 { ids.append(try await last.storedUpload()) }
        try await until { last.store?.readsOfEnded == 1 && last.transfers.uploads.all.count == 3 }
        #expect(last.transfers.uploads.all.map(\.id) == Array(ids.suffix(3)))
    }

    @Test func `An upload that was killed before its session opened opens a session`() async throws {
        let (made, first) = try await stage.upload()
        made.start()
        #expect(try await first.nextStep() == .open)
        let next = try await stage.afterCrash()
        let task = try next.transfers.uploads.task(made.id)
        #expect(task.resume())
        #expect(try await next.backend.nextSession().nextStep() == .open)
    }

    @Test func `An upload that is resumed and killed again keeps its progress`() async throws {
        let (made, _) = try await halfway(stage)
        var stage = stage
        for _ in 0..<3 {
            stage = try await stage.afterCrash()
            let task = try stage.transfers.uploads.task(made.id)
            #expect(task.snapshot().progress == .of(6, 20) && task.resume())
            let session = try await stage.backend.nextSession()
            #expect(session.upload.bookmark == Bookmark("six"))
            session.mark = "six"
            #expect(try await session.nextStep() == .query)
            try await until { stage.store?.keeps == 1 }
        }
    }

    @Test func `A restored download continues with its received bytes`() async throws {
        let (made, fetch) = try await stage.fetching()
        fetch.session.mark = "nine"
        fetch.report(.of(9 << 20, 20 << 20))
        try await until { stage.store?.bookmark(of: made.id) == "nine" }
        let next = try await stage.afterCrash()
        let task = try next.transfers.downloads.task(made.id)
        #expect(task.state == .paused && task.snapshot().progress == .of(9 << 20, 20 << 20))
        #expect(task.resume())
        let session = try await next.backend.nextDownload()
        #expect(session.download.isRestored && session.download.bookmark == Bookmark("nine"))
        #expect(session.download.task == made.id && session.download.file == "/f")
        _ = try await session.nextTry()
        session.complete()
        #expect(try await task.result().progress == .of(20, 20))
    }

    @Test func `A restored list keeps the order of creation`() async throws {
        var ids: [String] = []
        for index in 0..<12 {
            let (task, session) = try await stage.upload()
            ids.append(task.id)
            guard index % 3 == 0 else { continue }
            task.start()
            _ = try await session.nextStep()
            session.complete()
            _ = try await task.result()
        }
        let next = try await stage.afterCrash()
        #expect(next.transfers.uploads.all.map(\.id) == ids)
        #expect(next.transfers.count(of: .success) == 4 && next.transfers.count(of: .paused) == 8)
        ids.append(try await next.upload().0.id)
        #expect(next.transfers.uploads.all.map(\.id) == ids)
    }

    @Test func `Restored finished tasks keep their outcome`() async throws {
        let (won, one) = try await stage.sending()
        let (lost, two) = try await stage.sending()
        one.complete()
        two.answer(.failed(.refused))
        let last = try await won.result()
        await #expect(throws: StorageError.self) { try await lost.result() }
        let (given, _) = try await stage.upload()
        #expect(try await given.cancel())
        var next = stage
        for _ in 0..<2 {
            next = try await next.afterCrash()
            #expect(try next.transfers.uploads.task(won.id).snapshot() == last)
            #expect(try next.transfers.uploads.task(lost.id).snapshot() == lost.snapshot())
            #expect(try next.transfers.uploads.task(given.id).snapshot() == given.snapshot())
            let task = try next.transfers.uploads.task(won.id)
            #expect(try await task.result() == last)
            #expect(try await !task.pause())
            #expect(try await !task.cancel())
            #expect(!task.resume())
            let recorder = RecordingObserver()
            recorder.observeAll(task)
            #expect(recorder.lines == ["success success 20"])
        }
    }

    @Test func `The newest thousand finished tasks survive several restarts`() async throws {
        var stage = stage, ids: [String] = []
        for _ in 0..<3 {
            for _ in 0..<400 {
                let (task, session) = try await stage.upload(1)
                task.start()
                _ = try await session.nextStep()
                stage.clock.advance(by: .seconds(1))
                session.complete()
                _ = try await task.result()
                ids.append(task.id)
            }
            stage = try await stage.afterCrash()
        }
        #expect(stage.transfers.uploads.all.map(\.id) == ids.suffix(TransferLimits().finishedTasks))
        let store = try #require(stage.store)
        try await until { store.kept.count < TransferLimits().finishedTasks + 64 }
    }

    @Test func `Only a finished task can be removed`() async throws {
        let (made, session) = try await stage.sending()
        #expect(await !stage.transfers.uploads.forget(made))
        session.complete()
        _ = try await made.result()
        let next = try await stage.afterCrash()
        let task = try next.transfers.uploads.task(made.id)
        #expect(await next.transfers.uploads.forget(task))
        #expect(await !next.transfers.uploads.forget(task))
        #expect(next.transfers.uploads.all.isEmpty && next.store?.kept.isEmpty == true)
        #expect(throws: StorageError.self) { try next.transfers.uploads.task(made.id) }
    }

    @Test func `Cancelling a restored task discards its session`() async throws {
        let (upload, _) = try await halfway(stage)
        let (download, _) = try await stage.fetching()
        let next = try await stage.afterCrash()
        let tokens = Tokens()
        #expect(try await next.transfers.uploads.task(upload.id).cancel(tokens: tokens))
        #expect(try await next.transfers.downloads.task(download.id).cancel(tokens: tokens))
        let session = try await next.backend.nextSession(), fetch = try await next.backend.nextDownload()
        #expect(session.discards == 1 && session.upload.bookmark == Bookmark("six"))
        #expect(fetch.discards == 1 && fetch.download.isRestored)
        #expect(session.upload.caller.tokens is Tokens && fetch.download.caller.tokens is Tokens)
        #expect(try next.transfers.uploads.task(upload.id).state == .cancelled)
    }

    @Test func `An upload of an unreadable file restores as an upload of that file`() async throws {
        let failure = StorageError.file("/no/such", "does not exist")
        let stage = TransfersFixture(ScriptedBackend(inspection: .failure(failure)), InMemoryTaskStore())
        let made = try await stage.transfers.upload(UploadRequest(.file("/no/such"), to: TransfersFixture.reference()))
        #expect(try await made.pause())
        #expect(stage.store?.spooled == [:])
        let next = try await stage.afterCrash()
        #expect(try next.transfers.uploads.task(made.id).resume())
        guard case .file("/no/such", let identity) = try await next.backend.nextSession().upload.source else {
            return #expect(Bool(false), "it is not about the file")
        }
        #expect(identity.inode == 0)
    }
}
