import CSystem

/// Polls descriptors: each iteration ends with the scheduled work, a wait, and calls of the watchers whose descriptors
/// are ready.
@Loop
final class Poller {
    static let shared = Poller()
    /// No watcher has this tag: the event has ended the wait.
    nonisolated static let wakeUpTag: UInt64 = 0

    var endOfIteration: [@Loop () -> Void] = []
    /// Conditions that are called at the end of iterations until they return true.
    var conditions: [@Loop () -> Bool] = []
    /// The number of finished iterations.
    private(set) var count = 0
    private var watchers: [UInt64: DescriptorWatcher] = [:]
    private var lastTag: UInt64 = 0
    private var ready = [csystem_ready](repeating: csystem_ready(), count: 64)

    func add(_ watcher: DescriptorWatcher) -> UInt64 {
        lastTag += 1
        watchers[lastTag] = watcher
        return lastTag
    }

    func remove(_ tag: UInt64) { watchers[tag] = nil }

    func runIteration() {
        runScheduledWork()
        checkConditions()
        let count = Loop.shared.executor.poll(into: &ready)
        for event in ready.prefix(count) { notify(event) }
        self.count += 1
    }

    private func checkConditions() {
        guard !conditions.isEmpty, !Loop.shared.executor.hasJobs else { return }
        let waiting = conditions
        conditions = []
        conditions = waiting.filter { !$0() } + conditions
    }

    private func runScheduledWork() {
        while !endOfIteration.isEmpty {
            let work = endOfIteration
            endOfIteration.removeAll(keepingCapacity: true)
            for step in work { step() }
        }
    }

    private func notify(_ event: csystem_ready) {
        watchers[event.tag]?.handler(Readiness(rawValue: event.readiness))
    }
}
