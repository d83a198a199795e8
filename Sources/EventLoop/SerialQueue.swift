import Synchronization

/// Runs work in order, one piece at a time, on threads that it shares with others and holds only while there is work.
public final class SerialQueue: Sendable {
    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let threads: WorkerThreads
    private let state = Mutex(State())

    public init(on threads: WorkerThreads) { self.threads = threads }

    public func submit(_ work: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { threads.submit { [self] in runAll() } }
    }

    private func runAll() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
