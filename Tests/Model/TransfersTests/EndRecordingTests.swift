import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Ends that cannot be recorded: a task whose end was reported does not change again.
@Loop @Suite(.watchdog(minutes: 10)) struct EndRecordingTests {
    let store = InMemoryTaskStore()
    let stage: TransfersFixture
    let full = StorageError(.quotaExceeded, "There is no room left.")

    init() { stage = TransfersFixture(ScriptedBackend(), store) }

    /// A task whose cancellation was reported while the store accepted no records.
    private func cancelled(takesEnds: Bool) async throws -> UploadTask {
        let (task, session) = try await stage.sending()
        store.failure = full
        store.takesEnds = takesEnds
        async let accepted = task.cancel()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await accepted && task.state == .cancelled)
        return task
    }

    @Test func `An outcome is recorded in reserved space when the store is full`() async throws {
        let task = try await cancelled(takesEnds: true)
        let next = try await stage.afterCrash(.resume)
        #expect(try next.transfers.uploads.task(task.id).state == .cancelled)
        #expect(next.backend.uploadsBegun.isEmpty)
    }

    @Test func `A paused task remains paused while its cancellation is recorded`() async throws {
        let (task, session) = try await stage.sending()
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await paused)
        store.stall()
        async let cancelled = task.cancel()
        try await store.stalled.next()
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        #expect(store.waiting == 1 && task.state == .paused && task.snapshot().state == .paused)
        store.proceed()
        #expect(try await cancelled)
        #expect(recorder.lines == ["pause pause 0", "failure failure 0"])
    }

    @Test func `A failure is published after it is recorded in reserved space`() async throws {
        let (task, session) = try await stage.sending()
        store.failure = full
        session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await task.result() }
        let next = try await stage.afterCrash(.resume)
        #expect(try next.transfers.uploads.task(task.id).snapshot() == task.snapshot())
    }

    @Test func `A failed write of an outcome is retried with backoff until it succeeds`() async throws {
        let task = try await cancelled(takesEnds: false)
        for seconds in [1, 2, 4, 8, 16, 32, 60] {
            #expect(try await stage.clock.nextSleep() == .seconds(seconds))
            stage.clock.advance(by: .seconds(seconds))
        }
        #expect(try await stage.clock.nextSleep() == .seconds(60))
        store.failure = nil
        stage.clock.advance(by: .seconds(60))
        #expect(try await store.ends.next() == task.id)
        #expect(try await stage.afterCrash().transfers.uploads.task(task.id).state == .cancelled)
    }

    @Test func `A pending outcome is recorded after the next successful write`() async throws {
        let task = try await cancelled(takesEnds: false)
        store.failure = nil
        _ = try await stage.upload()
        #expect(try await store.ends.next() == task.id)
    }

    @Test func `A pending outcome is recorded at shutdown`() async throws {
        let task = try await cancelled(takesEnds: false)
        store.failure = nil
        await stage.transfers.recordEnds()
        #expect(try await stage.afterCrash(.resume).transfers.uploads.task(task.id).state == .cancelled)
    }

    @Test func `The service reports an outcome that it cannot record`() async throws {
        _ = try await cancelled(takesEnds: false)
        #expect(
            try await stage.complaints.next()
                == "It could not be kept how the upload of \(TransfersFixture.reference().url) ended: There is no room left."
        )
        #expect(
            try await stage.complaints.next()
                == "Until it is kept, the upload of \(TransfersFixture.reference().url) would survive a restart: There is no room left."
        )
    }

    @Test func `A task that is removed before its outcome is recorded does not return`() async throws {
        let task = try await cancelled(takesEnds: false)
        #expect(await stage.transfers.uploads.forget(task))
        store.failure = nil
        await stage.transfers.recordEnds()
        #expect(store.kept.isEmpty)
    }

    @Test func `Pending outcomes count against the limit of tasks`() async throws {
        var limits = TransferLimits()
        limits.tasks = 2
        let stage = TransfersFixture(ScriptedBackend(), store, limits: limits)
        let tasks = [try await stage.upload().0, try await stage.upload().0]
        store.failure = full
        for task in tasks { #expect(try await task.cancel()) }
        await #expect(throws: StorageError.self) { try await stage.upload() }
        store.failure = nil
        await stage.transfers.recordEnds()
        _ = try await stage.upload()
    }

    @Test func `An outcome is not visible before it is recorded`() async throws {
        let (task, session) = try await stage.sending()
        store.stall()
        session.complete()
        try await store.stalled.next()
        #expect(task.state == .running && task.snapshot().state == .running && task.snapshot().status == .resume)
        #expect(stage.transfers.count(of: .running) == 1 && stage.transfers.count(of: .success) == 0)
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        async let refused = task.cancel()
        store.proceed()
        #expect(try await !refused && task.state == .success)
        #expect(recorder.lines == ["resume resume 20", "progress progress 20", "success success 20"])
    }
}
