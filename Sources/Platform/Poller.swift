import CSystem

/// The loop's turns: finish the last one, wait for descriptors, tell their watches, let the jobs run.
@Loop
final class Poller {
    static let shared = Poller()

    var endOfIteration: [@Loop () -> Void] = []
    /// Those that are over.
    private(set) var count = 0
    private var watches: [UInt64: Watch] = [:]
    private var lastTag: UInt64 = 0
    private var ready = [csystem_ready](repeating: csystem_ready(), count: 64)

    func add(_ watch: Watch) -> UInt64 {
        lastTag += 1
        watches[lastTag] = watch
        return lastTag
    }

    func remove(_ tag: UInt64) { watches[tag] = nil }

    func runIteration() {
        finish()
        let count = Loop.shared.executor.poll(into: &ready)
        for news in ready.prefix(count) { tell(news) }
        self.count += 1
    }

    private func finish() {
        while !endOfIteration.isEmpty {
            let work = endOfIteration
            endOfIteration.removeAll(keepingCapacity: true)
            for step in work { step() }
        }
    }

    private func tell(_ news: csystem_ready) {
        if news.tag == 0 { return Loop.shared.executor.silence() }
        watches[news.tag]?.handler(Readiness(rawValue: news.readiness))
    }
}
