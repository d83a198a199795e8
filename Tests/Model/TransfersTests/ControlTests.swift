import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct ControlTests {
    let stage = TransfersFixture()

    @Test func `A pause returns after the step in flight has ended`() async throws {
        let (task, session) = try await stage.sending()
        let answered = Mail<Bool>()
        let pause = Task { answered.deliver(try await task.pause()) }
        try await until { session.aborts == 1 }
        try await TransfersFixture.succeedElsewhere()
        #expect(session.aborts == 1 && answered.waiting.isEmpty)
        #expect(task.state == .running)
        session.answer(.aborted)
        #expect(try await answered.next())
        #expect(task.state == .paused)
        try await pause.value
    }

    @Test func `A step that is aborted in the iteration in which it begins does not reach the engine`() async throws {
        let (task, session) = try await stage.upload()
        task.start()
        #expect(try await task.pause())
        #expect(!session.isInFlight && session.aborts == 0)
        #expect(task.resume())
        #expect(try await session.nextStep() == .open)
    }

    @Test func `A pause parks the session, whether or not a step is in flight`() async throws {
        let (task, session) = try await stage.sending()
        let pause = Task { try await task.pause() }
        try await until { session.aborts == 1 }
        #expect(session.parks == 0)
        session.answer(.aborted)
        #expect(try await pause.value && session.parks == 1)
        #expect(task.resume())
        #expect(try await session.nextStep() == .query)
        session.answer(.failed(StorageError(.unknown, "A failure.").with(\.retryable, true)))
        _ = try await stage.clock.nextSleep()
        #expect(try await task.pause() && session.parks == 2)
        #expect(try await task.cancel() && session.parks == 2)
    }

    @Test func `The step that the end of an immediate one begins can be stopped`() async throws {
        let steps = StepRunner()
        let session = try #require(
            stage.backend.beginUpload(.data([1], to: try TransfersFixture.reference())) as? ScriptedSession)
        steps.perform(.sendWhole, by: FailingSession<UploadStrategy>(error: .refused), atOnce: true) { _ in
            steps.perform(.sendWhole, by: session) { _ in }
        }
        #expect(try await session.nextStep() == .sendWhole)
        steps.stop()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
    }

    @Test func `A second pause returns with the first`() async throws {
        let (task, session) = try await stage.sending()
        // Tasks begin on the loop in order: both have requested the pause before the engine gets the abort.
        let pauses = (0..<2).map { _ in Task { try await task.pause() } }
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        for pause in pauses { #expect(try await pause.value) }
        #expect(try await !task.pause(), "it is paused already")
    }

    @Test func `A cancellation returns after the step in flight has ended`() async throws {
        let (task, session) = try await stage.sending()
        async let cancelled = task.cancel()
        try await until { session.aborts == 1 }
        #expect(try await !task.pause(), "too late for that")
        #expect(!task.resume())
        session.answer(.received(upTo: 2))
        #expect(try await cancelled)
        #expect(task.state == .cancelled && session.discards == 1)
        #expect(try await !task.cancel())
        #expect(task.snapshot().error?.code == .cancelled)
    }

    @Test func `A pause or cancellation returns false when the upload completes first`() async throws {
        let (first, one) = try await stage.sending()
        async let paused = first.pause()
        try await until { one.aborts == 1 }
        one.complete()
        #expect(try await !paused)
        #expect(first.state == .success)

        let (second, two) = try await stage.sending()
        async let cancelled = second.cancel()
        try await until { two.aborts == 1 }
        two.complete()
        #expect(try await !cancelled)
        #expect(second.state == .success && two.discards == 0)
    }

    @Test func `A pause returns false when the task fails first`() async throws {
        let (task, session) = try await stage.sending()
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.failed(.refused))
        #expect(try await !paused)
        #expect(task.state == .failed)
    }

    @Test func `A finished task accepts no control`() async throws {
        let (task, session) = try await stage.upload(1)
        task.start()
        #expect(try await session.nextStep() == .sendWhole)
        session.complete()
        _ = try await task.result()
        #expect(try await !task.pause())
        #expect(!task.resume())
        #expect(try await !task.cancel())
        task.start()
        #expect(task.state == .success)
    }

    @Test func `Only a paused task can be resumed`() async throws {
        let (task, session) = try await stage.sending()
        #expect(!task.resume())
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        #expect(task.resume() && !task.resume())
        #expect(try await session.nextStep() == .send(2..<6))
    }

    @Test func `A resumed task queries the engine for its offset`() async throws {
        let (task, session) = try await stage.sending()
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await paused)
        #expect(task.resume())
        #expect(try await session.nextStep() == .query)
        session.answer(.received(upTo: 5))
        #expect(try await session.nextStep() == .send(5..<7))
        #expect(task.snapshot().progress.completedUnitCount == 5)
    }

    @Test func `Observers get the pause, the resume and then progress when a pause is revoked`() async throws {
        let (task, session) = try await stage.sending()
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        #expect(task.resume())
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        #expect(try await session.nextStep() == .send(2..<6))
        session.answer(.received(upTo: 6))
        #expect(try await session.nextStep() == .send(6..<14))
        #expect(
            recorder.lines.dropFirst(2) == [
                "progress progress 2", "pause pause 2", "resume resume 2", "progress progress 6",
            ])
        #expect(recorder.events[3].snapshot.state == .paused && recorder.events[4].snapshot.state == .running)
    }

    @Test func `Cancelling the wait for a pause does not revoke the pause`() async throws {
        let (task, session) = try await stage.sending()
        let waiting = Task { try await task.pause() }
        try await until { session.aborts == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        session.answer(.aborted)
        try await until { task.state == .paused }
    }
}
