import Synchronization

/// Owns a state like `Mutex`, but for work that may block: pieces of work run in order, one at a time, on shared
/// threads that are occupied only while there is work.
public final class SerialQueue<State: ~Copyable>: Sendable {
    public typealias Work = @Sendable (inout State) -> Void

    private struct Inbox: Sendable {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let threads: WorkerThreads
    private let inbox = Mutex(Inbox())
    /// Sound: only `run` uses the state, `isRunning` admits one run at a time, and `inbox` orders successive runs.
    private nonisolated(unsafe) var state: State

    public init(on threads: WorkerThreads, _ state: consuming sending State) {
        self.threads = threads
        self.state = state
    }

    public func submit(_ work: @escaping Work) {
        if enqueue(work) { threads.submit { [self] in runAll() } }
    }

    /// Adds work that runs before the next submitted work, which saves waking a thread for it alone.
    public func append(_ work: @escaping Work) { inbox.withLock { $0.waiting.append(work) } }

    /// Submits work from a thread that may block. If the queue is idle, the work runs on this thread, which saves
    /// waking another one.
    public func submitHere(_ work: @escaping Work) {
        guard enqueue(work), let batch = takeBatch() else { return }
        run(batch)
        guard let rest = takeBatch() else { return }
        threads.submit { [self] in
            run(rest)
            runAll()
        }
    }

    /// Returns the result of `work`, which runs after all work that was submitted before.
    public func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (inout State) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { waiter in
            submit { state in waiter.resume(returning: Result { () throws(Failure) in try work(&state) }) }
        }
        return try result.get()
    }

    /// Returns whether the caller must start the queue.
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

    /// All waiting work, the last first. Nil if there is none.
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
