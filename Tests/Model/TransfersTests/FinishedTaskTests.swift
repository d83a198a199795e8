import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// The state that ended tasks keep.
@Loop @Suite(.watchdog(minutes: 10)) struct FinishedTaskTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())

    /// The largest metadata that an object may have.
    private func largest(_ letter: String) throws -> SettableMetadata {
        var change = MetadataChange()
        for property in ContentProperty.allCases { change.content[property] = String(repeating: letter, count: 8192) }
        change.custom = .merge(["k": String(repeating: letter, count: 8191)])
        var metadata = SettableMetadata()
        try metadata.apply(change)
        return metadata
    }

    private func uploading() async throws -> (UploadTask, ScriptedSession) {
        var change = MetadataChange()
        change.content = try largest("x").content.mapValues { $0 }
        change.custom = .merge(["k": String(repeating: "x", count: 8191)])
        let task = try await stage.transfers.upload(
            UploadRequest(.file("/f"), to: TransfersFixture.reference(), change))
        let session = try await stage.backend.nextSession()
        task.start()
        _ = try await session.nextStep()
        return (task, session)
    }

    @Test func `A succeeded task keeps only the metadata of the object`() async throws {
        let (task, session) = try await uploading()
        var stored = ObjectMetadata.stored(session.upload.reference, size: 20)
        stored.settable = try largest("y")
        session.answer(.completed(stored))
        #expect(try await task.result().metadata == .stored(stored))
        #expect(textBytes(task) <= 64 << 10)

        let next = try await stage.afterCrash()
        let restored = try next.transfers.uploads.task(task.id)
        #expect(restored.snapshot() == task.snapshot())
        #expect(textBytes(restored) <= 64 << 10)
    }

    @Test func `A failed task keeps its request, a bounded error and the newest attempts`()
        async throws
    {
        let (task, session) = try await uploading()
        var error = StorageError(.unknown, String(repeating: "m", count: 1 << 20))
        error.serverResponse = String(repeating: "r", count: 1 << 20)
        error.attempts = (0..<100).map {
            .init(
                time: TimeSource.system.now(), httpStatus: $0, cause: String(repeating: "c", count: 1000),
                completedUnitCount: 0)
        }
        session.answer(.failed(error))
        let failure = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(failure?.message.hasPrefix("mmm") == true && failure?.message.hasSuffix("m…") == true)
        #expect(failure?.attempts.last?.httpStatus == 99 && (10..<17).contains(failure?.attempts.count ?? 0))
        #expect(task.snapshot().metadata == .uploading(session.upload.metadata, md5Hash: nil))
        #expect(textBytes(task) <= 128 << 10)

        let next = try await stage.afterCrash()
        #expect(textBytes(try next.transfers.uploads.task(task.id)) <= 128 << 10)
    }

    @Test func `A finished task keeps no metadata beyond the limit of an object`() async throws {
        let (task, session) = try await uploading()
        var stored = ObjectMetadata.stored(session.upload.reference, size: 20)
        stored.settable.content = [.contentType: "a/b", .cacheControl: String(repeating: "z", count: 1 << 20)]
        stored.settable.custom = ["k": String(repeating: "z", count: 1 << 20)]
        session.answer(.completed(stored))
        _ = try await task.result()
        stored.settable.content[.cacheControl] = nil
        stored.settable.custom = [:]
        #expect(task.snapshot().metadata == .stored(stored))
    }

    @Test func `A cancelled task keeps neither its bytes nor its last failure`() async throws {
        let task = try await stage.transfers.upload(
            UploadRequest(.data([UInt8](repeating: 1, count: 1 << 20)), to: TransfersFixture.reference()))
        let session = try await stage.backend.nextSession()
        task.start()
        _ = try await session.nextStep()
        var error = StorageError(.unknown, String(repeating: "m", count: 1 << 20))
        error.retryable = true
        session.answer(.failed(error))
        _ = try await stage.clock.nextSleep()
        #expect(try await task.cancel())
        #expect(textBytes(task) <= 4 << 10)
    }

    /// The size of everything that the task retains, directly or indirectly.
    private func textBytes(_ task: UploadTask) -> Int {
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(task.limiter)]
        return textBytes(task, &seen)
    }

    private func textBytes(_ value: Any, _ seen: inout Set<ObjectIdentifier>) -> Int {
        if let text = value as? String { return text.utf8.count }
        if let bytes = value as? [UInt8] { return bytes.count }
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .class, !seen.insert(ObjectIdentifier(value as AnyObject)).inserted { return 0 }
        return mirror.children.reduce(0) { $0 + textBytes($1.value, &seen) }
    }
}
