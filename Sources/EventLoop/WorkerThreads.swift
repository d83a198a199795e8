import Glibc

/// Threads for work that blocks: at most `limit`, started when needed, one queue.
///
/// Where the system starts no more threads those that there are do all the work; the first one is tried again until it
/// starts, and work waits for it.
///
/// With a limit of one it is an executor too: an actor on it may block without hurting anybody else.
public final class WorkerThreads: SerialExecutor, @unchecked Sendable {
    private let name: StaticString
    private let limit: Int
    private let start: ThreadStarter
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// Guarded by the mutex, as is everything below.
    private var queue: [@Sendable () -> Void] = []
    private var next = 0
    private var idle = 0
    private var threads = 0
    /// The loop tries to start the first thread.
    private var isRetrying = false

    public convenience init(_ name: StaticString, limit: Int = 1) {
        self.init(name, limit: limit, start: systemThreads)
    }

    package init(_ name: StaticString, limit: Int, start: @escaping ThreadStarter) {
        self.name = name
        self.limit = limit
        self.start = start
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Waits in line for a thread; never for the work.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        queue.append(work)
        let needsThread = queue.count - next > idle && threads < limit
        if needsThread { threads += 1 }
        if idle > 0 { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if needsThread { addThread() }
    }

    private func addThread() {
        do throws(ThreadUnavailable) {
            try start(name, 512 << 10) { [self] in workForEver() }
        } catch {
            pthread_mutex_lock(mutex)
            threads -= 1
            let mustRetry = threads == 0 && !isRetrying
            if mustRetry { isRetrying = true }
            pthread_mutex_unlock(mutex)
            if mustRetry { Loop.shared.executor.retry(after: error) { [self] in hasThread() } }
        }
    }

    /// Whether one works by now, for which this may be the moment to start.
    private func hasThread() -> Bool {
        pthread_mutex_lock(mutex)
        let mustStart = threads == 0
        if mustStart { threads = 1 } else { isRetrying = false }
        pthread_mutex_unlock(mutex)
        if mustStart { addThread() }
        return !mustStart
    }

    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { waiter in
            submit { waiter.resume(returning: work()) }
        }
    }

    private func workForEver() {
        while true { take()() }
    }

    private func take() -> @Sendable () -> Void {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        idle += 1
        while next == queue.count { pthread_cond_wait(condition, mutex) }
        idle -= 1
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
