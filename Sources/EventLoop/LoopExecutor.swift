import CSystem
import Glibc
import Synchronization

/// Who is told that work waits for a thread that the system would not start.
public enum ThreadShortage {
    public static let report = Mutex<(@Sendable (String) -> Void)?>(nil)
}

/// Runs the loop's jobs one after the other on a thread of its own, which sleeps in the poller and nowhere else.
final class LoopExecutor: SerialExecutor {
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var asleep = false
        var retries: [@Sendable () -> Bool] = []
    }

    /// Between two tries of what the system would not do.
    private static let retryInterval: Duration = .milliseconds(100)

    let poller = csystem_poller()
    private let wakeUp = csystem_eventfd()
    private let inbox = Mutex(Inbox())
    /// Touched by the loop's thread alone.
    private nonisolated(unsafe) var queue: [UnownedJob] = []
    private nonisolated(unsafe) var turn: [UnownedJob] = []
    private nonisolated(unsafe) var nextRetry = ContinuousClock.now
    private let thread = Atomic(pthread_t())

    func start() throws(ThreadUnavailable) {
        csystem_poller_add(poller, wakeUp, UInt32(CSYSTEM_READABLE), 0)
        try startThread("loop", stackSize: 2 << 20) { [self] in
            thread.store(pthread_self(), ordering: .relaxed)
            while true { takeTurn() }
        }
    }

    /// Calls `attempt` ten times a second until it says that it has succeeded.
    func retry(after error: ThreadUnavailable, _ attempt: @escaping @Sendable () -> Bool) {
        ThreadShortage.report.withLock { $0 }?("\(error); work waits until one can be")
        inbox.withLock { $0.retries.append(attempt) }
        ring()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent { return queue.append(job) }
        let wake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.asleep = false }
            return inbox.asleep
        }
        if wake { ring() }
    }

    func checkIsolated() { precondition(isCurrent, "not on the loop") }

    /// Waits for descriptors, but only while there is no job to run.
    func poll(into ready: inout [csystem_ready]) -> Int {
        let timeout: Int32 = inbox.withLock { inbox in
            inbox.asleep = inbox.jobs.isEmpty && queue.isEmpty
            return !inbox.asleep ? 0 : inbox.retries.isEmpty ? -1 : 100
        }
        let count = csystem_poller_wait(poller, &ready, Int32(ready.count), timeout)
        if timeout != 0 { inbox.withLock { $0.asleep = false } }
        return max(0, Int(count))
    }

    func silence() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
    }

    private var isCurrent: Bool { pthread_equal(thread.load(ordering: .relaxed), pthread_self()) != 0 }

    private func ring() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }

    /// The jobs that are here now, then the descriptors: what those bring along comes in the next turn.
    private func takeTurn() {
        collect()
        Task { @Loop in Turns.shared.take() }
        swap(&queue, &turn)
        for job in turn { job.runSynchronously(on: asUnownedSerialExecutor()) }
        turn.removeAll(keepingCapacity: turn.capacity < 4096)
    }

    private func collect() {
        let due = inbox.withLock { inbox in
            if !inbox.jobs.isEmpty {
                queue += inbox.jobs
                inbox.jobs.removeAll(keepingCapacity: inbox.jobs.capacity < 4096)
            }
            return inbox.retries.isEmpty || ContinuousClock.now < nextRetry ? [] : exchange(&inbox.retries, with: [])
        }
        guard !due.isEmpty else { return }
        let failed = due.filter { !$0() }
        nextRetry = .now + Self.retryInterval
        inbox.withLock { $0.retries += failed }
    }
}
