import Glibc
import Platform
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct LoopTests {
    @Loop private final class Log {
        var entries: [Int] = []
        var waiter: UnsafeContinuation<Int, Never>?
        nonisolated init() {}
        func add(_ entry: Int) { entries.append(entry) }
    }

    @Test func `Jobs of one thread run in the order of their submission`() async throws {
        let log = Log()
        let done = Mail<Void>()
        startTestThread("many jobs") {
            for number in 0..<10_000 { Task { @Loop in log.add(number) } }
            Task { @Loop in done.deliver(()) }
        }
        try await done.next()
        #expect(await log.entries == Array(0..<10_000))
    }

    @Test func `Jobs of many threads all run, in order for each thread`() async throws {
        let log = Log()
        let done = Mail<Void>()
        for thread in 0..<4 {
            startTestThread("jobs") {
                for number in 0..<1000 { Task { @Loop in log.add(thread * 1000 + number) } }
                Task { @Loop in done.deliver(()) }
            }
        }
        for _ in 0..<4 { try await done.next() }
        for thread in 0..<4 {
            let own = await log.entries.filter { $0 / 1000 == thread }
            #expect(own == Array(thread * 1000..<(thread + 1) * 1000))
        }
    }

    @Test @Loop func `A job that is submitted on the loop runs after those that are waiting`() async {
        let log = Log()
        let tasks = (0..<100).map { number in
            Task {
                log.add(number)
                await Task { log.add(100 + number) }.value
            }
        }
        for task in tasks { await task.value }
        #expect(log.entries == Array(0..<200))
    }

    @Test @Loop func `A task that waits is resumed within the current job, and jobs after it keep their order`() async {
        let log = Log()
        let waiting = Loop.immediateTask {
            log.add(await withUnsafeContinuation { log.waiter = $0 })
            await Loop.nextIteration()
            log.add(4)
        }
        let later = Task { log.add(3) }
        if let waiter = log.waiter { Loop.resume(waiter, returning: 1) }
        log.add(2)
        for task in [waiting, later] { await task.value }
        #expect(log.entries == [1, 2, 3, 4])
    }

    @Test @Loop func `A task can be resumed before it waits, and the next job is not lost`() async {
        let log = Log()
        log.add(await withUnsafeContinuation { Loop.resume($0, returning: 1) })
        await Task { log.add(2) }.value
        #expect(log.entries == [1, 2])
    }

    @Test @Loop func `Work at the end of an iteration runs once, after the job, and may add more`()
        async throws
    {
        let log = Log()
        let done = Mail<Void>()
        Loop.atEndOfIteration {
            log.add(2)
            Loop.atEndOfIteration {
                log.add(3)
                done.deliver(())
            }
        }
        log.add(1)
        try await done.next()
        await Loop.nextIteration()
        #expect(log.entries == [1, 2, 3])
    }

    @Test(arguments: [false, true]) @Loop
    func `An immediate task runs to its first suspension before its caller continues`(isNested: Bool) async {
        let log = Log()
        let start: @Loop () -> Task<Void, Never> = {
            defer { log.add(2) }
            return Loop.immediateTask {
                log.add(1)
                await Loop.nextIteration()
                log.add(3)
            }
        }
        await (isNested ? Loop.task { start() }.value : start()).value
        #expect(log.entries == [1, 2, 3])
    }

    @Test @Loop func `Jobs run on one thread, also if a detached task submits them`() async {
        Loop.shared.assertIsolated()
        let thread = pthread_self()
        let other = await Task.detached { await Task { @Loop in pthread_self() }.value }.value
        #expect(other == thread)
        Loop.shared.assertIsolated()
        #expect(pthread_self() == thread)
    }
}
