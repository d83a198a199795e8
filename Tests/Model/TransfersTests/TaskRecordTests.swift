import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct TaskRecordTests {
    let store = InMemoryTaskStore()
    let stage: TransfersFixture
    let recorder = RecordingObserver()

    init() { stage = TransfersFixture(ScriptedBackend(), store) }

    private func record(_ id: String) throws -> TaskRecord { try #require(store.kept[id]) }

    private func bookmark(_ id: String) throws -> String? {
        _ = try record(id)
        return store.bookmark(of: id)
    }

    private func request(_ id: String) throws -> TaskRequest? {
        guard case .unfinished(let request, _) = try record(id).stage else { return nil }
        return request
    }

    private func outcome(_ id: String) throws -> TaskOutcome? {
        guard case .ended(let outcome, _) = try record(id).stage else { return nil }
        return outcome
    }

    @Test func `A file upload is recorded before its session begins`() async throws {
        try await stage.transfers.ready()
        store.stall()
        async let made = stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference()))
        try await store.stalled.next()
        #expect(store.waiting == 1 && stage.backend.uploadsBegun.isEmpty && stage.transfers.uploads.all.isEmpty)
        store.proceed()
        let task = try await made
        let request = try #require(try request(task.id))
        #expect(request.file == "/f" && request.identity == .ofSize(20) && !request.hasOwnTokens && !request.isSpooled)
        #expect(try record(task.id).progress == .of(0, 20) && record(task.id).reference == TransfersFixture.reference())
    }

    @Test func `A download is recorded before its session begins`() async throws {
        try await stage.transfers.ready()
        store.stall()
        async let made = stage.transfers.download(TransfersFixture.reference(), to: "/f")
        try await store.stalled.next()
        #expect(store.waiting == 1 && stage.transfers.downloads.all.isEmpty)
        store.proceed()
        let task = try await made
        #expect(try record(task.id).kind == .download && request(task.id)?.file == "/f")
    }

    @Test func `A single-request file upload that its client waits for is recorded when it pauses`() async throws {
        let stage = TransfersFixture(ScriptedBackend(oneRequestLimit: 20), store)
        var upload = UploadRequest(.file("/f"), to: try TransfersFixture.reference())
        upload.isAwaited = true
        let task = try await stage.transfers.upload(upload)
        let session = try await stage.backend.nextSession()
        task.start()
        #expect(try await session.nextStep() == .sendWhole)
        #expect(store.kept.isEmpty)
        async let isPaused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await isPaused)
        #expect(try request(task.id)?.file == "/f")
    }

    @Test func `A larger file upload that its client waits for is recorded before its session begins`() async throws {
        var upload = UploadRequest(.file("/f"), to: try TransfersFixture.reference())
        upload.isAwaited = true
        let task = try await stage.transfers.upload(upload)
        #expect(try request(task.id)?.file == "/f")
    }

    @Test func `A download that its client waits for is recorded when its session requests it`() async throws {
        let task = try await stage.transfers.download(TransfersFixture.reference(), to: "/f", isAwaited: true)
        let session = try await stage.backend.nextDownload()
        task.start()
        _ = try await session.nextTry()
        #expect(store.kept.isEmpty)
        let record = try #require(session.download.record)
        try await record()
        #expect(try self.record(task.id).kind == .download && request(task.id)?.file == "/f")
        session.complete()
        _ = try await task.result()
        #expect(try outcome(task.id) != nil)
        try await record()
        #expect(try outcome(task.id) != nil)
    }

    @Test func `An ended download is not recorded as unfinished`() async throws {
        let task = try await stage.transfers.download(TransfersFixture.reference(), to: "/f", isAwaited: true)
        let session = try await stage.backend.nextDownload()
        task.start()
        _ = try await session.nextTry()
        let record = try #require(session.download.record)
        session.complete()
        _ = try await task.result()
        await #expect(throws: StorageError.self) { try await record() }
        #expect(try outcome(task.id) != nil)
    }

    @Test func `Large uploads from memory are spooled until they are stored`() async throws {
        let (task, session) = try await stage.upload()
        guard case .file("/spool/\(task.id)", .ofSize(20)) = session.upload.source else {
            return #expect(Bool(false), "\(session.upload.source)")
        }
        #expect(store.spooled[task.id]?.count == 20)
        #expect(try request(task.id)?.isSpooled == true)
        task.start()
        #expect(try await session.nextStep() == .open)
        session.complete()
        _ = try await task.result()
        #expect(store.spooled.isEmpty)
    }

    @Test func `An upload session is recorded before the first chunk is sent`() async throws {
        let (task, session) = try await stage.upload()
        task.start()
        #expect(try await session.nextStep() == .open)
        store.stall()
        session.mark = "opened"
        session.answer(.opened())
        try await store.stalled.next()
        try await TransfersFixture.succeedElsewhere()
        #expect(store.waiting == 1 && !session.isInFlight)
        #expect(try bookmark(task.id) == nil)
        store.proceed()
        #expect(try await session.nextStep() == .send(0..<2))
        #expect(try bookmark(task.id) == "opened")
    }

    @Test func `An acknowledged chunk is recorded while the next one is sent`() async throws {
        let (task, session) = try await stage.sending()
        store.stall()
        session.mark = "two"
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        session.mark = "six"
        session.answer(.received(upTo: 6))
        try await TransfersFixture.succeedElsewhere()
        #expect(store.waiting == 1 && !session.isInFlight, "the record before the last is not kept yet")
        store.proceed()
        #expect(try await session.nextStep() == .send(6..<14))
        try await until { store.bookmark(of: task.id) == "six" }
        #expect(try record(task.id).progress == .of(6, 20))
    }

    @Test func `A download is recorded after each mebibyte and when it pauses`() async throws {
        let (task, fetch) = try await stage.fetching()
        let before = store.keeps
        let mebibyte: Int64 = 1 << 20
        for (count, records) in [(1, 0), (mebibyte, 1), (mebibyte + 1, 1), (2 * mebibyte, 2), (2 * mebibyte + 5, 2)] {
            fetch.session.mark = "\(count)"
            fetch.report(.of(count, 1 << 30))
            try await until { task.snapshot().progress == .of(count, 1 << 30) && store.keeps >= before + records }
            try await TransfersFixture.succeedElsewhere()
            #expect(store.keeps == before + records)
        }
        #expect(try bookmark(task.id) == "\(2 << 20)")
        async let paused = task.pause()
        try await until { fetch.session.aborts == 1 }
        fetch.session.answer(.aborted)
        #expect(try await paused)
        #expect(
            try bookmark(task.id) == "\((2 << 20) + 5)" && record(task.id).progress == .of((2 << 20) + 5, 1 << 30))
    }

    @Test func `A success is published after it is recorded`() async throws {
        let (task, session) = try await stage.sending()
        recorder.observeAll(task)
        async let result = task.result()
        store.stall()
        session.complete()
        try await store.stalled.next()
        try await TransfersFixture.succeedElsewhere()
        #expect(store.waiting == 1 && recorder.lines.last == "progress progress 20" && recorder.events.count == 3)
        store.proceed()
        #expect(try await result.state == .success)
        #expect(recorder.lines.last == "success success 20")
        #expect(try outcome(task.id) == .succeeded(.stored(session.upload.reference, size: 20)))
        #expect(try record(task.id).progress == .of(20, 20))
    }

    @Test func `A failure is published after it is recorded`() async throws {
        let (task, session) = try await stage.sending()
        recorder.observeAll(task)
        store.stall()
        session.answer(.failed(.refused))
        try await store.stalled.next()
        try await TransfersFixture.succeedElsewhere()
        #expect(recorder.events.count == 2 && store.waiting == 1)
        store.proceed()
        await #expect(throws: StorageError.self) { try await task.result() }
        #expect(recorder.lines.last == "failure failure 0")
        #expect(try outcome(task.id) == .failed(.refused))
    }

    @Test func `A cancellation is published and answered after it is recorded`() async throws {
        let (task, session) = try await stage.sending()
        recorder.observeAll(task)
        store.stall()
        let answered = Mail<Bool>()
        let cancel = Task { answered.deliver(try await task.cancel()) }
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        try await store.stalled.next()
        try await TransfersFixture.succeedElsewhere()
        #expect(recorder.events.count == 2 && answered.waiting.isEmpty)
        store.proceed()
        #expect(try await answered.next())
        try await cancel.value
        #expect(recorder.lines.last == "failure failure 0")
        #expect(try outcome(task.id) == .cancelled)
    }

    @Test func `A shutdown waits until outcomes are recorded`() async throws {
        let (task, session) = try await stage.sending()
        store.stall()
        session.complete()
        try await store.stalled.next()
        let suspended = Mail<Void>()
        Task {
            try await stage.transfers.suspend()
            suspended.deliver(())
        }
        try await TransfersFixture().transfers.suspend()
        try await TransfersFixture.succeedElsewhere()
        #expect(suspended.waiting.isEmpty)
        store.proceed()
        try await suspended.next()
        #expect(try outcome(task.id) != nil)
    }

    @Test func `An engine with its own store records the success itself`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), store, isEngines: true)
        let (large, session) = try await stage.sending()
        #expect(session.upload.recorded?.id == large.id)
        store.stall()
        session.complete()
        try await until { large.state == .success }
        #expect(store.waiting <= 1)
        store.proceed()
        _ = try await large.result()
        #expect(try outcome(large.id) == nil, "it is the engine's to say")
        #expect(store.spooled.isEmpty)
    }

    @Test func `A pause returns after it is recorded`() async throws {
        let (task, session) = try await stage.sending()
        store.stall()
        let answered = Mail<Bool>()
        let pause = Task { answered.deliver(try await task.pause()) }
        try await until { session.aborts == 1 }
        session.mark = "there"
        session.answer(.aborted)
        try await store.stalled.next()
        try await TransfersFixture.succeedElsewhere()
        #expect(task.state == .paused && answered.waiting.isEmpty)
        store.proceed()
        #expect(try await answered.next())
        try await pause.value
        #expect(try bookmark(task.id) == "there")
    }
}
