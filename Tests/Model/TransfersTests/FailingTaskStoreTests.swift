import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct FailingTaskStoreTests {
    let store = InMemoryTaskStore()
    let stage: TransfersFixture
    let full = StorageError(.quotaExceeded, "There is no room left.")

    init() { stage = TransfersFixture(ScriptedBackend(), store) }

    @Test func `A task that cannot be recorded fails without reaching the engine`() async throws {
        try await stage.transfers.ready()
        store.failure = full
        let uploads = [
            try await stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference())),
            try await stage.transfers.upload(
                UploadRequest(.data(.init(repeating: 1, count: 20)), to: TransfersFixture.reference())),
        ]
        let download = try await stage.transfers.download(TransfersFixture.reference(), to: "/f")
        for task in uploads { task.start() }
        download.start()
        for task in uploads {
            let error = await #expect(throws: StorageError.self) { try await task.result() }
            #expect(error == full.about(try TransfersFixture.reference()))
        }
        let error = await #expect(throws: StorageError.self) { try await download.result() }
        #expect(error?.code == .quotaExceeded && stage.backend.uploadsBegun.isEmpty)
    }

    @Test func `A stream that cannot be recorded is refused, and is no task`() async throws {
        try await stage.transfers.ready()
        store.failure = full
        let error = await #expect(throws: StorageError.self) {
            _ = try await stage.transfers.upload(
                UploadRequest(.stream(size: nil), to: TransfersFixture.reference()))
        }
        #expect(error == full.about(try TransfersFixture.reference()))
        #expect(stage.transfers.uploads.all.isEmpty && stage.backend.uploadsBegun.isEmpty)
    }

    @Test func `A task continues and the service reports it when its record cannot be written`() async throws {
        let (task, session) = try await stage.sending()
        store.failure = full
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        #expect(
            try await stage.complaints.next()
                == "A restart would lose the upload of \(TransfersFixture.reference().url): There is no room left.")
        session.complete()
        #expect(try await task.result().state == .success)
        #expect(
            try await stage.complaints.next()
                == "It could not be kept how the upload of \(TransfersFixture.reference().url) ended: There is no room left."
        )
        #expect(await stage.transfers.uploads.forget(task))
        #expect(
            try await stage.complaints.next() == "Tasks that are over could not be forgotten: There is no room left.")
    }

    @Test func `A record that failed is written at the next pause`() async throws {
        let (task, session) = try await stage.upload(1)
        store.failure = full
        #expect(try await task.pause(), "it is paused all the same")
        _ = try await stage.complaints.next()
        store.failure = nil
        #expect(task.resume())
        #expect(try await session.nextStep() == .sendWhole)
        let pause = Task { try await task.pause() }
        try await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await pause.value)
        #expect(store.kept[task.id] != nil && store.spooled[task.id] == [1])
    }

    @Test func `Restoring fails when the store cannot be read`() async throws {
        store.failure = full
        await #expect(throws: full) { try await stage.transfers.restore(.pause) }
    }
}
