import Synchronization

/// Owns a state as `Mutex` does, but gives it to work that may block: in order, one piece at a time, on threads that it
/// shares with others and holds only while there is work.
public final class SerialQueue<State: ~Copyable>: Sendable {
    public typealias Work = @Sendable (inout State) -> Void

    private struct Inbox: Sendable {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let threads: WorkerThreads
    private let inbox = Mutex(Inbox())
    /// Sound: only `run` touches it, which `isRunning` lets run once at a time, and `inbox` orders one run after the
    /// other.
    private nonisolated(unsafe) var state: State

    public init(on threads: WorkerThreads, _ state: consuming sending State) {
        self.threads = threads
        self.state = state
    }

    public func submit(_ work: @escaping Work) {
        if enqueue(work) { threads.submit { [self] in runAll() } }
    }

    /// The same, for a caller on a thread that may block. Where the queue is idle the work runs on this thread, which
    /// saves waking another one.
    public func submitHere(_ work: @escaping Work) {
        guard enqueue(work), let batch = takeBatch() else { return }
        run(batch)
        guard let rest = takeBatch() else { return }
        threads.submit { [self] in
            run(rest)
            runAll()
        }
    }

    /// What `work` returns, behind all work that was submitted before.
    public func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (inout State) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { waiter in
            submit { state in waiter.resume(returning: Result { () throws(Failure) in try work(&state) }) }
        }
        return try result.get()
    }

    /// Returns whether the caller has to start the queue.
    private func enqueue(_ work: @escaping Work) -> Bool {
        inbox.withLock { inbox in
            inbox.waiting.append(work)
            defer { inbox.isRunning = true }
            return !inbox.isRunning
        }
    }

    private func runAll() {
        while let batch = takeBatch() { run(batch) }
    }

    private func run(_ batch: consuming [Work]) {
        while let work = batch.popLast() { work(&state) }
    }

    /// All that waits, the last first. Nil where there is nothing.
    private func takeBatch() -> [Work]? {
        inbox.withLock { inbox in
            guard !inbox.waiting.isEmpty else {
                inbox.isRunning = false
                return nil
            }
            return exchange(&inbox.waiting, with: []).reversed()
        }
    }
}
