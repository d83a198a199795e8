import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// Uploads whose clients append the bytes: what the engine gets, and what the clients receive.
@Loop @Suite(.watchdog(minutes: 10)) struct StreamUploadTests {
    private static let granule = ChunkSizes.granularity

    // MARK: - Positions

    @Test func `Appends are taken in the order in which they arrive, and those that wait go as one piece`() async throws
    {
        let scene = try await StreamScene()
        let first = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        let others = ["cd", "", "e"].map { scene.append($0) }
        try await until { scene.stream.end == 5 }
        scene.session.answer(.received(upTo: 2))
        #expect(try await first.value == .init(offset: 2, durable: 2))
        #expect(try await scene.session.nextStep() == .send(2..<5))
        #expect(try scene.sent(2..<5) == "cde")
        scene.session.answer(.received(upTo: 5))
        for other in others { #expect(try await other.value == .init(offset: 5, durable: 5)) }
    }

    @Test func `A gap is refused, and then each append without an offset, until one has the right one`() async throws {
        let scene = try await StreamScene(having: "abcd")
        let gap = try await failure { _ = try await scene.stream.append([1], at: 5) }
        #expect(gap.code == .invalidArgument && gap.message.contains("begin at 5, but the next one is that at 4"))
        let lost = try await failure { _ = try await scene.stream.append([1], at: nil) }
        #expect(lost.param == "offset" && lost.message.contains("The next one is that at 4"))
        let early = try await failure { _ = try await scene.stream.finish(.init()) }
        #expect(early.code == .invalidArgument)
        let repeated = scene.append("cdef", at: 2)
        #expect(try await scene.session.nextStep() == .send(4..<6))
        #expect(try scene.sent(4..<6) == "ef")
        scene.session.answer(.received(upTo: 6))
        #expect(try await repeated.value.offset == 6)
        #expect(try await scene.stream.append(Array("abc".utf8), at: 0) == .init(offset: 6, durable: 6))
    }

    @Test func `Bytes beyond the announced size, and an end before it, are refused, and the upload continues`()
        async throws
    {
        let scene = try await StreamScene(size: 4, having: "abc")
        let long = try await failure { _ = try await scene.stream.append([1, 2], at: nil) }
        #expect(long.param == "size" && long.message.contains("end at 5, but the upload has announced 4"))
        let last = scene.append("d", at: 3)
        #expect(try await scene.session.nextStep() == .send(3..<4))
        scene.session.answer(.received(upTo: 4))
        _ = try await last.value
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(4..<4))
        scene.complete(4)
        #expect(try await end.value.state == .success)
    }

    @Test func `An end before the announced size is refused`() async throws {
        let scene = try await StreamScene(size: 4, having: "abc")
        #expect(try await failure { _ = try await scene.stream.finish(.init()) }.param == "size")
    }

    @Test func `An append without an offset follows the last one, also where the engine has more`() async throws {
        let scene = try await StreamScene(having: "abcdef")
        #expect(try await scene.append("ab", at: 0).value.durable == 6)
        let rest = scene.append("cdefgh")
        #expect(try await scene.session.nextStep() == .send(6..<8))
        #expect(try scene.sent(6..<8) == "gh")
        scene.session.answer(.received(upTo: 8))
        #expect(try await rest.value.offset == 8)
    }

    @Test func `An append that is cancelled takes its bytes back, and those behind it fail`() async throws {
        let scene = try await StreamScene()
        let first = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        let (second, third) = (scene.append("cd"), scene.append("ef"))
        try await until { scene.stream.end == 6 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(try await failure { _ = try await third.value }.message.contains("the next one is that at 2"))
        scene.session.answer(.received(upTo: 2))
        #expect(try await first.value.offset == 2)
        #expect(scene.stream.offset == 2 && scene.transfers.memory.streams.bytes == 0)
    }

    @Test func `The cancellation of an append with repeated bytes leaves no hole`() async throws {
        let scene = try await StreamScene()
        let first = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        let second = scene.append("cd")
        try await until { scene.stream.end == 4 }
        let repeated = scene.append("ab", at: 0)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        repeated.cancel()
        await #expect(throws: CancellationError.self) { try await repeated.value }
        #expect(scene.stream.end == 2)
        scene.session.answer(.received(upTo: 2))
        _ = try await first.value
    }

    @Test func `An append of an earlier connection does not follow that of a later one, and ends no object`()
        async throws
    {
        let scene = try await StreamScene(having: "ab")
        _ = try await scene.stream.append([], at: 2, from: 7)
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil, from: 6) }.param == "offset")
        #expect(try await failure { _ = try await scene.stream.finish(.init(), from: 6) }.param == "task")
        #expect(try await scene.stream.append([], at: nil, from: 7) == .init(offset: 2, durable: 2))
        #expect(try await scene.stream.append([], at: 2, from: 6) == .init(offset: 2, durable: 2))
    }

    @Test func `An append that was refused before leaves a gap, until one says where its bytes are`() async throws {
        let scene = try await StreamScene(having: "abc")
        scene.transfers.refuseAppend(to: scene.task.id)
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.message.contains("that at 3"))
        #expect(try await failure { _ = try await scene.stream.finish(.init()) }.message.contains("not clear where"))
        #expect(try await scene.stream.append([], at: 3) == .init(offset: 3, durable: 3))
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(3..<3))
        scene.complete(3)
        _ = try await end.value
    }

    @Test func `An append at a negative offset leaves a gap, too`() async throws {
        let scene = try await StreamScene(having: "abc")
        #expect(try await failure { _ = try await scene.stream.append([1], at: -1) }.param == "offset")
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.param == "offset")
        #expect(try await failure { _ = try await scene.stream.finish(.init()) }.param == "task")
    }

    @Test func `A cancelled append to a paused task leaves nothing, and the snapshot never counts its bytes`()
        async throws
    {
        let scene = try await StreamScene(having: "ab")
        #expect(try await scene.task.pause())
        let (first, second) = (scene.append("cd"), scene.append("ef"))
        try await until { scene.stream.end == 6 }
        #expect(scene.task.snapshot().offset == 2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await failure { _ = try await second.value }.message.contains("the next one is that at 2"))
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.param == "offset")
        #expect(try await failure { _ = try await scene.stream.finish(.init()) }.param == "task")
        let other = scene.append("XY", at: 2)
        try await until { scene.stream.end == 4 }
        #expect(scene.task.resume())
        try await scene.goesOn(from: 2, to: 4, with: "XY")
        #expect(try await other.value == .init(offset: 4, durable: 4))
    }

    @Test func `A cancelled append that the engine is getting is kept, and the next one must name its offset`()
        async throws
    {
        let scene = try await StreamScene()
        let append = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        append.cancel()
        await #expect(throws: CancellationError.self) { try await append.value }
        #expect(scene.task.snapshot().offset == 2)
        scene.session.answer(.received(upTo: 2))
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.message.contains("that at 2"))
        #expect(try await failure { _ = try await scene.stream.finish(.init()) }.param == "task")
        let next = scene.append("cd", at: 2)
        #expect(try await scene.session.nextStep() == .send(2..<4))
        scene.session.answer(.received(upTo: 4))
        #expect(try await next.value.offset == 4)
    }

    @Test func `A cancelled append does not take back what it only repeats`() async throws {
        let scene = try await StreamScene(takesAnyPiece: false, chunk: Self.granule)
        #expect(try await scene.stream.append([1, 2, 3], at: nil).offset == 3)
        let large = scene.append([UInt8](repeating: 7, count: Int(3 * Self.granule)), at: 0)
        #expect(try await scene.session.nextStep() == .send(0..<Self.granule))
        scene.session.answer(.failed(.busy))
        _ = try await scene.stage.clock.nextSleep()
        large.cancel()
        await #expect(throws: CancellationError.self) { try await large.value }
        #expect(scene.stream.offset == Self.granule, "the engine may have this")
    }

    @Test func `An end that waits fails when an append before it is cancelled`() async throws {
        let scene = try await StreamScene(having: "ab")
        #expect(try await scene.task.pause())
        let append = scene.append("cd")
        try await until { scene.stream.end == 4 }
        let end = Task { try await scene.stream.finish(.init()) }
        try await until { scene.stream.isFinishing }
        append.cancel()
        await #expect(throws: CancellationError.self) { try await append.value }
        #expect(try await failure { _ = try await end.value }.message.contains("the upload has 2 bytes"))
        #expect(try await scene.stream.append([], at: 2).offset == 2)
        let again = Task { try await scene.stream.finish(.init()) }
        #expect(scene.task.resume())
        #expect(try await scene.session.nextStep() == .query)
        scene.session.answer(.received(upTo: 2))
        #expect(try await scene.session.nextStep() == .send(2..<2))
        scene.complete(2)
        #expect(try await again.value.state == .success)
    }

    @Test func `Where an append is cancelled the end behind it fails, and can be asked for again`() async throws {
        let scene = try await StreamScene()
        let first = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        let second = scene.append("cd")
        let end = Task { try await scene.stream.finish(.init()) }
        try await until { scene.stream.end == 4 }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(try await failure { _ = try await end.value }.message.contains("the upload has 2 bytes"))
        scene.session.answer(.received(upTo: 2))
        #expect(try await first.value.offset == 2)
        let third = scene.append("xy", at: 2)
        #expect(try await scene.session.nextStep() == .send(2..<4))
        scene.session.answer(.received(upTo: 4))
        _ = try await third.value
        let again = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(4..<4))
        scene.complete(4)
        #expect(try await again.value.state == .success)
    }

    @Test func `An append that is refused after the end does not change the end`() async throws {
        let scene = try await StreamScene(having: "ab")
        #expect(try await scene.task.pause())
        let end = Task { try await scene.stream.finish(.init()) }
        try await until { scene.stream.isFinishing }
        scene.transfers.refuseAppend(to: scene.task.id)
        let repeated = Task { try await scene.stream.finish(.init()) }
        #expect(scene.task.resume())
        #expect(try await scene.session.nextStep() == .query)
        scene.session.answer(.received(upTo: 2))
        #expect(try await scene.session.nextStep() == .send(2..<2))
        scene.complete(2)
        for end in [end, repeated] { #expect(try await end.value.state == .success) }
    }

    // MARK: - What survives the process

    @Test func `An append that the end of the task answers is durable`() async throws {
        let scene = try await StreamScene(having: "ab", InMemoryTaskStore())
        #expect(try await scene.task.pause())
        let append = scene.append("cd")
        try await until { scene.stream.end == 4 }
        let end = Task { try await scene.stream.finish(.init()) }
        try await until { scene.stream.isFinishing }
        #expect(scene.task.resume())
        #expect(try await scene.session.nextStep() == .query)
        scene.session.answer(.received(upTo: 2))
        #expect(try await scene.session.nextStep() == .send(2..<4))
        scene.complete(4)
        #expect(try await append.value == .init(offset: 4, durable: 4))
        _ = try await end.value
    }

    @Test func `Bytes that could not be recorded are not durable`() async throws {
        let store = InMemoryTaskStore()
        let scene = try await StreamScene(having: "ab", store)
        store.failure = StorageError(.quotaExceeded, "There is no room left.")
        let lost = scene.append("cd")
        #expect(try await scene.session.nextStep() == .send(2..<4))
        scene.session.answer(.received(upTo: 4))
        #expect(try await lost.value == .init(offset: 4, durable: 2))
        store.failure = nil
        let kept = scene.append("ef")
        #expect(try await scene.session.nextStep() == .send(4..<6))
        scene.session.answer(.received(upTo: 6))
        #expect(try await kept.value == .init(offset: 6, durable: 6))
    }

    @Test func `Bytes of a second session are durable only once that is recorded`() async throws {
        let store = InMemoryTaskStore()
        let scene = try await StreamScene(having: "abcd", store)
        let append = scene.append("ef")
        #expect(try await scene.session.nextStep() == .send(4..<6))
        scene.session.answer(.forgotten(.refused))
        #expect(try await scene.session.nextStep() == .open)
        scene.session.mark = "second"
        scene.session.answer(.opened())
        _ = try await failure { _ = try await append.value }
        let again = scene.append("ab", at: 0)
        #expect(try await scene.session.nextStep() == .send(0..<2))
        scene.session.mark = "second, with 2"
        scene.session.answer(.received(upTo: 2))
        #expect(try await again.value == .init(offset: 2, durable: 2))
        #expect(store.bookmark(of: scene.task.id) == "second, with 2")
    }

    // MARK: - Engines that take chunks

    @Test func `Small appends to an engine with chunks are answered immediately, and make one chunk`() async throws {
        let scene = try await StreamScene(takesAnyPiece: false, chunk: Self.granule)
        let some = [UInt8](repeating: 7, count: 100_000)
        for number in 1...2 {
            #expect(try await scene.stream.append(some, at: nil) == .init(offset: Int64(number * 100_000), durable: 0))
        }
        let last = scene.append(some)
        #expect(try await scene.session.nextStep() == .send(0..<Self.granule))
        scene.session.answer(.received(upTo: Self.granule))
        #expect(try await last.value.offset == 300_000)
        try await until { scene.task.machine.progress.completedUnitCount == Self.granule }
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(Self.granule..<300_000))
        scene.complete(300_000)
        _ = try await end.value
        #expect(scene.transfers.memory.streams.bytes == 0)
    }

    @Test(arguments: [false, true])
    func `Chunks of a stream grow as long as they take at most a second, and each is progress`(takesAnyPiece: Bool)
        async throws
    {
        let scene = try await StreamScene(takesAnyPiece: takesAnyPiece)
        let append = scene.append([UInt8](repeating: 1, count: Int(Self.granule) * 8))
        var start: Int64 = 0
        for (chunks, seconds) in [(1, 1), (2, 2), (2, 3), (1, 1), (2, 1)] as [(Int64, Int)] {
            let end = start + chunks * Self.granule
            #expect(try await scene.session.nextStep() == .send(start..<end))
            scene.stage.clock.advance(by: .seconds(seconds))
            scene.session.answer(.received(upTo: end))
            try await until { scene.task.snapshot().progress.completedUnitCount == end }
            start = end
        }
        _ = try await append.value
    }

    @Test func `An append beyond a chunk waits until the engine has the chunk`() async throws {
        let scene = try await StreamScene(takesAnyPiece: false, chunk: Self.granule)
        let large = scene.append([UInt8](repeating: 7, count: Int(2 * Self.granule) + 1))
        #expect(try await scene.session.nextStep() == .send(0..<Self.granule))
        scene.session.answer(.received(upTo: Self.granule))
        #expect(try await scene.session.nextStep() == .send(Self.granule..<2 * Self.granule))
        scene.session.answer(.received(upTo: 2 * Self.granule))
        #expect(try await large.value == .init(offset: 2 * Self.granule + 1, durable: 2 * Self.granule))
    }

    // MARK: - Failures and ends

    @Test func `A failure is retried with the same bytes, and the snapshot says so`() async throws {
        let scene = try await StreamScene()
        let append = scene.append("abcd")
        #expect(try await scene.session.nextStep() == .send(0..<4))
        scene.session.answer(.failed(.busy))
        let rest = try await scene.stage.clock.nextSleep()
        #expect(scene.task.snapshot().retry?.attempt == 1)
        scene.stage.clock.advance(by: rest)
        try await scene.goesOn(from: 2, to: 4, with: "cd")
        #expect(try await append.value.offset == 4)
    }

    @Test func `An append that finds no room fails alone, and can be repeated`() async throws {
        let scene = try await StreamScene(having: "abcd")
        let append = scene.append("efgh")
        #expect(try await scene.session.nextStep() == .send(4..<8))
        scene.session.answer(.failed(StorageError(.quotaExceeded, "No room.")))
        let error = try await failure { _ = try await append.value }
        #expect(error.code == .quotaExceeded && error.retryable)
        #expect(scene.task.state == .running && scene.stream.offset == 4)
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.message.contains("that at 4"))
        let again = scene.append("efgh", at: 4)
        // A part has found room.
        try await scene.goesOn(from: 6, to: 8, with: "gh")
        #expect(try await again.value == .init(offset: 8, durable: 8))
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(8..<8))
        scene.session.answer(.failed(StorageError(.quotaExceeded, "No room.")))
        #expect(try await failure { _ = try await end.value }.code == .quotaExceeded)
        #expect(scene.task.state == .running)
    }

    @Test func `An append to a paused task waits until it is resumed`() async throws {
        let scene = try await StreamScene(having: "ab")
        #expect(try await scene.task.pause())
        let append = scene.append("cd")
        try await until { scene.stream.end == 4 }
        try await TransfersFixture.succeedElsewhere()
        #expect(!scene.session.isInFlight && scene.task.snapshot().offset == 2, "it has no answer")
        #expect(scene.task.resume())
        #expect(try await scene.session.nextStep() == .query)
        scene.session.answer(.received(upTo: 2))
        #expect(try await scene.session.nextStep() == .send(2..<4))
        scene.session.answer(.received(upTo: 4))
        #expect(try await append.value.offset == 4)
    }

    @Test func `A request that waits when the task ends gets its end, and the bytes are released`() async throws {
        let scene = try await StreamScene(having: "ab")
        #expect(try await scene.task.pause())
        let append = scene.append("cd")
        try await until { scene.stream.end == 4 }
        #expect(try await scene.task.cancel())
        #expect(try await failure { _ = try await append.value }.code == .cancelled)
        #expect(try await failure { _ = try scene.task.openStream() }.code == .cancelled)
        #expect(scene.transfers.memory.streams.bytes == 0 && scene.task.snapshot().offset == nil)
    }

    @Test func `A lost session leaves a gap, and the client may start again`() async throws {
        let scene = try await StreamScene(having: "abcd")
        let append = scene.append("ef")
        #expect(try await scene.session.nextStep() == .send(4..<6))
        scene.session.answer(.forgotten(.refused))
        #expect(try await scene.session.nextStep() == .open)
        scene.session.answer(.opened())
        let gap = try await failure { _ = try await append.value }
        #expect(gap.message.contains("begin at 4, but the next one is that at 0"))
        #expect(scene.stream.offset == 0)
        let again = scene.append("abcdef", at: 0)
        #expect(try await scene.session.nextStep() == .send(0..<6))
        scene.session.answer(.received(upTo: 6))
        #expect(try await again.value == .init(offset: 6, durable: 6))
    }

    @Test func `The engine compares the MD5 that the end brings`() async throws {
        let scene = try await StreamScene(having: "ab")
        let md5 = [UInt8](repeating: 9, count: 16)
        let end = Task { try await scene.stream.finish(.init(md5: md5)) }
        #expect(try await scene.session.nextStep() == .send(2..<2))
        let bytes = try #require(scene.session.bytes)
        #expect(bytes.expected.md5 == md5 && bytes.size == 2)
        #expect(try await failure { _ = try await scene.stream.append([1], at: nil) }.param == "task")
        scene.session.answer(.failed(.refused))
        #expect(try await failure { _ = try await end.value }.code == .unauthorized)
    }

    @Test func `The size of the object goes with the last bytes, and with the question whether they are stored`()
        async throws
    {
        let scene = try await StreamScene()
        let append = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        #expect(scene.session.bytes?.size == nil)
        scene.session.answer(.received(upTo: 2))
        _ = try await append.value
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(2..<2))
        #expect(scene.session.bytes?.size == 2)
        try await scene.isAskedAgain()
        #expect(scene.session.bytes?.size == 2 && scene.session.bytes?.piece == nil)
        scene.complete(2)
        #expect(try await end.value.state == .success)
    }

    @Test func `An object of an announced size ends with the request that ends it, and not with its last byte`()
        async throws
    {
        let scene = try await StreamScene(size: 2)
        let append = scene.append("ab")
        #expect(try await scene.session.nextStep() == .send(0..<2))
        #expect(scene.session.bytes?.size == nil)
        try await scene.isAskedAgain()
        #expect(scene.session.bytes?.size == nil)
        scene.session.answer(.received(upTo: 2))
        _ = try await append.value
        let end = Task { try await scene.stream.finish(.init()) }
        #expect(try await scene.session.nextStep() == .send(2..<2))
        #expect(scene.session.bytes?.size == 2)
        scene.complete(2)
        #expect(try await end.value.state == .success)
    }

    // MARK: - Other tasks

    @Test func `A stream counts as a task, and not as an upload session`() async throws {
        var limits = TransferLimits()
        (limits.tasks, limits.uploadSessions.most) = (1, 0)
        let scene = try await StreamScene(limits: limits)
        let refusal = try await failure {
            _ = try await scene.transfers.upload(UploadRequest(.stream(size: nil), to: TransfersFixture.reference()))
        }
        #expect(refusal.message.contains("--max-tasks"))
        #expect(scene.transfers.tasks.sessions.count == 0)
    }

    @Test func `A stream of an earlier process waits, and continues where its engine is`() async throws {
        let scene = try await StreamScene(having: "abcd", InMemoryTaskStore())
        let later = try await scene.stage.afterCrash()
        let task = try #require(later.transfers.uploads.all.first)
        #expect(task.state == .paused && task.snapshot().offset == 4 && task.snapshot().origin == .stream)
        let stream = try task.openStream()
        #expect(try await failure { _ = try await stream.append([1], at: nil) }.message.contains("at 4"))
        let append = Task { try await stream.append(Array("efgh".utf8), at: 4) }
        try await until { stream.end == 8 }
        #expect(task.resume())
        let session = try await later.backend.nextSession()
        #expect(try await session.nextStep() == .query)
        // More than was recorded.
        session.answer(.received(upTo: 6))
        #expect(try await session.nextStep() == .send(6..<8))
        session.answer(.received(upTo: 8))
        #expect(try await append.value == .init(offset: 8, durable: 8))
    }

    @Test func `An append that is refused before the streams of an earlier process are known leaves a gap`()
        async throws
    {
        let scene = try await StreamScene(having: "abcd", InMemoryTaskStore())
        let later = TransfersFixture(ScriptedBackend(), scene.stage.store?.afterCrash(), isFirst: false)
        later.transfers.refuseAppend(to: scene.task.id)
        try await later.transfers.restore(.pause)
        let task = try #require(later.transfers.uploads.all.first)
        let error = try await failure { _ = try await task.openStream().finish(.init()) }
        #expect(error.message.contains("not clear where the object ends"))
    }

    @Test func `A later process does not end a stream before bytes that its engine has`() async throws {
        let scene = try await StreamScene(having: "abcd", InMemoryTaskStore())
        let later = try await scene.stage.afterCrash()
        let task = try #require(later.transfers.uploads.all.first)
        #expect(task.resume())
        let session = try await later.backend.nextSession()
        #expect(try await session.nextStep() == .query)
        session.answer(.received(upTo: 6))
        let error = try await failure { _ = try await task.openStream().finish(.init()) }
        #expect(error.message.contains("the upload has 6 bytes"))
        #expect(task.snapshot().offset == 6)
    }
}

