import Platform
import Storage
import TestSupport
import Testing
@testable import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct SmallUploadRecordTests {
    let store = InMemoryTaskStore()

    @Test func `A small upload that does not pause is not recorded before it is stored`() async throws {
        for isEngines in [false, true] {
            let stage = TransfersFixture(ScriptedBackend(), store, isEngines: isEngines)
            let before = store.keeps
            let (task, session) = try await stage.upload(1)
            task.start()
            #expect(try await session.nextStep() == .sendWhole)
            #expect(store.keeps == before && store.spooled.isEmpty)
            session.complete()
            _ = try await task.result()
            #expect(store.keeps == before + (isEngines ? 0 : 1))
        }
    }

    @Test func `A paused small upload is spooled and recorded and continues from the disk`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), store)
        let (task, _) = try await stage.upload(1)
        #expect(try await task.pause())
        #expect(store.spooled == [task.id: [1]] && store.kept[task.id] != nil)
        #expect(task.resume())
        let session = try await stage.backend.nextSession()
        guard case .file("/spool/\(task.id)", .ofSize(1)) = session.upload.source else {
            return #expect(Bool(false), "\(session.upload.source)")
        }
        #expect(try await session.nextStep() == .sendWhole)
        session.complete()
        _ = try await task.result()
        #expect(store.spooled.isEmpty)
    }

    /// Uploads that use all the memory of the limit, and one more.
    private func crowd(_ stage: TransfersFixture) async throws -> (
        held: [UploadTask], waiting: Task<UploadTask, any Error>
    ) {
        var held: [UploadTask] = []
        for _ in 0..<2 { held.append(try await stage.upload(TransferMemory.limit / 2 + 1).0) }
        return (held, Task { try await stage.upload(1).0 })
    }

    @Test func `A spooled paused upload holds no memory`() async throws {
        let stage = TransfersFixture(ScriptedBackend(oneRequestLimit: .max), store)
        let (held, waiting) = try await crowd(stage)
        try await TransfersFixture.succeedElsewhere()
        #expect(stage.transfers.uploads.all.count == 2)
        for task in held { #expect(try await task.pause()) }
        #expect(try await waiting.value.state == .queued)
    }

    @Test func `A paused upload without a store holds its memory until it ends`() async throws {
        let stage = TransfersFixture(ScriptedBackend(oneRequestLimit: .max))
        let (held, waiting) = try await crowd(stage)
        for task in held { #expect(try await task.pause()) }
        try await TransfersFixture.succeedElsewhere()
        #expect(stage.transfers.uploads.all.count == 2)
        for task in held { #expect(try await task.cancel()) }
        #expect(try await waiting.value.state == .queued)
    }

    @Test func `A small upload that waits for a retry is spooled and recorded`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), store)
        let (task, session) = try await stage.upload(1)
        task.start()
        #expect(try await session.nextStep() == .sendWhole)
        session.answer(.failed(.busy))
        _ = try await stage.rest(upTo: 1)
        try await until { store.kept[task.id] != nil }
        #expect(store.spooled == [task.id: [1]])
        let next = try await stage.afterCrash()
        let restored = try #require(next.transfers.uploads.all.first)
        #expect(restored.id == task.id && restored.state == .paused && restored.resume())
        let again = try await next.backend.nextSession()
        guard case .file("/spool/\(task.id)", .ofSize(1)) = again.upload.source else {
            return #expect(Bool(false), "\(again.upload.source)")
        }
        #expect(try await again.nextStep() == .sendWhole)
    }

    @Test func `An upload that is stored while it is spooled leaves no spool file`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), store, isEngines: true)
        let (task, session) = try await stage.upload(1)
        store.stall()
        let pause = Task { try await task.pause() }
        try await store.stalled.next()
        #expect(task.state == .paused && task.resume())
        #expect(try await session.nextStep() == .sendWhole)
        session.complete()
        try await TransfersFixture.succeedElsewhere()
        store.proceed()
        #expect(try await task.result().state == .success)
        _ = try await pause.value
        #expect(store.spooled.isEmpty)
        #expect(await stage.transfers.uploads.forget(task))
        #expect(store.kept.isEmpty, "what is forgotten does not come back")
    }

    @Test func `A spooled upload without a record leaves no spool file once it is stored`() async throws {
        let stage = TransfersFixture(ScriptedBackend(), store, isEngines: true)
        let (task, session) = try await stage.upload(1)
        store.takesRecords = false
        #expect(try await task.pause())
        #expect(store.spooled == [task.id: [1]] && store.kept.isEmpty)
        #expect(task.resume())
        #expect(try await session.nextStep() == .sendWhole)
        session.complete()
        #expect(try await task.result().state == .success)
        #expect(store.spooled.isEmpty)
    }
}
