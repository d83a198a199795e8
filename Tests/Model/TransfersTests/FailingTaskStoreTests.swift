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

    @Test func `A task that cannot be recorded is refused, is not listed, and does not reach the engine`() async throws
    {
        try await stage.transfers.ready()
        store.failure = full
        let reference = try TransfersFixture.reference()
        let sources: [UploadRequest.Source] = [
            .file("/f"), .data(.init(repeating: 1, count: 20)), .stream(size: nil), .object(CopyRequest(of: reference)),
        ]
        for source in sources {
            let error = await #expect(throws: StorageError.self) {
                _ = try await stage.transfers.upload(UploadRequest(source, to: reference))
            }
            #expect(error == full.about(reference))
        }
        let error = await #expect(throws: StorageError.self) {
            _ = try await stage.transfers.download(reference, to: "/f")
        }
        #expect(error == full.about(reference))
        #expect(stage.transfers.uploads.all.isEmpty && stage.transfers.downloads.all.isEmpty)
        #expect(stage.backend.uploadsBegun.isEmpty)
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
