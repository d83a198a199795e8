import Storage
import Synchronization

/// One step of an upload on its way to its answer, which is given once.
///
/// An abort answers at once, whatever the thread that does the work is stuck in; that thread finds out later.
/// Only a commit that has begun can no longer be aborted.
final class Attempt: Sendable {
    private enum Phase { case running, committing, answered }

    private struct State {
        var phase = Phase.running
        var waiter: CheckedContinuation<UploadMachine.Answer, Never>?
    }

    private let state: Mutex<State>

    init(_ waiter: CheckedContinuation<UploadMachine.Answer, Never>) {
        state = Mutex(State(waiter: waiter))
    }

    var isAborted: Bool { state.withLock { $0.phase == .answered } }

    func answer(_ answer: UploadMachine.Answer) {
        let waiter = state.withLock { state in
            state.phase = .answered
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }

    func abort() {
        let isCommitting = state.withLock { $0.phase == .committing }
        if !isCommitting { answer(.aborted) }
    }

    /// True where nobody has aborted it, and from then on nobody can.
    func mayCommit() -> Bool {
        state.withLock { state in
            if state.phase == .running { state.phase = .committing }
            return state.phase == .committing
        }
    }
}
