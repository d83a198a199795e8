import Platform
import TestSupport
import Testing

@Loop @Suite(.timeLimit(.minutes(10))) struct WaitersTests {
    private func wait(_ waiters: Waiters, _ number: Int, _ results: Mail<String>) -> Task<Void, Never> {
        Task {
            do {
                try await waiters.wait()
                results.deliver("\(number) woken")
            } catch { results.deliver("\(number) cancelled") }
        }
    }

    @Test func `All are woken`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        for number in 0..<50 { _ = wait(waiters, number, results) }
        await turns(1)
        #expect(!waiters.isEmpty && results.waiting.isEmpty)
        waiters.wakeAll()
        #expect(waiters.isEmpty)
        var woken: Set<String> = []
        for _ in 0..<50 { woken.insert(await results.next()) }
        #expect(woken == Set((0..<50).map { "\($0) woken" }))
    }

    @Test func `Each can be cancelled on its own`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        let tasks = (0..<3).map { wait(waiters, $0, results) }
        await turns(1)
        tasks[1].cancel()
        #expect(await results.next() == "1 cancelled")
        waiters.wakeAll()
        #expect(await [results.next(), results.next()].sorted() == ["0 woken", "2 woken"])
    }

    @Test func `Who was cancelled before does not wait`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = wait(waiters, 0, results)
        task.cancel()
        #expect(await results.next() == "0 cancelled")
        #expect(waiters.isEmpty)
    }

    @Test func `A cancellation that comes too late does nothing`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = wait(waiters, 0, results)
        await turns(1)
        waiters.wakeAll()
        task.cancel()
        await task.value
        await turns(1)
        #expect(results.waiting == ["0 woken"])
    }

    @Test func `Who waits again waits for the next time`() async {
        let (waiters, results) = (Waiters(), Mail<String>())
        let task = Task {
            for number in 0..<2 { await wait(waiters, number, results).value }
        }
        while waiters.isEmpty { await turns(1) }
        waiters.wakeAll()
        #expect(await results.next() == "0 woken")
        while waiters.isEmpty { await turns(1) }
        #expect(results.waiting.isEmpty)
        waiters.wakeAll()
        await task.value
        #expect(results.waiting == ["1 woken"])
        waiters.wakeAll()
    }
}