/// An upload stream over a scripted engine, which is open.
@Loop private final class StreamScene {
    let stage: TransfersFixture
    let task: UploadTask
    let stream: StreamUpload
    let session: ScriptedSession
    var transfers: Transfers { stage.transfers }

    init(
        size: Int64? = nil, having bytes: String = "", takesAnyPiece: Bool = true, chunk: Int64? = nil,
        limits: TransferLimits = .init(), _ store: InMemoryTaskStore? = nil
    ) async throws {
        stage = TransfersFixture(ScriptedBackend(takesAnyPiece: takesAnyPiece), store, limits: limits)
        if let chunk { try stage.transfers.settings.setUploadChunkSize(chunk) }
        task = try await stage.transfers.upload(UploadRequest(.stream(size: size), to: TransfersFixture.reference()))
        stream = try task.openStream()
        session = try await stage.backend.nextSession()
        session.mark = "mark"
        task.start()
        #expect(try await session.nextStep() == .open)
        session.answer(.opened())
        try await until { self.task.session?.waitsForItsClient == true }
        guard !bytes.isEmpty else { return }
        let append = append(bytes)
        #expect(try await session.nextStep() == .send(0..<Int64(bytes.utf8.count)))
        session.answer(.received(upTo: Int64(bytes.utf8.count)))
        _ = try await append.value
        try await until { self.task.session?.waitsForItsClient == true }
    }

