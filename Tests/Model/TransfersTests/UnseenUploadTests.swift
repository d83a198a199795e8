import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// Uploads whose clients learn of the tasks when they have ended: for other clients they are tasks like all others.
@Loop @Suite(.watchdog(minutes: 10)) struct UnseenUploadTests {
    let stage = TransfersFixture(
        ScriptedBackend(inspection: .success(.ofSize(1))), InMemoryTaskStore(), isEngines: true)

    enum Source: CaseIterable { case bytes, file }

    private var list: TaskList<UploadTask> { stage.transfers.uploads }

    /// Begins an upload of one byte; its session is asked to send it.
    private func begin(
        _ source: Source = .bytes
    ) async throws -> (id: String, ScriptedSession, Task<TaskSnapshot, any Error>) {
        let ids = Mail<String>()
        let end = Task { [transfers = stage.transfers] in try await transfers.awaited(source) { ids.deliver($0) } }
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

    @Test(arguments: Source.allCases)
    func `One that succeeds is listed, counted and logged as any other`(source: Source) async throws {
        let (id, session, end) = try await begin(source)
        #expect(session.upload.recorded?.id == id && session.upload.task == id)
        session.complete()
        let snapshot = try await end.value
        #expect(stage.transfers.count(of: .success) == 1 && list.unfinished == 0)
        #expect(stage.transfers.memory.bytes == 0 && !stage.transfers.areRunning)
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

    @Test(arguments: Source.allCases)
    func `One that runs is listed, observed, paused and resumed, and its client gets the end`(
        source: Source
    ) async throws {
        let (id, session, end) = try await begin(source)
        #expect(list.unfinished == 1 && stage.transfers.memory.bytes == (source == .bytes ? 1 : 0))
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
        // The bytes are in a file by now.
        let next = source == .bytes ? try await stage.backend.nextSession() : session
        #expect(try await next.nextStep() == .sendWhole)
        next.complete()
        #expect(try await end.value == task.snapshot())
        #expect(observer.lines.last == "success success 1" && stage.transfers.memory.bytes == 0)
    }

    @Test(arguments: Source.allCases)
    func `A failed attempt is retried, and the last failure is thrown`(source: Source) async throws {
        let (id, session, end) = try await begin(source)
        session.answer(.failed(StorageError(.unknown, "not now").with(\.retryable, true)))
        stage.clock.advance(by: try await stage.rest(upTo: 1))
        #expect(try await session.nextStep() == .sendWhole)
        session.answer(.failed(StorageError(.unauthorized, "never")))
        let error = await #expect(throws: StorageError.self) { try await end.value }
        #expect(error?.message == "never")
        #expect(try list.task(id).state == .failed && stage.store?.kept[id]?.hasEnded == true)
    }

    @Test(arguments: Source.allCases)
    func `A client that stops waiting leaves a task that continues`(source: Source) async throws {
        let (id, session, waiting) = try await begin(source)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(try list.task(id).state == .running)
        session.complete()
        #expect(try await list.task(id).result().state == .success)
    }

    @Test func `Ended uploads are forgotten in the order of their ends, whether a client has looked or not`()
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

    @Test func `A file that cannot be read is a task that fails`() async throws {
        stage.backend.inspection = .failure(.file("/x", "does not exist"))
        let ids = Mail<String>()
        let error = await #expect(throws: StorageError.self) {
            try await stage.transfers.awaited(.file) { ids.deliver($0) }
        }
        #expect(error?.message == "File /x does not exist." && error?.object == "a")
        #expect(try list.task(try await ids.next()).state == .failed && stage.transfers.memory.files == 0)
    }

    @Test func `Of many files some are in memory, and the others are read when they are sent`() async throws {
        let most = TransferMemory.mostFiles
        var running: [(ScriptedSession, Task<TaskSnapshot, any Error>)] = []
        for number in 0...most {
            let (_, session, end) = try await begin(.file)
            #expect((session.upload.bytesOfFile == [1]) == (number < most))
            running.append((session, end))
        }
        for (session, end) in running {
            session.complete()
            _ = try await end.value
        }
        #expect(stage.transfers.memory.files == 0)
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
    fileprivate func awaited(
        _ source: UnseenUploadTests.Source = .bytes, _ begun: @Loop (String) -> Void
    ) async throws -> TaskSnapshot {
        let made: UploadRequest.Source = source == .bytes ? .data([1]) : .file("/x")
        return try await uploadAwaited(
            UploadRequest(made, to: TransfersFixture.reference(), for: TransferClient(settings: settings)), begun: begun
        )
    }
}
