/// Threads for blocking work: at most `limit`, started on demand, with one queue.
///
/// If the system can start no more threads, the existing ones do all the work; the first one is retried until it
/// starts, and work waits for it. The threads end when this object is released and all work is done.
///
/// With a limit of one it is also an executor: an actor on it may block without affecting other work.
public final class WorkerThreads: SerialExecutor {
    public typealias Work = @Sendable () -> Void

    private let pool: WorkerPool

    public convenience init(_ name: StaticString, limit: Int = 1) {
        self.init(name, limit: limit, start: systemThreads)
    }

    package init(_ name: StaticString, limit: Int, start: @escaping ThreadStarter) {
        pool = WorkerPool(name, limit: limit, start)
    }

    deinit { pool.end() }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Queues work for a thread; never blocks.
    public func submit(_ work: @escaping Work) { pool.submit(work) }

    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { waiter in
            submit { waiter.resume(returning: work()) }
        }
    }
}

/// The state that the threads share.
private final class WorkerPool: Sendable {
    fileprivate struct State {
        var queue = Queue<WorkerThreads.Work>()
        var threads = 0
        /// The loop keeps trying to start the first thread.
        var isRetrying = false
        /// No more work is submitted.
        var isEnding = false
    }

    private let name: StaticString
    private let limit: Int
    private let start: ThreadStarter
    private let state = ConditionMutex(State())

    init(_ name: StaticString, limit: Int, _ start: @escaping ThreadStarter) {
        (self.name, self.limit, self.start) = (name, limit, start)
    }

    func end() {
        state.withLock { state, _ in state.isEnding = true }
        state.signalAll()
    }

    func submit(_ work: @escaping WorkerThreads.Work) {
        let (needsThread, hasIdle) = state.withLock { state, idle in
            state.queue.append(work)
            guard state.queue.count > idle, state.threads < limit else { return (false, idle > 0) }
            state.threads += 1
            return (true, idle > 0)
        }
        // Signals after unlocking, since the woken thread takes the lock first.
        if hasIdle { state.signal() }
        if needsThread { addThread() }
    }

    private func addThread() {
        do throws(ThreadUnavailable) {
            try start(name, 512 << 10) { [self] in work() }
        } catch {
            let mustRetry = state.withLock { state, _ in
                state.threads -= 1
                guard state.threads == 0, !state.isRetrying else { return false }
                state.isRetrying = true
                return true
            }
            if mustRetry { Loop.shared.executor.retry(after: error) { [self] in hasThread() } }
        }
    }

    /// Whether a thread exists. Otherwise tries to start the first one.
    private func hasThread() -> Bool {
        let mustStart = state.withLock { state, _ in
            guard state.threads == 0 else {
                state.isRetrying = false
                return false
            }
            state.threads = 1
            return true
        }
        if mustStart { addThread() }
        return !mustStart
    }

    private func work() {
        while let work = nextWork() { work() }
    }

    /// Blocks until there is work. Nil if there will be none.
    private func nextWork() -> WorkerThreads.Work? {
        state.waitAndLock {
            !$0.queue.isEmpty || $0.isEnding
        } _: {
            $0.queue.popFirst()
        }
    }
}
