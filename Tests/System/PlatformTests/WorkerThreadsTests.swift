import Dispatch
import Platform
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct WorkerThreadsTests {
    @Test(arguments: [1, 2, 5])
    func `Exactly as many jobs as the limit run concurrently`(limit: Int) async throws {
        let threads = WorkerThreads("test", limit: limit)
        let (started, ended) = (Mail<Int>(), Mail<Int>())
        let gate = DispatchSemaphore(value: 0)
        let atOnce = Mutex((now: 0, most: 0))
        for number in 0..<20 {
            threads.submit {
                atOnce.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                started.deliver(number)
                gate.wait()
                atOnce.withLock { $0.now -= 1 }
                ended.deliver(number)
            }
        }
        // Each job waits at the gate, so all of these start only if they run concurrently.
        var first: Set<Int> = []
        for _ in 0..<limit { first.insert(try await started.next()) }
        #expect(first == Set(0..<limit), "jobs start in the order of their submission")
        for _ in 0..<20 { gate.signal() }
        var all: Set<Int> = []
        for _ in 0..<20 { all.insert(try await ended.next()) }
        #expect(all == Set(0..<20))
        #expect(atOnce.withLock { $0.most } == limit)
    }

    @Test func `Released threads end after their last job`() async throws {
        let ended = Mail<Void>()
        let start: ThreadStarter = { name, stackSize, body throws(ThreadUnavailable) in
            try systemThreads(name, stackSize) {
                body()
                ended.deliver(())
            }
        }
        var threads: WorkerThreads? = WorkerThreads("test", limit: 3, start: start)
        let (gate, done) = (DispatchSemaphore(value: 0), Mail<Int>())
        for number in 0..<3 {
            threads?.submit {
                gate.wait()
                done.deliver(number)
            }
        }
        threads = nil
        for _ in 0..<3 { gate.signal() }
        var numbers: Set<Int> = []
        for _ in 0..<3 { numbers.insert(try await done.next()) }
        for _ in 0..<3 { try await ended.next() }
        #expect(numbers == [0, 1, 2] && ended.waiting.isEmpty)
    }

    @Test func `A single thread runs jobs in order`() async throws {
        let threads = WorkerThreads("test")
        let results = Mail<Int>()
        for number in 0..<5000 { threads.submit { results.deliver(number) } }
        for number in 0..<5000 { #expect(try await results.next() == number) }
    }

    @Test func `Idle threads run further jobs`() async {
        let threads = WorkerThreads("test", limit: 2)
        for round in 0..<500 { #expect(await threads.run { round * 2 } == round * 2) }
    }

    @Test func `Two jobs that wait for each other both get a thread`() async throws {
        let threads = WorkerThreads("test", limit: 2)
        for _ in 0..<200 {
            let (ping, pong) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            async let first = threads.run {
                ping.signal()
                return pong.wait(timeout: .now() + 60) == .success
            }
            async let second = threads.run {
                pong.signal()
                return ping.wait(timeout: .now() + 60) == .success
            }
            let both = await [first, second]
            try #require(both == [true, true], "one of the jobs did not start")
        }
    }

    private actor Blocking {
        let threads = WorkerThreads("actor")
        var sum = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { threads.asUnownedSerialExecutor() }
        func add(_ number: Int) { sum += number }
    }

    @Test func `An actor can use a single thread as its executor`() async {
        let actor = Blocking()
        await withTaskGroup { group in
            for number in 1...100 { group.addTask { await actor.add(number) } }
        }
        #expect(await actor.sum == 5050)
    }
}

@Suite(.watchdog(minutes: 10)) struct SerialQueueTests {
    @Test func `Jobs of a serial queue run in order, one at a time`() async throws {
        let threads = WorkerThreads("test", limit: 4)
        let queue = SerialQueue(on: threads, 0)
        let results = Mail<Int>()
        let isBusy = Mutex(false)
        for number in 0..<5000 {
            queue.submit { _ in
                #expect(
                    isBusy.withLock { busy in
                        defer { busy = true }; return !busy
                    })
                results.deliver(number)
                isBusy.withLock { $0 = false }
            }
        }
        for number in 0..<5000 { #expect(try await results.next() == number) }
    }

    @Test func `submitHere runs a job immediately on an idle queue, else after the waiting jobs`() async throws {
        let queue = SerialQueue(on: WorkerThreads("test"), 0)
        let results = Mail<Int>()
        startTestThread("caller") {
            let ranHere = Mutex(false)
            queue.submitHere { _ in
                ranHere.withLock { $0 = true }
                // The queue is busy now: this work waits, and the caller does not.
                queue.submitHere { _ in results.deliver(2) }
                results.deliver(1)
            }
            #expect(ranHere.withLock { $0 })
        }
        #expect(try await results.next() == 1)
        #expect(try await results.next() == 2)
    }

    @Test func `A blocked queue does not delay another queue`() async throws {
        let threads = WorkerThreads("test", limit: 2)
        let (stuck, free) = (SerialQueue(on: threads, 0), SerialQueue(on: threads, 0))
        let gate = DispatchSemaphore(value: 0)
        let results = Mail<String>()
        stuck.submit { _ in
            gate.wait(); results.deliver("stuck")
        }
        stuck.submit { _ in results.deliver("behind") }
        free.submit { _ in results.deliver("free") }
        #expect(try await results.next() == "free")
        gate.signal()
        #expect(try await results.next() == "stuck")
        #expect(try await results.next() == "behind")
    }

    @Test func `An idle queue occupies no thread`() async throws {
        let threads = WorkerThreads("test", limit: 1)
        let queues = (0..<50).map { _ in SerialQueue(on: threads, 0) }
        let results = Mail<Int>()
        for (number, queue) in queues.enumerated() { queue.submit { _ in results.deliver(number) } }
        for number in 0..<50 { #expect(try await results.next() == number) }
    }

    private struct Tally: ~Copyable {
        var numbers: [Int] = []
    }

    @Test func `Each job gets the state that the previous job left`() async throws {
        let queue = SerialQueue(on: WorkerThreads("test", limit: 4), Tally())
        for number in 0..<1000 { queue.submit { $0.numbers.append(number) } }
        #expect(await queue.run { $0.numbers } == Array(0..<1000))
        struct Full: Error {}
        await #expect(throws: Full.self) { try await queue.run { _ throws(Full) in throw Full() } }
    }

    @Test func `A job may submit another job`() async throws {
        let queue = SerialQueue(on: WorkerThreads("test"), 0)
        let results = Mail<Int>()
        queue.submit { _ in
            queue.submit { _ in results.deliver(2) }
            results.deliver(1)
        }
        #expect(try await results.next() == 1)
        #expect(try await results.next() == 2)
    }
}

@Suite(.watchdog(minutes: 10)) struct ThreadShortageTests {
    /// Whether each attempt to start a thread succeeds.
    private func threads(limit: Int, _ succeeds: @escaping @Sendable (Int) -> Bool) -> (WorkerThreads, Mail<Int>) {
        let attempts = Mail<Int>()
        let threads = WorkerThreads("test", limit: limit) { name, stackSize, body throws(ThreadUnavailable) in
            attempts.deliver(0)
            guard succeeds(attempts.waiting.count) else { throw ThreadUnavailable(code: EAGAIN) }
            try startThread(name, stackSize: stackSize, body)
        }
        return (threads, attempts)
    }

    @Test func `If no further threads start, the existing ones run all jobs`() async throws {
        let (threads, attempts) = threads(limit: 4) { $0 == 1 }
        let results = Mail<Int>()
        let gate = DispatchSemaphore(value: 0)
        threads.submit { gate.wait() }
        for number in 0..<50 { threads.submit { results.deliver(number) } }
        gate.signal()
        for number in 0..<50 { #expect(try await results.next() == number) }
        #expect(attempts.waiting.count > 1)
    }

    @Test func `Jobs wait until a first thread can be started`() async throws {
        let (threads, attempts) = threads(limit: 2) { $0 > 3 }
        let results = Mail<Int>()
        threads.submit { results.deliver(1) }
        threads.submit { results.deliver(2) }
        #expect(try await Set([results.next(), results.next()]) == [1, 2])
        #expect(attempts.waiting.count > 3)
        #expect(await threads.run { 3 } == 3)
    }
}
