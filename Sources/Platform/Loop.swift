/// The one thread on which everything that a client can see happens: connections, tasks, observers.
///
/// A job may never block here; blocking work has threads of its own. Descriptors and Swift tasks
/// take turns, requests start in the order they came, and nothing needs a lock.
@globalActor
public actor Loop {
    public static let shared = Loop()

    nonisolated let executor = LoopExecutor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private nonisolated let started: Result<Void, ThreadUnavailable>

    private init() {
        started = Result { [executor] () throws(ThreadUnavailable) in try executor.start() }
    }

    /// Throws where the system has no thread for the loop: nothing will ever run on it.
    public nonisolated static func start() throws(ThreadUnavailable) { try shared.started.get() }

    /// Which iteration this is: the jobs that are here, what was left for the end of it, then the descriptors.
    @Loop public static var iteration: Int { Poller.shared.count }

    /// Runs once, after the jobs of this turn and before the loop waits again: the place to write a batch of answers.
    @Loop public static func atEndOfIteration(_ work: @escaping @Loop () -> Void) {
        Poller.shared.endOfIteration.append(work)
    }

    /// Returns in the next turn, when descriptors and other jobs have had theirs.
    @Loop public static func nextIteration() async {
        await withCheckedContinuation { waiter in atEndOfIteration { waiter.resume() } }
    }
}
