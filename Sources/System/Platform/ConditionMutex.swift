import Glibc

/// A lock that owns what it guards, and lets threads wait until that has changed.
///
/// Unlike `Mutex` it stays fast where many threads want it at once.
final class ConditionMutex<State>: @unchecked Sendable {
    // Sound: both are touched within the lock alone.
    private var state: State
    /// Threads that wait for the state to change.
    private var waiting = 0
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State, _ waiting: Int) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state, waiting)
    }

    /// Blocks until `isReady`.
    func waitAndLock<Result>(
        until isReady: (borrowing State) -> Bool, _ body: (inout State) -> sending Result
    ) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        waiting += 1
        while !isReady(state) { pthread_cond_wait(condition, mutex) }
        waiting -= 1
        return body(&state)
    }

    /// Wakes one thread that waits.
    func signal() { pthread_cond_signal(condition) }

    /// Wakes all threads that wait.
    func signalAll() { pthread_cond_broadcast(condition) }
}
