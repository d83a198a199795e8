import Synchronization

/// One step of a transfer, which is answered once.
///
/// An abort answers at once, even if the working thread is blocked; that thread notices later. A commit that has begun
/// cannot be aborted.
package final class AbortableStep<Answer: Sendable>: Sendable {
    private enum Phase { case running, committing, answered }

    private struct State {
        var phase = Phase.running
        var waiter: CheckedContinuation<Answer, Never>?
    }

    private let state = Mutex(State())
    private let aborted: Answer

    private init(aborted: Answer) { self.aborted = aborted }

    /// Returns the answer to the step that `begin` begins; or `aborted`, unless the step ignores the cancellation of the
    /// Swift task.
    package static func answer(
        aborted: Answer, _ begin: (AbortableStep) -> Void,
        onCancel: @escaping @Sendable (AbortableStep) -> Void = { $0.abort() }
    ) async -> Answer {
        let step = AbortableStep(aborted: aborted)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if step.wait(waiter) { begin(step) } else { waiter.resume(returning: aborted) }
            }
        } onCancel: {
            onCancel(step)
        }
    }

    /// False if the step is aborted already.
    private func wait(_ waiter: CheckedContinuation<Answer, Never>) -> Bool {
        state.withLock { state in
            guard state.phase == .running else { return false }
            state.waiter = waiter
            return true
        }
    }

    package var isAborted: Bool { state.withLock { $0.phase == .answered } }

    package func answer(_ answer: Answer) { end(with: answer, unlessCommitting: false) }

    package func abort() { end(with: aborted, unlessCommitting: true) }

    /// Checks and sets the phase under one lock: otherwise a commit could begin in between, and an abort would hide its
    /// outcome.
    private func end(with answer: Answer, unlessCommitting: Bool) {
        let waiter: CheckedContinuation<Answer, Never>? = state.withLock { state in
            if unlessCommitting, state.phase == .committing { return nil }
            state.phase = .answered
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }

    /// Whether the commit may begin: true unless the step was aborted. Afterwards it cannot be aborted.
    package func mayCommit() -> Bool {
        state.withLock { state in
            if state.phase == .running { state.phase = .committing }
            return state.phase == .committing
        }
    }
}
