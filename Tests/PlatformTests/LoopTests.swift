import Platform
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct LoopTests {
    @Loop private final class Log {
        var entries: [Int] = []
        nonisolated init() {}
        func add(_ entry: Int) { entries.append(entry) }
    }

    @Test func `Jobs of one thread run in the order in which they came`() async throws {
        let log = Log()
        let done = Mail<Void>()
        startTestThread("many jobs") {
            for number in 0..<10_000 { Task { @Loop in log.add(number) } }
            Task { @Loop in done.deliver(()) }
        }
        try await done.next()
        #expect(await log.entries == Array(0..<10_000))
    }

    @Test func `Jobs of many threads all run, each thread's in order`() async throws {
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

    @Test @Loop func `A job of the loop comes behind those that wait already`() async {
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

    @Test @Loop func `The end of a turn comes once, after the job that asked for it, also when it asks for another`()
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
    func `An immediate task runs up to its first wait before its caller goes on`(isNested: Bool) async {
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

    @Test @Loop func `The loop is one thread, whoever calls`() async {
        Loop.shared.assertIsolated()
        await Task.detached { await Task { @Loop in Loop.shared.assertIsolated() }.value }.value
        Loop.shared.assertIsolated()
    }
}
