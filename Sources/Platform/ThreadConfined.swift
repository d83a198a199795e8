import Glibc
import Synchronization

/// Owns a state that one thread alone may touch: the thread that called `bind`. Any other is stopped.
final class ThreadConfined<State: ~Copyable>: Sendable {
    private let owner = Atomic(pthread_t())
    /// Sound: `withState` alone touches it, on one thread.
    private nonisolated(unsafe) var state: State

    init(_ state: consuming sending State) { self.state = state }

    /// Makes the calling thread the owner, for good.
    func bind() {
        precondition(owner.exchange(pthread_self(), ordering: .relaxed) == pthread_t(), "it has an owner")
    }

    var isOwned: Bool { pthread_equal(owner.load(ordering: .relaxed), pthread_self()) != 0 }

    func withState<Result>(_ body: (inout State) -> sending Result) -> sending Result {
        precondition(isOwned, "not on the thread that owns the state")
        return body(&state)
    }
}
