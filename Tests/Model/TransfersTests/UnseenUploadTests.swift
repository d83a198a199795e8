import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// Uploads whose clients learn of the tasks when they have ended: for everybody else they are tasks like all others.
@Loop @Suite(.watchdog(minutes: 10)) struct UnseenUploadTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore(), isEngines: true)

    private var list: TaskList<UploadStrategy> { stage.transfers.uploads }

    /// Begins an upload of one byte; its session is asked to send it.
    private func begin() async throws -> (id: String, ScriptedSession, Task<TaskSnapshot, any Error>) {
        let ids = Mail<String>()
        let end = Task { [transfers = stage.transfers] in try await transfers.awaited { ids.deliver($0) } }
        let id = try await ids.next()
        let session = try await stage.backend.nextSession()
        #expect(try await session.nextStep() == .sendWhole)
        return (id, session, end)
    }

    private static func limited(_ change: (inout TransferLimits) -> Void) -> TransfersFixture {
        var limits = TransferLimits()
        change(&limits)
        return TransfersFixture(ScriptedBackend(), InMemoryTaskStore(), isEngines: true, limits: limits)
    }

    @Test func `One that succeeds is listed, counted and logged as any other`() async throws {
        let (id, session, end) = try await begin()
        #expect(session.upload.record?.id == id && session.upload.task == id)
        session.complete()
        let snapshot = try await end.value
        #expect(stage.transfers.count(of: .success) == 1 && list.unfinished == 0)
        #expect(stage.transfers.bytesInMemory == 0 && !stage.transfers.areRunning)
        #expect(try list.task(id).snapshot() == snapshot)
        #expect(try list.page(nil, after: nil).count == 1)
        #expect(snapshot.state == .success && snapshot.status == .success && snapshot.progress.fractionCompleted == 1)
        let ordinary = try await stage.storedUpload()
        var expected = try list.task(ordinary).snapshot()
        expected.task = id
        #expect(snapshot == expected)
        #expect(stage.store?.kept.isEmpty == true, "the engine has recorded it")
        #expect(await list.forget(try list.task(id)))
    }

    @Test func `One that runs is listed, observed, paused and resumed, and its client gets the end`() async throws {
        let (id, session, end) = try await begin()
        #expect(list.unfinished == 1 && stage.transfers.bytesInMemory == 1)
        let task = try list.task(id)
        #expect(task.state == .running)
        let observer = RecordingObserver()
        observer.observeAll(task)
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await paused)
        #expect(stage.store?.kept[id]?.hasEnded == false, "a paused task is recorded")
        #expect(task.resume())
        let next = try await stage.backend.nextSession()
        #expect(try await next.nextStep() == .sendWhole)
        next.complete()
        #expect(try await end.value == task.snapshot())
        #expect(observer.lines.last == "success success 1" && stage.transfers.bytesInMemory == 0)
    }

    @Test func `A failed attempt is retried, and the last failure is thrown`() async throws {
        let (id, session, end) = try await begin()
        session.answer(.failed(StorageError(.unknown, "not now").with(\.retryable, true)))
        stage.clock.advance(by: try await stage.rest(upTo: 1))
        #expect(try await session.nextStep() == .sendWhole)
        session.answer(.failed(StorageError(.unauthorized, "never")))
        let error = await #expect(throws: StorageError.self) { try await end.value }
        #expect(error?.message == "never")
        #expect(try list.task(id).state == .failed && stage.store?.kept[id]?.hasEnded == true)
    }

    @Test func `A client that stops waiting leaves a task that goes on`() async throws {
        let (id, session, waiting) = try await begin()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(try list.task(id).state == .running)
        session.complete()
        #expect(try await list.task(id).result().state == .success)
    }

    @Test func `Those that end are forgotten in the order of their ends, whether somebody has looked or not`()
        async throws
    {
        let stage = Self.limited { $0.finishedTasks = 2 }
        var ids: [String] = []
        for number in 0..<4 {
            let end = Task { [transfers = stage.transfers] in try await transfers.awaited { _ in } }
            let session = try await stage.backend.nextSession()
            _ = try await session.nextStep()
            session.complete()
            ids.append(try await end.value.task)
            if number == 1 { #expect(stage.transfers.uploads.all.map(\.id) == ids) }
        }
        #expect(stage.transfers.uploads.all.map(\.id) == ids.suffix(2))
        #expect(stage.transfers.uploads.unfinished == 0)
    }

    @Test func `They count against the limit of tasks`() async throws {
        let stage = Self.limited { $0.tasks = 1 }
        let end = Task { [transfers = stage.transfers] in try await transfers.awaited { _ in } }
        let session = try await stage.backend.nextSession()
        _ = try await session.nextStep()
        let error = await #expect(throws: StorageError.self) { try await stage.transfers.awaited { _ in } }
        #expect(error?.code == .quotaExceeded)
        session.complete()
        _ = try await end.value
    }
}

extension Transfers {
    fileprivate func awaited(_ begun: @Loop (String) -> Void) async throws -> TaskSnapshot {
        try await uploadAwaited(
            [1], to: TransfersFixture.reference(), .init(), if: .init(), for: TransferClient(settings: settings),
            begun: begun)
    }
}
