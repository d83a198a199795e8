import Platform
import Storage
import TestSupport
import Testing
@testable import Transfers

/// Operations without a task.
@Loop @Suite(.watchdog(minutes: 10)) struct OperationTests {
    @Test(arguments: [0, -1, 1001, .max, .min])
    func `A page has one to a thousand results`(count: Int) async throws {
        let stage = TransfersFixture()
        let error = await #expect(throws: StorageError.self) {
            try await stage.transfers.list(ListQuery(TransfersFixture.reference(), maxResults: count))
        }
        #expect(error?.code == .invalidArgument && error?.param == "maxResults")
        #expect(error?.message == "maxResults must be between 1 and 1000, not \(count).")
    }

    @Test func `listAll joins all pages in order`() async throws {
        let asked = Mail<String>()
        let stage = TransfersFixture(
            ScriptedBackend(page: { reference, most, token, caller throws(StorageError) in
                asked.deliver("\(most) \(token ?? "first") \(caller.retryTime)")
                let page = (token.flatMap(Int.init) ?? 0) + 1
                return Storage.Listing(
                    prefixes: [try Reference(bucket: "b", path: "p\(page)")],
                    items: [try Reference(bucket: "b", path: "i\(page)")], pageToken: page < 3 ? "\(page)" : nil)
            }))
        let all = try await stage.transfers.listAll(TransfersFixture.reference(""))
        #expect(all.prefixes.map(\.name) == ["p1", "p2", "p3"] && all.items.map(\.name) == ["i1", "i2", "i3"])
        #expect(asked.waiting == ["first", "1", "2"].map { "1000 \($0) \(Duration.seconds(120))" })
    }

    @Test func `listAll fails when a page token repeats`() async throws {
        let stage = TransfersFixture(ScriptedBackend(page: { _, _, _, _ in Storage.Listing(pageToken: "same") }))
        let error = await #expect(throws: StorageError.self) {
            try await stage.transfers.listAll(TransfersFixture.reference())
        }
        #expect(error?.code == .internalError)
    }

    @Test func `listAll can be cancelled between two pages`() async throws {
        let (pages, may) = (Mail<String>(), Signal())
        let stage = TransfersFixture(
            ScriptedBackend(page: { _, _, token, _ in
                pages.deliver(token ?? "first")
                await may.wait()
                return Storage.Listing(pageToken: token.map { $0 + "+" } ?? "next")
            }))
        let listing = Task { try await stage.transfers.listAll(TransfersFixture.reference()) }
        #expect(try await pages.next() == "first")
        listing.cancel()
        may.fire()
        await #expect(throws: CancellationError.self) { try await listing.value }
        #expect(pages.waiting.isEmpty)
    }

    @Test func `The error of a missing object says that its upload has not ended`() async throws {
        let stage = TransfersFixture()
        let (transfers, reference) = (stage.transfers, try TransfersFixture.reference())
        let (task, session) = try await stage.sending()
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        let download = try await transfers.downloadStream(reference)
        download.start()
        let calls: [@Loop () async throws -> Void] = [
            { _ = try await transfers.metadata(of: reference) },
            { _ = try await transfers.updateMetadata(of: reference, MetadataChange()) },
            { try await transfers.delete(reference) },
            { _ = try await transfers.downloadURL(of: reference) },
            { _ = try await transfers.revokeDownloadURL(of: reference) },
            { _ = try await transfers.data(of: reference, maxSize: 5) { $0 } },
            { _ = try await transfers.data(of: reference, maxSize: 5 << 20) { $0 } },
            { _ = try await download.result() },
        ]
        let sentence = "Object a does not exist. The upload of gs://b/a has not ended"
        for call in calls {
            let error = try await failure { try await call() }
            #expect(error.code == .objectNotFound)
            #expect(error.message == "\(sentence) (task \(task.id), 10 %); wait for it first.")
        }
        let other = try await failure { _ = try await transfers.metadata(of: try TransfersFixture.reference("b")) }
        #expect(other.message == "Object b does not exist.")
        _ = task.beginPause()
        session.answer(.aborted)
        try await task.settle()
        let paused = try await failure { try await calls[0]() }.message
        #expect(paused == "\(sentence) (task \(task.id), paused, 10 %); resume it, and wait for it first.")
        _ = task.beginCancel()
        try await task.settle()
        #expect(try await failure { try await calls[0]() }.message == "Object a does not exist.")
    }

    @Test func `An upload whose target the engine does not find does not wait for itself`() async throws {
        let stage = TransfersFixture()
        let (task, session) = try await stage.sending()
        session.answer(.failed(.objectNotFound(try TransfersFixture.reference())))
        #expect(try await failure { _ = try await task.result() }.message == "Object a does not exist.")
        withExtendedLifetime(stage) {}
    }

    @Test func `The root is not an object`() async throws {
        let (transfers, root) = (TransfersFixture().transfers, try TransfersFixture.reference(""))
        let calls: [@Loop () async throws -> Void] = [
            { try await transfers.delete(root) }, { _ = try await transfers.downloadURL(of: root) },
            { _ = try await transfers.revokeDownloadURL(of: root) },
            { try await transfers.data(of: root, maxSize: 1) { _ in } },
        ]
        for call in calls {
            let error = await #expect(throws: StorageError.self) { try await call() }
            #expect(error?.code == .invalidArgument && error?.param == "reference")
        }
        #expect(try await transfers.list(ListQuery(root)) == Storage.Listing())
    }

    @Test func `A data call waits while too much memory is in use`() async throws {
        let (asked, may) = (Mail<Int64>(), Signal())
        let half = Int64(TransferMemory.limit / 2 + 1)
        let stage = TransfersFixture(
            ScriptedBackend(
                describe: { reference, _ in .stored(reference, size: half) },
                read: { _, most, caller in
                    asked.deliver(most)
                    await may.wait()
                    return [UInt8(most == 1 ? 1 : 0)]
                }))
        let large = [half, half].map { size in
            Task { try await stage.transfers.data(of: TransfersFixture.reference(), maxSize: size) { $0 } }
        }
        for _ in large { #expect(try await asked.next() == half) }
        let small = Task { try await stage.transfers.data(of: TransfersFixture.reference(), maxSize: 1) { $0 } }
        let upload = Task { try await stage.upload(1).0.state }
        try await TransfersFixture.succeedElsewhere()
        #expect(asked.waiting.isEmpty && stage.transfers.uploads.all.isEmpty)
        may.fire()
        for task in large { #expect(try await task.value == [0]) }
        #expect(try await small.value == [1])
        #expect(try await upload.value == .queued)
    }

    @Test func `A data call waits for its receiver and then again for memory`() async throws {
        let (asked, may) = (Mail<Int64>(), Signal())
        let stage = TransfersFixture(
            ScriptedBackend(
                describe: { reference, _ in .stored(reference, size: 100 << 20) },
                read: { _, most, _ in
                    asked.deliver(most)
                    if most > 1 { await may.wait() }
                    return []
                }))
        let (asksTaker, taker) = (Signal(), Signal())
        let small = Task {
            try await stage.transfers.data(
                of: TransfersFixture.reference(), maxSize: 1,
                mayBegin: { _ in
                    asksTaker.fire()
                    await taker.wait()
                }
            ) { _ in }
        }
        try await asksTaker.happened()
        let large = Task {
            try await stage.transfers.data(of: TransfersFixture.reference(), maxSize: .max, usable: 100 << 20) { _ in }
        }
        #expect(try await asked.next() == 100 << 20)
        taker.fire()
        try await TransfersFixture.succeedElsewhere()
        #expect(asked.waiting.isEmpty)
        may.fire()
        try await large.value
        try await small.value
        #expect(asked.waiting == [1])
    }

    @Test func `A negative maxSize is refused`() async throws {
        let stage = TransfersFixture(ScriptedBackend(read: { _, _, _ in [] }))
        let error = await #expect(throws: StorageError.self) {
            try await stage.transfers.data(of: TransfersFixture.reference(), maxSize: -1) { _ in }
        }
        #expect(error?.param == "maxSize")
        try await stage.transfers.data(of: TransfersFixture.reference(), maxSize: 0) { #expect($0 == []) }
    }
}
