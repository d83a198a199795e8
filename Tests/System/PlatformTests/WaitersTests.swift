import Platform
import TestSupport
import Testing

@Loop @Suite(.watchdog(minutes: 10)) struct WaitersTests {
    private func wait(_ waiters: Waiters, _ number: Int, _ results: Mail<String>) async {
        do {
            try await waiters.wait()
            results.deliver("\(number) woken")
        } catch { results.deliver("\(number) cancelled") }
    }

    /// A task that is already waiting when this returns.
    private func waiter(_ waiters: Waiters, _ number: Int, _ results: Mail<String>) -> Task<Void, Never> {
        Task.immediate { await wait(waiters, number, results) }
    }

    @Test func `wakeAll wakes all waiters`() async throws {
        let (waiters, results) = (Waiters(), Mail<String>())
        for number in 0..<50 { _ = waiter(waiters, number, results) }
        #expect(!waiters.isEmpty && results.waiting.isEmpty)
        waiters.wakeAll()
        #expect(waiters.isEmpty)
        var woken: Set<String> = []
        for _ in 0..<50 { woken.insert(try await results.next()) }
        #expect(woken == Set((0..<50).map { "\($0) woken" }))
    }

    @Test func `One waiter can be cancelled without affecting others`() async throws {
        let (waiters, results) = (Waiters(), Mail<String>())
        let tasks = (0..<3).map { waiter(waiters, $0, results) }
        tasks[1].cancel()
        #expect(try await results.next() == "1 cancelled")
        waiters.wakeAll()
        #expect(try await [results.next(), results.next()].sorted() == ["0 woken", "2 woken"])
    }

    @Test func `A task that was cancelled before does not wait`() async throws {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = Task { await wait(waiters, 0, results) }
        task.cancel()
        #expect(try await results.next() == "0 cancelled")
        #expect(waiters.isEmpty)
    }

    @Test func `A cancellation after the wake-up has no effect`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = waiter(waiters, 0, results)
        waiters.wakeAll()
        task.cancel()
        await task.value
        #expect(results.waiting == ["0 woken"])
    }

    @Test func `A waiter that waits again waits for the next wake-up`() async throws {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = Task {
            for number in 0..<2 { await wait(waiters, number, results) }
        }
        try await until { !waiters.isEmpty }
        waiters.wakeAll()
        #expect(try await results.next() == "0 woken")
        try await until { !waiters.isEmpty }
        #expect(results.waiting.isEmpty)
        waiters.wakeAll()
        await task.value
        #expect(results.waiting == ["1 woken"])
        waiters.wakeAll()
    }
}
