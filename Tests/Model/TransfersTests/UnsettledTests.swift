import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Cancellations of uploads whose last request has no answer.
@Loop @Suite(.watchdog(minutes: 10)) struct UnsettledTests {
    let stage = TransfersFixture(ScriptedBackend(oneRequestLimit: 20), InMemoryTaskStore())

    private func sending() async throws -> (UploadTask, ScriptedSession) {
        let (task, session) = try await stage.upload(2)
        task.start()
        #expect(try await session.nextStep() == .sendWhole)
        return (task, session)
    }

    @Test func `A cancellation whose outcome is unknown says so, in the answer and in the record`() async throws {
        let (task, session) = try await sending()
        async let cancelled = task.cancel()
        try await until { session.aborts == 1 }
        session.answer(.unsettled(.busy))
        #expect(try await session.nextStep() == .settle)
        #expect(task.state == .running)
        session.answer(.unsettled(.busy))
        #expect(try await cancelled)
        let error = try #require(task.snapshot().error)
        #expect(error.code == .cancelled && error.mayBeStored == true && error.message.contains("may be stored later"))
        #expect(task.state == .cancelled && session.discards == 1)
    }

    @Test func `An object that is found stored makes the cancellation late`() async throws {
        let (task, session) = try await sending()
        async let cancelled = task.cancel()
        try await until { session.aborts == 1 }
        session.answer(.unsettled(.busy))
        #expect(try await session.nextStep() == .settle)
        session.complete()
        #expect(try await !cancelled)
        #expect(task.state == .success && session.discards == 0)
    }

    @Test func `A paused upload in doubt ends when that is settled`() async throws {
        let (task, session) = try await sending()
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.unsettled(.busy))
        #expect(try await paused)
        async let cancelled = task.cancel()
        // Its bytes are on the disk by now.
        let again = try await stage.backend.nextSession()
        #expect(try await again.nextStep() == .settle)
        again.answer(.aborted)
        #expect(try await cancelled)
        #expect(task.snapshot().error?.mayBeStored == nil)
    }
}
