import Platform
import Storage
import TestSupport
import Testing
@testable import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct QueueTests {
    let stage = TransfersFixture()

    private func uploads(_ count: Int, of size: Int = 20) async throws -> [(task: UploadTask, session: ScriptedSession)]
    {
        var uploads: [(task: UploadTask, session: ScriptedSession)] = []
        for _ in 0..<count { uploads.append(try await stage.upload(size)) }
        for upload in uploads { upload.task.start() }
        return uploads
    }

    private func states(_ uploads: [(task: UploadTask, session: ScriptedSession)]) -> [TaskState] {
        uploads.map(\.task.state)
    }

    @Test func `Tasks beyond the concurrency limit wait in order`() async throws {
        let all = try await uploads(5)
        #expect(states(all) == [.running, .running, .queued, .queued, .queued])
        for index in 0...1 { _ = try await all[index].session.nextStep() }
        for (index, next) in [(1, 2), (0, 3), (2, 4)] {
            all[index].session.answer(.failed(.refused))
            #expect(try await all[next].session.nextStep() == .open)
            #expect(all[index].task.state == .failed)
        }
    }

    @Test func `A larger number of concurrent tasks admits those that wait, a smaller one ends none`() async throws {
        let all = try await uploads(5)
        try stage.transfers.atOnce.setUploads(4)
        #expect(states(all) == [.running, .running, .running, .running, .queued])
        try stage.transfers.atOnce.setUploads(1)
        #expect(states(all) == [.running, .running, .running, .running, .queued])
        for index in 0...2 {
            _ = try await all[index].session.nextStep()
            all[index].session.answer(.failed(.refused))
            while all[index].task.state != .failed { await Loop.nextIteration() }
            #expect(all[4].task.state == .queued)
        }
        _ = try await all[3].session.nextStep()
        all[3].session.answer(.failed(.refused))
        #expect(try await all[4].session.nextStep() == .open)
    }

    private final class Waiter: LimiterWaiter {
        let id: String
        var isAdmitted = false

        init(_ number: Int) { id = "\(number)" }

        func admit() { isAdmitted = true }
    }

    private func waiters(_ count: Int, at limiter: ConcurrencyLimiter) -> [Waiter] {
        let waiters = (0..<count).map(Waiter.init)
        for waiter in waiters { limiter.acquire(waiter) }
        return waiters
    }

    @Test func `A larger limit admits no task beyond those that may have files`() {
        let limiter = ConcurrencyLimiter(limit: 2, released: {})
        limiter.most = 4
        let all = waiters(5, at: limiter)
        for waiter in all[...1] { limiter.finish(waiter) }
        #expect(all.map(\.isAdmitted) == [true, true, true, true, false])
        limiter.limit = 4
        #expect(!all[4].isAdmitted)
        limiter.release(all[0])
        #expect(all[4].isAdmitted)
    }

    @Test func `A finishing task that transfers again counts as running`() {
        let limiter = ConcurrencyLimiter(limit: 1, released: {})
        limiter.most = 4
        let all = waiters(3, at: limiter)
        limiter.finish(all[0])
        limiter.run(all[0])
        limiter.release(all[1])
        #expect(all.map(\.isAdmitted) == [true, true, false])
        limiter.release(all[0])
        #expect(all[2].isAdmitted)
    }

    @Test func `Small uploads do not wait behind large ones`() async throws {
        let large = try await uploads(3)
        let small = try await uploads(10, of: 1)
        #expect(large[2].task.state == .queued)
        #expect(states(small).allSatisfy { $0 == .running })
    }

    @Test func `A resumed waiting task joins the end of the queue`() async throws {
        let all = try await uploads(4)
        #expect(try await all[2].task.pause())
        #expect(all[2].task.resume())
        _ = try await all[0].session.nextStep()
        all[0].session.answer(.failed(.refused))
        #expect(try await all[3].session.nextStep() == .open)
        #expect(all[2].task.state == .queued)
    }

    @Test func `A cancelled waiting task leaves the queue and frees no running place`() async throws {
        let all = try await uploads(4)
        #expect(try await all[2].task.cancel())
        #expect(states(all) == [.running, .running, .cancelled, .queued])
        #expect(try await all[3].task.pause())
        #expect(states(all) == [.running, .running, .cancelled, .paused])
    }

    @Test func `A paused task releases its place and waits again when it is resumed`() async throws {
        let all = try await uploads(3)
        _ = try await all[0].session.nextStep()
        async let paused = all[0].task.pause()
        try await until { all[0].session.aborts == 1 }
        all[0].session.answer(.aborted)
        #expect(try await paused)
        #expect(states(all) == [.paused, .running, .running])
        #expect(all[0].task.resume())
        #expect(all[0].task.state == .queued)
    }

    @Test func `A task that is paused before its start remains paused`() async throws {
        let (task, session) = try await stage.upload()
        #expect(try await task.pause())
        task.start()
        try await TransfersFixture.succeedElsewhere()
        #expect(task.state == .paused && !session.isInFlight)
        #expect(task.resume())
        #expect(try await session.nextStep() == .open)
    }

    @Test func `A task that waits for a retry keeps its place`() async throws {
        let all = try await uploads(3)
        _ = try await all[0].session.nextStep()
        all[0].session.answer(.failed(.busy))
        _ = try await stage.clock.nextSleep()
        #expect(states(all) == [.running, .running, .queued])
        #expect(try await all[0].task.pause())
        #expect(states(all) == [.paused, .running, .running])
    }

    @Test func `An upload waits while too much memory is in use`() async throws {
        let half = TransferMemory.limit / 2 + 1
        let all = try await uploads(2, of: half)
        let third = Task { try await stage.upload(1, to: "late") }
        let cancelled = Task {
            try await stage.transfers.upload(UploadRequest(.data([]), to: TransfersFixture.reference()))
        }
        try await TransfersFixture.succeedElsewhere()
        #expect(stage.transfers.uploads.all.count == 2)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        for upload in all {
            _ = try await upload.session.nextStep()
            upload.session.answer(.failed(.refused))
        }
        #expect(try await third.value.0.state == .queued)
        #expect(stage.transfers.uploads.all.count == 3)
    }

    @Test func `The service is at rest when all tasks are paused or finished`() async throws {
        let all = try await uploads(3)
        let rest = Mail<Void>()
        Task {
            try await stage.transfers.restsOnly(); rest.deliver(())
        }
        for index in [0, 1] { _ = try await all[index].session.nextStep() }
        let suspended = Task { try await stage.transfers.suspend() }
        try await until { all[0].session.aborts == 1 && all[1].session.aborts == 1 }
        #expect(states(all) == [.running, .running, .paused], "what is in line gets no place")
        all[1].session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await all[1].task.result() }
        #expect(rest.waiting.isEmpty)
        all[0].session.answer(.aborted)
        try await rest.next()
        try await suspended.value
        #expect(states(all) == [.paused, .failed, .paused])
    }
}
