import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Uploads of an earlier process, and a newer object under the same name.
@Loop @Suite(.watchdog(minutes: 10)) struct SupersededTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())
    let newer = StorageError(.unknown, "There is a newer object.")

    /// An upload that resumed by itself and got the answer that a newer object exists.
    private func superseded() async throws -> (TransfersFixture, UploadTask, ScriptedSession) {
        let (made, _) = try await stage.sending()
        let next = try await stage.afterCrash(.resume)
        let task = try next.transfers.uploads.task(made.id)
        let session = try await next.backend.nextSession()
        #expect(try await session.nextStep() == .open)
        #expect(!session.replacesNewer)
        let pauses = Mail<TaskSnapshot>()
        let listener = ConnectionObservers { pauses.deliver($1.snapshot) }
        task.observe(.pause, handle: "pause", listener)
        session.answer(.superseded(newer))
        #expect(try await pauses.next().error == newer.about(TransfersFixture.reference()))
        return (next, task, session)
    }

    @Test func `A restored upload pauses with an error at a newer object`() async throws {
        let (_, task, _) = try await superseded()
        #expect(try task.state == .paused && task.snapshot().error == newer.about(TransfersFixture.reference()))
    }

    @Test func `An upload that a client resumes replaces the newer object`() async throws {
        let (next, task, session) = try await superseded()
        #expect(task.resume() && task.snapshot().error == nil)
        #expect(try await session.nextStep() == .open)
        #expect(session.replacesNewer)
        session.complete()
        #expect(try await task.result().state == .success && next.transfers.count(of: .success) == 1)
    }

    @Test func `A restored download pauses with an error at a newer file until a client resumes it`() async throws {
        let (made, _) = try await stage.fetching()
        let next = try await stage.afterCrash(.resume)
        let task = try next.transfers.downloads.task(made.id)
        let session = try await next.backend.nextDownload()
        _ = try await session.nextTry()
        #expect(!session.replacesNewer && session.download.began == Beginning(TransfersFixture.start))
        session.answer(.superseded(newer))
        try await until { task.state == .paused }
        #expect(task.snapshot().error == newer.about(try TransfersFixture.reference()))
        #expect(task.resume() && task.snapshot().error == nil)
        _ = try await session.nextTry()
        #expect(session.replacesNewer)
        session.complete()
        #expect(try await task.result().state == .success)
    }

    @Test func `A superseded upload can be cancelled`() async throws {
        let (next, task, session) = try await superseded()
        #expect(try await task.cancel())
        #expect(session.discards == 1 && task.snapshot().error?.code == .cancelled)
        #expect(next.transfers.count(of: .cancelled) == 1)
    }

    @Test func `A new upload replaces an existing object`() async throws {
        let (_, session) = try await stage.sending()
        #expect(session.replacesNewer)
    }
}
