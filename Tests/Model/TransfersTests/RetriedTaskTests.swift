import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// What a client's request to retry does: to a task that waits after a failure, and to one that has failed.
@Loop @Suite(.watchdog(minutes: 10)) struct RetriedTaskTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())

    /// An upload of a file that fails with this error after its first chunk.
    private func failed(
        _ stage: TransfersFixture, with error: StorageError = .busy, retryTime: Double = 0
    ) async throws -> UploadTask {
        try stage.transfers.settings.set(.maxUploadRetryTime, to: retryTime)
        var change = MetadataChange()
        change.content = [.contentType: "x/y"]
        let task = try await stage.transfers.upload(
            UploadRequest(.file("/f"), to: TransfersFixture.reference(), change, if: Preconditions(generation: 7)))
        try await stage.acknowledge(task).answer(.failed(error))
        await #expect(throws: StorageError.self) { try await task.result() }
        return task
    }

    /// Carries out an upload of 20 bytes that starts again.
    private func complete(_ stage: TransfersFixture) async throws -> Upload {
        let session = try await stage.backend.nextSession()
        #expect(try await session.nextStep() == .open)
        session.answer(.opened())
        #expect(try await session.nextStep() == .send(0..<2))
        session.complete()
        return session.upload
    }

    @Test func `A retry ends the wait after a failure`() async throws {
        let (task, session) = try await stage.sending()
        let recorder = RecordingObserver()
        session.answer(.failed(.busy))
        let first = try await stage.rest(upTo: 1)
        recorder.observeAll(task)
        #expect(try await stage.transfers.retry(task) === task)
        #expect(try await session.nextStep() == .query)
        #expect(task.snapshot().retry == nil)
        #expect(recorder.lines == ["resume resume 0", "progress progress 0", "progress progress 0"])
        #expect(try await stage.transfers.retry(task) == nil, "it runs")
        session.answer(.failed(.busy))
        let second = try await stage.rest(upTo: 2)
        #expect(task.snapshot().retry?.attempt == 2)
        stage.clock.advance(by: min(first, second / 2))
        #expect(!session.isInFlight)
    }

    @Test func `A failed upload starts again under its id, with a new retry budget`() async throws {
        let task = try await failed(stage)
        let (recorder, again) = (RecordingObserver(), try #require(try await stage.transfers.retry(task)))
        #expect(again.id == task.id && again.number == task.number && again.state == .running)
        #expect(stage.transfers.uploads.all.map(ObjectIdentifier.init) == [ObjectIdentifier(again)])
        #expect(stage.transfers.uploads.unfinished == 1)
        #expect(again.snapshot().progress == .of(0, 20) && again.snapshot().error == nil)
        #expect(task.state == .failed, "whoever has it still knows its end")
        recorder.observeAll(again)
        let upload = try await complete(stage)
        #expect(upload.isRestored && upload.bookmark == nil && upload.task == task.id)
        #expect(upload.metadata.content == [.contentType: "x/y"] && upload.preconditions.generation == 7)
        #expect(try await again.result().state == .success)
        #expect(recorder.lines.last == "success success 20")
        #expect(stage.transfers.uploads.all.count == 1 && stage.transfers.uploads.unfinished == 0)
        #expect(try await stage.transfers.retry(again) == nil)
        #expect(try await stage.afterCrash().transfers.uploads.task(task.id).state == .success)
    }

    @Test func `An upload that fails again has waited and tried as at first`() async throws {
        let task = try await failed(stage, retryTime: 0)
        var last = task
        for _ in 0..<3 {
            last = try #require(try await stage.transfers.retry(last))
            let session = try await stage.backend.nextSession()
            #expect(try await session.nextStep() == .open)
            session.answer(.failed(.busy))
            let error = await #expect(throws: StorageError.self) { try await last.result() }
            #expect(error?.code == .retryLimitExceeded && error?.attempts.count == 1)
        }
    }

    @Test func `A retried upload survives a crash`() async throws {
        let task = try await failed(stage)
        let again = try #require(try await stage.transfers.retry(task))
        let session = try await stage.backend.nextSession()
        _ = try await session.nextStep()
        session.mark = "again"
        session.answer(.opened())
        #expect(try await session.nextStep() == .send(0..<2))
        let next = try await stage.afterCrash()
        let restored = try next.transfers.uploads.task(again.id)
        #expect(restored.state == .paused && restored.resume())
        #expect(try await next.backend.nextSession().upload.bookmark == Bookmark("again"))
    }

    @Test func `A failed task can be retried after a restart`() async throws {
        let task = try await failed(stage)
        let next = try await stage.afterCrash()
        let restored = try next.transfers.uploads.task(task.id)
        #expect(restored.state == .failed)
        let again = try #require(try await next.transfers.retry(restored, tokens: Tokens()))
        let upload = try await complete(next)
        #expect(upload.caller.tokens is Tokens && upload.preconditions.generation == 7)
        #expect(try await again.result().state == .success)
    }

    @Test func `A task without a store can be retried`() async throws {
        let stage = TransfersFixture()
        let again = try #require(try await stage.transfers.retry(try await failed(stage)))
        #expect(try await complete(stage).recorded == nil)
        #expect(try await again.result().state == .success)
    }

    @Test func `A failed download starts again`() async throws {
        try stage.transfers.settings.set(.maxDownloadRetryTime, to: 0)
        let (task, fetch) = try await stage.fetching()
        fetch.session.mark = "nine"
        fetch.report(.of(9, 20))
        fetch.session.answer(.failed(.busy))
        await #expect(throws: StorageError.self) { try await task.result() }
        #expect(fetch.session.discards == 1)
        let again = try #require(try await stage.transfers.retry(task))
        #expect(again.snapshot().progress == .of(0, 20))
        let session = try await stage.backend.nextDownload()
        #expect(session.download.task == task.id && session.download.file == "/f")
        #expect(!session.download.isRestored && session.download.bookmark == nil)
        _ = try await session.nextTry()
        session.complete()
        #expect(try await again.result().state == .success)
    }

    @Test func `A failed copy begins where it was, so that it knows the object that it copies`() async throws {
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 0)
        let move = CopyRequest(of: try TransfersFixture.reference("from"), isMove: true)
        let task = try await stage.transfers.upload(
            UploadRequest(.object(move), to: TransfersFixture.reference("to")))
        let session = try await stage.backend.nextSession()
        task.start()
        _ = try await session.nextStep()
        session.mark = "generation 5"
        session.answer(.opened(size: 20))
        _ = try await session.nextStep()
        session.answer(.failed(.busy))
        await #expect(throws: StorageError.self) { try await task.result() }
        let next = try await stage.afterCrash()
        _ = try await next.transfers.retry(next.transfers.uploads.task(task.id))
        let again = try await next.backend.nextSession()
        #expect(again.upload.bookmark == Bookmark("generation 5") && again.upload.source.copy?.request.isMove == true)
        #expect(try await again.nextStep() == .query)
    }

    @Test func `What has ended for good, is paused or has no bytes any more is not retried`() async throws {
        let gone = try await failed(stage, with: .refused)
        let (data, session) = try await stage.sending()
        session.answer(.failed(.busy))
        await #expect(throws: StorageError.self) { try await data.result() }
        let (cancelled, _) = try await stage.upload(), (paused, _) = try await stage.upload()
        #expect(try await cancelled.cancel())
        #expect(try await paused.pause())
        for task in [gone, data, cancelled, paused] {
            let before = task.snapshot()
            #expect(try await stage.transfers.retry(task) == nil)
            #expect(task.snapshot() == before)
        }
        let next = try await stage.afterCrash()
        for task in next.transfers.uploads.all { #expect(try await next.transfers.retry(task) == nil) }
    }

    @Test func `An upload of another client, and a task of another endpoint, are not retried`() async throws {
        let task = try await failed(stage)
        stage.store?.move([task.id], to: "http://other")
        let next = try await stage.afterCrash()
        #expect(try await next.transfers.retry(next.transfers.uploads.task(task.id)) == nil)
        let upload = try await stage.transfers.begin(
            UploadRequest(.incoming(size: 20), to: TransfersFixture.reference(), for: .gateway))
        let session = try await stage.backend.nextSession(), incoming = try #require(upload.task)
        _ = try await session.nextStep()
        session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await incoming.result() }
        #expect(try await stage.transfers.retry(incoming) == nil)
    }

    @Test func `A task is retried once, and neither forgotten nor dropped meanwhile`() async throws {
        let task = try await failed(stage)
        stage.store?.stall()
        let retry = Task { try await stage.transfers.retry(task) }
        _ = try await stage.store?.stalled.next()
        #expect(try await stage.transfers.retry(task) == nil)
        #expect(await !stage.transfers.uploads.forget(task))
        stage.store?.proceed()
        #expect(try await retry.value?.state == .running)
        #expect(stage.transfers.uploads.all.count == 1)
    }

    @Test func `A task that was forgotten is not retried`() async throws {
        let task = try await failed(stage)
        #expect(await stage.transfers.uploads.forget(task))
        #expect(try await stage.transfers.retry(task) == nil)
        #expect(stage.store?.kept.isEmpty == true && stage.transfers.uploads.all.isEmpty)
    }

    @Test func `A retry that cannot be recorded changes nothing`() async throws {
        let task = try await failed(stage)
        stage.store?.takesRecords = false
        let error = await #expect(throws: StorageError.self) { try await stage.transfers.retry(task) }
        #expect(error?.code == .quotaExceeded && task.state == .failed && stage.transfers.uploads.unfinished == 0)
        stage.store?.takesRecords = true
        #expect(try await stage.transfers.retry(task)?.id == task.id)
    }

    @Test func `A retry waits until the end of the task is recorded`() async throws {
        let (task, session) = try await {
            try stage.transfers.settings.set(.maxUploadRetryTime, to: 0)
            let task = try await stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference()))
            task.start()
            return (task, try await stage.backend.nextSession())
        }()
        _ = try await session.nextStep()
        stage.store?.takesRecords = false
        session.answer(.failed(.busy))
        await #expect(throws: StorageError.self) { try await task.result() }
        let error = await #expect(throws: StorageError.self) { try await stage.transfers.retry(task) }
        #expect(error?.code == .quotaExceeded && error?.retryable == true)
        stage.store?.takesRecords = true
        let again = try #require(try await stage.transfers.retry(task))
        stage.clock.advance(by: .seconds(60))
        try await TransfersFixture.succeedElsewhere()
        #expect(again.state == .running && stage.store?.kept[task.id]?.hasEnded == false)
    }

    @Test func `A retried task counts against the limit of tasks`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore(), limits: .tasks(1))
        let task = try await failed(stage)
        let (other, _) = try await stage.upload()
        let error = await #expect(throws: StorageError.self) { try await stage.transfers.retry(task) }
        #expect(error?.code == .quotaExceeded)
        #expect(try await other.cancel())
        #expect(try await stage.transfers.retry(task) != nil)
        await #expect(throws: StorageError.self) { try await stage.upload() }
    }
}

