/// Threads for work that blocks: at most `limit`, started when needed, one queue.
///
/// Where the system starts no more threads those that there are do all the work; the first one is tried again until it
/// starts, and work waits for it.
///
/// With a limit of one it is an executor too: an actor on it may block without hurting anybody else.
public final class WorkerThreads: SerialExecutor {
    public typealias Work = @Sendable () -> Void

    fileprivate struct State {
        var queue: [Work] = []
        var next = 0
        var threads = 0
        /// The loop tries to start the first thread.
        var isRetrying = false

        var waiting: Int { queue.count - next }
    }

    private let name: StaticString
    private let limit: Int
    private let start: ThreadStarter
    private let state = ConditionMutex(State())

    public convenience init(_ name: StaticString, limit: Int = 1) {
        self.init(name, limit: limit, start: systemThreads)
    }

    package init(_ name: StaticString, limit: Int, start: @escaping ThreadStarter) {
        self.name = name
        self.limit = limit
        self.start = start
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Waits in line for a thread; never for the work.
    public func submit(_ work: @escaping Work) {
        let (needsThread, hasIdle) = state.withLock { state, idle in
            state.queue.append(work)
            guard state.waiting > idle, state.threads < limit else { return (false, idle > 0) }
            state.threads += 1
            return (true, idle > 0)
        }
        // Outside of the lock, which the thread that wakes takes first.
        if hasIdle { state.signal() }
        if needsThread { addThread() }
    }

    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { waiter in
            submit { waiter.resume(returning: work()) }
        }
    }

    private func addThread() {
        do throws(ThreadUnavailable) {
            try start(name, 512 << 10) { [self] in workForEver() }
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

    private func workForEver() {
        while true {
            state.waitAndLock {
                $0.waiting > 0
            } _: {
                $0.take()
            }()
        }
    }
}

extension WorkerThreads.State {
    fileprivate mutating func take() -> WorkerThreads.Work {
        let work = queue[next]
        queue[next] = {}
        next += 1
        if next == queue.count || next > 1024 {
            queue.removeFirst(next)
            next = 0
        }
        return work
    }
}
