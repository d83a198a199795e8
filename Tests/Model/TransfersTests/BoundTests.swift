import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// The limits that all clients share: at the limit, beyond it, and afterwards.
@Loop @Suite(.watchdog(minutes: 10)) struct BoundTests {
    private func stage(_ backend: ScriptedBackend = ScriptedBackend(), _ change: (inout TransferLimits) -> Void)
        -> TransfersFixture
    {
        var limits = TransferLimits()
        change(&limits)
        return TransfersFixture(backend, limits: limits)
    }

    private func refusal(_ work: () async throws -> Void, _ bound: String) async -> Bool {
        let error = await #expect(throws: StorageError.self) { try await work() }
        return error?.code == .quotaExceeded && error?.retryable == true && error?.message.contains(bound) == true
    }

    @Test func `Concurrent calls create no more tasks than the limit`() async throws {
        var limits = TransferLimits()
        limits.tasks = 3
        let store = InMemoryTaskStore()
        let stage = TransfersFixture(ScriptedBackend(), store, limits: limits)
        try await stage.transfers.ready()
        store.stall()
        let made = (0..<10).map { _ in
            Task { try await stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference())) }
        }
        for _ in 0..<3 { try await store.stalled.next() }
        store.proceed()
        var refused = 0
        for task in made {
            do { _ = try await task.value } catch let error as StorageError {
                #expect(error.code == .quotaExceeded)
                refused += 1
            }
        }
        #expect(refused == 7 && stage.transfers.uploads.all.count == 3)
    }

    @Test func `Uploads and downloads share one limit of unfinished tasks`() async throws {
        let stage = stage { $0.tasks = 2 }
        let (task, session) = try await stage.upload(1)
        _ = try await stage.transfers.download(TransfersFixture.reference(), to: "/f")
        let more: [@Loop () async throws -> Void] = [
            { _ = try await stage.transfers.upload(UploadRequest(.data([1]), to: TransfersFixture.reference())) },
            { _ = try await stage.transfers.upload(UploadRequest(.file("/f"), to: TransfersFixture.reference())) },
            { _ = try await stage.transfers.download(TransfersFixture.reference(), to: "/f") },
        ]
        for work in more { #expect(await refusal(work, "--max-tasks")) }
        #expect(stage.transfers.uploads.all.count == 1 && stage.transfers.downloads.all.count == 1)
        task.start()
        _ = try await session.nextStep()
        session.complete()
        _ = try await task.result()
        _ = try await stage.upload(1)
        #expect(await refusal(more[0], "--max-tasks"))
    }

    @Test func `The list keeps the newest finished tasks up to the limit`() async throws {
        let stage = stage { $0.finishedTasks = 2 }
        var ids: [String] = []
        for _ in 1...4 { ids.append(try await stage.storedUpload()) }
        #expect(stage.transfers.uploads.all.map(\.id) == ids.suffix(2))
    }

    @Test func `A connection has no more observers than its limit`() async throws {
        let stage = stage { $0.connectionObservers = 3 }
        let (connection, other) = (stage.connection(), stage.connection())
        let (task, session) = try await stage.upload(1)
        let handles = try connection.newHandles(3)
        #expect(await refusal({ _ = try connection.newHandles(1) }, "--max-connection-observers"))
        for handle in handles { task.observe(.progress, handle: handle, connection) }
        #expect(await refusal({ _ = try connection.newHandles(1) }, "--max-connection-observers"))
        _ = try other.newHandles(3)
        #expect(connection.removeObserver(handles[0], of: UploadTask.self))
        #expect(await refusal({ _ = try connection.newHandles(2) }, "--max-connection-observers"))
        _ = try connection.newHandles(1)
        task.start()
        _ = try await session.nextStep()
        session.complete()
        _ = try await task.result()
        _ = try connection.newHandles(2)
    }

    @Test func `All connections share one limit of observers`() async throws {
        let stage = stage { $0.observers = 3 }
        let (one, other) = (stage.connection(), stage.connection())
        let (task, _) = try await stage.upload(1)
        let handles = try one.newHandles(2)
        task.observe(.progress, handle: handles[0], one)
        _ = try other.newHandles(1)
        #expect(await refusal({ _ = try other.newHandles(1) }, "--max-observers"))
        one.leave()
        _ = try other.newHandles(2)
        #expect(await refusal({ _ = try other.newHandles(1) }, "--max-observers"))
        #expect(stage.transfers.registry.count == 3)
    }

    @Test func `An observer of a finished task does not count`() async throws {
        let stage = stage { $0.observers = 1 }
        let connection = stage.connection()
        let (task, session) = try await stage.upload(1)
        task.start()
        _ = try await session.nextStep()
        session.complete()
        _ = try await task.result()
        for _ in 1...2 { task.observe(.success, handle: try connection.newHandles(1)[0], connection) }
        #expect(stage.transfers.registry.count == 0)
    }

    @Test func `listAll fails beyond the limit of results`() async throws {
        let backend = ScriptedBackend(page: { _, _, token, _ throws(StorageError) in
            let page = token.flatMap(Int.init) ?? 1
            let items = [try Reference(bucket: "b", path: "i\(page)"), try Reference(bucket: "b", path: "j\(page)")]
            return Listing(prefixes: [], items: items, pageToken: page < 3 ? "\(page + 1)" : nil)
        })
        #expect(
            try await stage(backend) { $0.listResults = 6 }.transfers.listAll(TransfersFixture.reference()).items.count
                == 6)
        let error = await #expect(throws: StorageError.self) {
            try await stage(backend) { $0.listResults = 5 }.transfers.listAll(TransfersFixture.reference())
        }
        #expect(error?.code == .quotaExceeded && error?.retryable == false && error?.object == "a")
        #expect(error?.message.contains("--max-list-results") == true)
    }

    @Test func `listAll fails when the engine returns page tokens without end`() async throws {
        let backend = ScriptedBackend(page: { _, _, token, _ in
            Listing(pageToken: "\((token.flatMap(Int.init) ?? 0) + 1)")
        })
        let error = await #expect(throws: StorageError.self) {
            try await stage(backend) { $0.listResults = 5 }.transfers.listAll(TransfersFixture.reference())
        }
        #expect(error?.code == .quotaExceeded && error?.message.contains("1000 pages") == true)
    }
}

extension TransfersFixture {
    fileprivate func connection() -> ConnectionObservers { ConnectionObservers(of: transfers.registry) { _, _ in } }
}
