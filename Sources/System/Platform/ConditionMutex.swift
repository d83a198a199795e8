import Glibc

/// A lock that owns the state it guards, and lets threads wait for changes of it.
///
/// Unlike `Mutex` it stays fast when many threads want it at once.
final class ConditionMutex<State>: @unchecked Sendable {
    // Sound: the state and the count are used only under the lock.
    private var state: State
    /// The number of threads that wait for a change of the state.
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

    /// Blocks until `isReady` holds, then runs the closure under the lock.
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

    /// Wakes one waiting thread.
    func signal() { pthread_cond_signal(condition) }

    /// Wakes all waiting threads.
    func signalAll() { pthread_cond_broadcast(condition) }
}
