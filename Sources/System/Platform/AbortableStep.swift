import Synchronization

/// One step of a transfer, which is answered once.
///
/// An abort answers at once, even if the working thread is blocked; that thread notices later. A commit that has begun
/// cannot be aborted.
package final class AbortableStep<Answer: Sendable>: Sendable {
    private let phase = Mutex(StepPhase.running)
    /// Sound: used only while `phase` is locked. A lock of both would have a generic type, which is looked up with each
    /// use.
    private nonisolated(unsafe) var waiter: UnsafeContinuation<Answer, Never>?
    private let aborted: Answer

    private init(aborted: Answer) { self.aborted = aborted }

    /// Returns the answer to the step that `begin` begins; or `aborted`, unless the step ignores the cancellation of the
    /// Swift task.
    @Loop package static func answer(
        aborted: Answer, _ begin: (AbortableStep) -> Void,
        onCancel: @escaping @Sendable (AbortableStep) -> Void = { $0.abort() }
    ) async -> Answer {
        let step = AbortableStep(aborted: aborted)
        let answer = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                if step.wait(waiter) { begin(step) } else { waiter.resume(returning: aborted) }
            }
        } onCancel: {
            onCancel(step)
        }
        // The lock shows the thread sanitizer the order that the continuation has made.
        step.phase.withLock { _ in }
        return answer
    }

    /// False if the step is aborted already.
    private func wait(_ waiter: UnsafeContinuation<Answer, Never>) -> Bool {
        phase.withLock { phase in
            guard phase == .running else { return false }
            self.waiter = waiter
            return true
        }
    }

    package var isAborted: Bool { phase.withLock { $0 == .answered } }

    package func answer(_ answer: Answer) { end(with: answer, unlessCommitting: false) }

    package func abort() { end(with: aborted, unlessCommitting: true) }

    /// Checks and sets the phase under one lock: otherwise a commit could begin in between, and an abort would hide its
    /// outcome.
    private func end(with answer: Answer, unlessCommitting: Bool) {
        let ended: UnsafeContinuation<Answer, Never>? = phase.withLock { phase in
            if unlessCommitting, phase == .committing { return nil }
            phase = .answered
            defer { waiter = nil }
            return waiter
        }
        ended?.resume(returning: answer)
    }

    /// Whether the commit may begin: true unless the step was aborted. Afterwards it cannot be aborted.
    package func mayCommit() -> Bool {
        phase.withLock { phase in
            if phase == .running { phase = .committing }
            return phase == .committing
        }
    }
}

private enum StepPhase { case running, committing, answered }
