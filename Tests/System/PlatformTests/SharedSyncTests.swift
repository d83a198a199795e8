import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Platform

@Suite(.watchdog(minutes: 10)) struct SharedSyncTests {
    private let syncs = SharedSync<Int>()
    private let mayEnd = DispatchSemaphore(value: 0)
    private let began = Mail<Void>()

    /// Returns when `count` threads are in `run`.
    private func threads(_ count: Int) async throws {
        try await until { syncs.states.withLock { places, _ in places[1]?.threads } == count }
    }

    /// The error of a sync that waits for `mayEnd`.
    private func longSync(_ failure: SystemError? = nil) -> SystemError? {
        outcome { () throws(SystemError) in
            began.deliver(())
            mayEnd.wait()
            if let failure { throw failure }
        }
    }

    private func outcome(_ sync: () throws(SystemError) -> Void) -> SystemError? {
        do throws(SystemError) { try syncs.run(1, sync) } catch { return error }
        return nil
    }

    @Test func `Threads that request a sync during another share the next one`() async throws {
        let others = Atomic(0)
        let outcomes = Mail<SystemError?>()
        let workers = WorkerThreads("test", limit: 9)
        workers.submit { outcomes.deliver(longSync()) }
        try await began.next()
        for _ in 0..<8 { workers.submit { outcomes.deliver(outcome { others.add(1, ordering: .relaxed) }) } }
        try await threads(9)
        mayEnd.signal()
        for _ in 0..<9 { #expect(try await outcomes.next() == nil) }
        #expect(others.load(ordering: .relaxed) == 1)
    }

    @Test func `A failed sync fails for all threads that share it`() async throws {
        let outcomes = Mail<SystemError?>()
        let workers = WorkerThreads("test", limit: 4)
        workers.submit { outcomes.deliver(longSync()) }
        try await began.next()
        for _ in 0..<3 {
            workers.submit { outcomes.deliver(outcome { () throws(SystemError) in throw .inputOutput }) }
        }
        try await threads(4)
        mayEnd.signal()
        var failures = 0
        for _ in 0..<4 where try await outcomes.next() == .inputOutput { failures += 1 }
        #expect(failures == 3)
    }

    @Test func `A failed sync does not fail for threads that came during it`() async throws {
        let outcomes = Mail<SystemError?>()
        let workers = WorkerThreads("test", limit: 3)
        workers.submit { outcomes.deliver(longSync(.inputOutput)) }
        try await began.next()
        for _ in 0..<2 { workers.submit { outcomes.deliver(outcome {}) } }
        try await threads(3)
        mayEnd.signal()
        let all = [try await outcomes.next(), try await outcomes.next(), try await outcomes.next()]
        #expect(all.compactMap { $0 } == [.inputOutput])
    }

    @Test func `Successive syncs and syncs of other keys are all executed`() throws {
        let count = Atomic(0)
        for key in [1, 1, 2] { try syncs.run(key) { () throws(SystemError) in count.add(1, ordering: .relaxed) } }
        #expect(count.load(ordering: .relaxed) == 3)
        #expect(syncs.states.withLock { places, _ in places.isEmpty })
    }
}
