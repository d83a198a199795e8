import CSystem
import Metrics
import Synchronization

/// Reports that work waits because the system cannot start a thread.
public enum ThreadShortage {
    /// The struct avoids that a generic lock wraps the closure once more in each access.
    private struct State { var report: (@Sendable (String) -> Void)? }
    private static let state = Mutex(State())

    public static var report: (@Sendable (String) -> Void)? {
        get { state.withLock { $0.report } }
        set { state.withLock { $0.report = newValue } }
    }
}

/// Runs the jobs of the loop on a thread that sleeps only in the poller.
final class LoopExecutor: SerialExecutor {
    fileprivate struct Job {
        let job: UnownedJob
        /// The task of the job prefers `LoopTaskExecutor`; without it, each return to the loop would cost an iteration.
        let prefersLoop: Bool
    }

    private struct Inbox {
        var jobs: [Job] = []
        var asleep = false
        var retries: [@Sendable () -> Bool] = []
    }

    private struct Iteration: Sendable {
        var queue: [Job] = []
        /// An empty queue, which is filled while the jobs of the other one run.
        var spare: [Job] = []
        var nextRetry = ContinuousClock.now
        /// When the poller last returned, in monotonic time; 0 before the first time.
        var began: Int64 = 0
        /// The next job is stored in `kept`, for `runImmediately`, instead of being queued.
        var keepsNextJob = false
        var kept: Job?
    }

    /// The pause between two attempts to start a thread.
    private static let retryInterval: Duration = .milliseconds(100)

    let poller = csystem_poller()
    private let wakeUp = csystem_event()
    private let inbox = Mutex(Inbox())
    private let iteration = ThreadConfined(Iteration())
    let tasks = LoopTaskExecutor()

    func start() throws(ThreadUnavailable) {
        csystem_poller_add_event(poller, wakeUp, Poller.wakeUpTag)
        try startThread("loop", stackSize: 2 << 20) { [self] in
            iteration.bind()
            while true { runIteration() }
        }
    }

    /// Calls `attempt` ten times a second until it succeeds.
    func retry(after error: ThreadUnavailable, _ attempt: @escaping @Sendable () -> Bool) {
        ThreadShortage.report?("\(error); work waits until one can be")
        inbox.withLock { $0.retries.append(attempt) }
        csystem_event_set(wakeUp)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        enqueue(Job(job: UnownedJob(job), prefersLoop: false))
    }

    fileprivate func enqueue(_ job: Job) {
        if iteration.isOwned {
            return iteration.withState { state in
                if exchange(&state.keepsNextJob, with: false) { state.kept = job } else { state.queue.append(job) }
            }
        }
        let wake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.asleep = false }
            return inbox.asleep
        }
        if wake { csystem_event_set(wakeUp) }
    }

    /// Runs the job that `start` enqueues within the current job.
    func runImmediately<Started>(_ start: () -> Started) -> Started {
        iteration.withState { $0.keepsNextJob = true }
        let started = start()
        let kept = iteration.withState { state in
            // A continuation that is resumed before its task waits enqueues no job.
            state.keepsNextJob = false
            return exchange(&state.kept, with: nil)
        }
        if let kept { run(kept) }
        return started
    }

    func checkIsolated() { precondition(iteration.isOwned, "not on the loop") }

    /// Whether jobs wait for the next iteration.
    var hasJobs: Bool { iteration.withState { !$0.queue.isEmpty } || inbox.withLock { !$0.jobs.isEmpty } }

    /// Stores the ready descriptors and returns their number; waits for them only if no job waits.
    func poll(into ready: inout [csystem_ready]) -> Int {
        let (hasJobs, began) = iteration.withState { (!$0.queue.isEmpty, $0.began) }
        if began > 0 { ProcessMetrics.iterations.record(nanoseconds: monotonicNow() - began) }
        let timeout: Int32 = inbox.withLock { inbox in
            inbox.asleep = inbox.jobs.isEmpty && !hasJobs
            return !inbox.asleep ? 0 : inbox.retries.isEmpty ? -1 : 100
        }
        let count = csystem_poller_wait(poller, &ready, Int32(ready.count), timeout)
        if timeout != 0 { inbox.withLock { $0.asleep = false } }
        iteration.withState { $0.began = monotonicNow() }
        return max(0, Int(count))
    }

    /// Runs the enqueued jobs, then handles descriptors. Jobs that these enqueue run in the next iteration.
    private func runIteration() {
        collect()
        var jobs = iteration.withState { state in exchange(&state.queue, with: exchange(&state.spare, with: [])) }
        for next in jobs { run(next) }
        jobs.removeAll(keepingCapacity: jobs.capacity < 4096)
        iteration.withState { $0.spare = jobs }
        Self.poll()
    }

    /// Sound: only the loop's thread calls it, between two jobs. A task would pass through the queue in each iteration.
    private static let poll: @Sendable () -> Void = {
        let poll: @Loop () -> Void = { Poller.shared.runIteration() }
        return unsafeBitCast(poll, to: (@Sendable () -> Void).self)
    }()

    private func run(_ job: Job) {
        if job.prefersLoop {
            job.job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: tasks.asUnownedTaskExecutor())
        } else {
            job.job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    private func collect() {
        let due: [@Sendable () -> Bool] = iteration.withState { state in
            inbox.withLock { inbox in
                if !inbox.jobs.isEmpty {
                    state.queue += inbox.jobs
                    inbox.jobs.removeAll(keepingCapacity: inbox.jobs.capacity < 4096)
                }
                guard !inbox.retries.isEmpty, ContinuousClock.now >= state.nextRetry else { return [] }
                state.nextRetry = .now + Self.retryInterval
                return exchange(&inbox.retries, with: [])
            }
        }
        let failed = due.filter { !$0() }
        if !failed.isEmpty { inbox.withLock { $0.retries += failed } }
    }
}

/// The executor of the loop's tasks. A continuation resumes on the executor of its task; without this one, it would
/// pass through a thread of Swift's global pool.
final class LoopTaskExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        Loop.shared.executor.enqueue(LoopExecutor.Job(job: UnownedJob(job), prefersLoop: true))
    }
}
