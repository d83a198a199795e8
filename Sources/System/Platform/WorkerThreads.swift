/// Threads for work that blocks: at most `limit`, started when needed, one queue.
///
/// Where the system starts no more threads those that there are do all the work; the first one is tried again until it
/// starts, and work waits for it. The threads end when all work is done after the last use of this object.
///
/// With a limit of one it is an executor too: an actor on it may block without hurting anybody else.
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

    /// Waits in line for a thread; never for the work.
    public func submit(_ work: @escaping Work) { pool.submit(work) }

    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { waiter in
            submit { waiter.resume(returning: work()) }
        }
    }
}

/// What the threads hold.
private final class WorkerPool: Sendable {
    fileprivate struct State {
        var queue = Queue<WorkerThreads.Work>()
        var threads = 0
        /// The loop tries to start the first thread.
        var isRetrying = false
        /// Nobody submits work any more.
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
        // Outside of the lock, which the thread that wakes takes first.
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

    /// Whether one works by now, for which this may be the moment to start.
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

    /// Blocks until there is work. Nil where there will be none.
    private func nextWork() -> WorkerThreads.Work? {
        state.waitAndLock {
            !$0.queue.isEmpty || $0.isEnding
        } _: {
            $0.queue.popFirst()
        }
    }
}