/// Random sequences of failures, retries, forgets and crashes.
@Loop @Suite(.watchdog(minutes: 10)) struct RetryWalkTests {
    @Test(arguments: UInt64(0)..<10)
    func `Random sequences with retries and crashes neither lose nor resurrect a task`(block: UInt64) async throws {
        var retries = 0
        for seed in block * 10..<(block + 1) * 10 {
            let walk = Walk(seed: seed)
            for _ in 0..<60 { try await walk.step() }
            try await walk.crash()
            retries += walk.retries
        }
        #expect(retries > 50)
    }
}

/// Uploads of files that fail at their first failure, and whether each one has failed.
@Loop private final class Walk {
    private let seed: UInt64
    private var random: SeededGenerator
    private var stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())
    private var hasFailed: [String: Bool] = [:]
    private var sessions: [String: ScriptedSession] = [:]
    private(set) var retries = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
    }

    func step() async throws {
        let id = hasFailed.keys.sorted().randomElement(using: &random)
        switch (Int.random(in: 0..<12, using: &random), id) {
        case (0, _), (1, _), (_, nil): try await make()
        case (2, _): try await crash()
        case (3, let id?): try await crash(retrying: id)
        case (4, let id?): try await forget(id)
        case (5..<8, let id?): try await fail(id)
        case (_, let id?): try await retry(id)
        }
        try check()
    }

    private func task(_ id: String) throws -> UploadTask { try stage.transfers.uploads.task(id) }

    private func make() async throws {
        guard hasFailed.count < 2 else { return }
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 0)
        let task = try await stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference()))
        task.start()
        hasFailed[task.id] = false
        try await follow(task.id)
    }

    /// The task runs now.
    private func follow(_ id: String) async throws {
        let session = try await stage.backend.nextSession()
        try #require(session.upload.task == id && session.upload.bookmark == nil, "seed \(seed)")
        try #require(try await session.nextStep() == .open)
        sessions[id] = session
    }

    private func fail(_ id: String) async throws {
        guard hasFailed[id] == false else { return }
        sessions.removeValue(forKey: id)?.answer(.failed(.busy))
        _ = try? await task(id).result()
        hasFailed[id] = true
    }

    private func retry(_ id: String) async throws {
        let again = try await stage.transfers.retry(task(id))
        try #require((again != nil) == hasFailed[id], "seed \(seed)")
        guard again != nil else { return }
        retries += 1
        hasFailed[id] = false
        try await follow(id)
    }

    private func forget(_ id: String) async throws {
        let task = try task(id), isForgotten = await stage.transfers.uploads.forget(task)
        try #require(isForgotten == hasFailed[id], "seed \(seed)")
        guard isForgotten else { return }
        hasFailed[id] = nil
        try #require(try await stage.transfers.retry(task) == nil, "seed \(seed)")
    }

    /// A retry that is not recorded has not happened.
    private func crash(retrying id: String) async throws {
        guard hasFailed[id] == true else { return }
        let (transfers, task) = (stage.transfers, try task(id))
        stage.store?.stall()
        let retry = Task { try await transfers.retry(task) }
        try await stage.store?.stalled.next()
        try await crash()
        try #require(try await retry.value == nil, "seed \(seed)")
    }

    func crash() async throws {
        stage = try await stage.afterCrash()
        sessions = [:]
        try check()
        for task in stage.transfers.uploads.all where hasFailed[task.id] == false {
            try #require(task.state == .paused && task.resume(), "seed \(seed)")
            try await follow(task.id)
        }
    }

    private func check() throws {
        let all = stage.transfers.uploads.all
        try #require(all.map(\.id).sorted() == hasFailed.keys.sorted(), "seed \(seed)")
        for task in all { try #require((task.state == .failed) == hasFailed[task.id], "seed \(seed): \(task.state)") }
        try #require(Set(stage.store?.kept.keys.map { $0 } ?? []) == Set(hasFailed.keys), "seed \(seed)")
    }
}

extension TransferLimits {
    fileprivate static func tasks(_ count: Int) -> TransferLimits {
        var limits = TransferLimits()
        limits.tasks = count
        return limits
    }
}
