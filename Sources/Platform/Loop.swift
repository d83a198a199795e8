/// The event loop: the one thread that runs connections, tasks and observers.
///
/// A job must not block; blocking work runs on other threads. Each iteration runs the enqueued jobs, then handles ready
/// descriptors. Requests start in order, and no state needs a lock.
@globalActor
public actor Loop {
    public static let shared = Loop()

    nonisolated let executor = LoopExecutor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private nonisolated let started: Result<Void, ThreadUnavailable>

    private init() {
        started = Result { [executor] () throws(ThreadUnavailable) in try executor.start() }
    }

    /// Throws if the system starts no thread for the loop.
    public nonisolated static func start() throws(ThreadUnavailable) { try shared.started.get() }

    /// The executor of tasks whose continuations and child tasks resume on the loop, without a detour.
    public nonisolated static var executor: any TaskExecutor { shared.executor.tasks }

    /// Starts a task with that executor.
    @discardableResult
    public nonisolated static func task(_ work: @escaping @Loop () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor, operation: work)
    }

    /// The number of this iteration: jobs, then the work for its end, then descriptors.
    @Loop public static var iteration: Int { Poller.shared.count }

    /// Runs `work` once, after the jobs of this iteration and before the loop waits again, for example to write answers
    /// together.
    @Loop public static func atEndOfIteration(_ work: @escaping @Loop () -> Void) {
        Poller.shared.endOfIteration.append(work)
    }

    /// Returns in the next iteration, after other jobs and ready descriptors.
    @Loop public static func nextIteration() async {
        await withCheckedContinuation { waiter in atEndOfIteration { waiter.resume() } }
    }
}
