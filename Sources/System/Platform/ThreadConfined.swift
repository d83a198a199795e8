import CSystem
import Synchronization

/// Owns state that only the thread that has called `bind` may access. An access by another thread traps.
final class ThreadConfined<State: ~Copyable>: Sendable {
    private let owner = Atomic<UInt64>(0)
    /// Sound: only `withState` accesses the state, on one thread.
    private nonisolated(unsafe) var state: State

    init(_ state: consuming sending State) { self.state = state }

    /// Makes the calling thread the only owner.
    func bind() {
        let former = owner.exchange(csystem_thread(), ordering: .relaxed)
        precondition(former == 0, "it has an owner")
    }

    var isOwned: Bool { owner.load(ordering: .relaxed) == csystem_thread() }

    func withState<Result>(_ body: (inout State) -> sending Result) -> sending Result {
        precondition(isOwned, "not on the thread that owns the state")
        return body(&state)
    }
}