    func append(_ text: String, at offset: Int64? = nil) -> Task<StreamUpload.Position, any Error> {
        append(Array(text.utf8), at: offset)
    }

    func append(_ bytes: [UInt8], at offset: Int64? = nil) -> Task<StreamUpload.Position, any Error> {
        Task { [stream] in try await stream.append(bytes, at: offset) }
    }

    /// A pause ends the step of the engine, and after the resume the engine is asked how many bytes it has.
    func isAskedAgain(_ location: SourceLocation = #_sourceLocation) async throws {
        let pause = Task { [task] in try await task.pause() }
        try await until { self.session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await pause.value && task.resume(), sourceLocation: location)
        #expect(try await session.nextStep() == .query, sourceLocation: location)
    }

    /// The engine is asked how many bytes it has, and gets the next ones.
    func goesOn(
        from start: Int64, to end: Int64, with text: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await session.nextStep() == .query, sourceLocation: location)
        session.answer(.received(upTo: start))
        #expect(try await session.nextStep() == .send(start..<end), sourceLocation: location)
        #expect(try sent(start..<end) == text, sourceLocation: location)
        session.answer(.received(upTo: end))
    }

    /// What the engine reads.
    func sent(_ range: Range<Int64>) throws -> String {
        let incoming = try #require(session.bytes)
        var bytes = [UInt8](repeating: 0, count: range.count)
        let outcome = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(StorageError) in try incoming.read(into: buffer, at: range.lowerBound) }
        }
        try outcome.get()
        return String(decoding: bytes, as: UTF8.self)
    }

    func complete(_ size: Int64) { session.answer(.completed(.stored(session.upload.reference, size: size))) }
}
