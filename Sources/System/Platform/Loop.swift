import Dispatch
import Synchronization

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

    /// Throws if the system cannot start the loop's thread.
    public nonisolated static func start() throws(ThreadUnavailable) { try shared.started.get() }

    /// The executor of tasks whose continuations and child tasks resume directly on the loop.
    public nonisolated static var executor: any TaskExecutor { shared.executor.tasks }

    /// Starts a task on the loop's `executor`.
    @discardableResult
    public nonisolated static func task<Success: Sendable>(
        _ work: @escaping @Loop () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: executor, operation: work)
    }

    /// Starts a task on the loop's `executor` and runs it at once, up to its first wait. `Task.immediate` would enqueue
    /// a task that prefers an executor.
    @Loop @discardableResult
    public static func immediateTask<Success: Sendable>(
        _ work: @escaping @Loop () async -> Success
    ) -> Task<Success, Never> {
        shared.executor.runImmediately { task(work) }
    }

    /// Resumes a task of the loop's `executor` and runs it at once, up to its next wait. Otherwise it would run in the
    /// next iteration.
    @Loop public static func resume<Value: Sendable>(
        _ waiter: UnsafeContinuation<Value, Never>, returning value: Value
    ) {
        shared.executor.runImmediately { waiter.resume(returning: value) }
    }

    /// Runs `work` on the loop and blocks this thread until it ends. To be called only on threads that may block.
    public nonisolated static func wait<Success: Sendable, Failure>(
        for work: @escaping @Sendable @Loop () async throws(Failure) -> Success
    ) throws(Failure) -> Success {
        let outcome = Mutex<Result<Success, Failure>?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        task {
            let result: Result<Success, Failure>
            do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            isDone.signal()
        }
        while true {
            isDone.wait()
            if let result = outcome.withLock({ $0 }) { return try result.get() }
        }
    }

    /// The number of this iteration, which runs jobs, then the work for its end, then descriptors.
    @Loop public static var iteration: Int { Poller.shared.count }

    /// Runs `work` once, after the jobs of this iteration and before the loop waits again, for example to write several
    /// answers together.
    @Loop public static func atEndOfIteration(_ work: @escaping @Loop () -> Void) {
        Poller.shared.endOfIteration.append(work)
    }

    /// Returns once the condition holds at the end of an iteration that leaves no jobs, so that no work on the loop is
    /// about to change it.
    @Loop public static func whenIdle(_ condition: @escaping @Loop () -> Bool) async {
        await withCheckedContinuation { waiter in
            Poller.shared.conditions.append {
                guard condition() else { return false }
                waiter.resume()
                return true
            }
        }
    }

    /// Returns in the next iteration, after other jobs and ready descriptors.
    @Loop public static func nextIteration() async {
        await withCheckedContinuation { waiter in atEndOfIteration { waiter.resume() } }
    }
}
