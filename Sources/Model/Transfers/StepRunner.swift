import Platform
import Storage
import Synchronization

/// Performs the steps of a transfer, one at a time. A stop cancels the Swift task of the step in flight; a step that has
/// not begun answers `aborted`.
@Loop final class StepRunner {
    private var step: Task<Void, Never>?
    private nonisolated let isPaused = Atomic(false)

    /// - Parameters:
    ///   - atOnce: the step begins before this returns.
    ///   - end: takes the answer, in a task that is not cancelled.
    func perform<Strategy: TransferStrategy>(
        _ step: Strategy.Step, by session: any TransferSession<Strategy>, replacesNewer: Bool = true,
        atOnce: Bool = false, report: @escaping @Sendable (Progress) -> Void = { _ in },
        then end: @escaping @Loop (Strategy.Answer) async -> Void
    ) {
        isPaused.store(false, ordering: .relaxed)
        let context = StepContext(replacesNewer: replacesNewer, report: report) { [self] in
            isPaused.load(ordering: .relaxed)
        }
        let work: @Loop () async -> Void = { [self] in
            let answer = Task.isCancelled ? .aborted : await session.perform(step, context)
            self.step = nil
            if Task.isCancelled { Loop.task { await end(answer) } } else { await end(answer) }
        }
        self.step = atOnce ? Loop.immediateTask(work) : Loop.task(work)
    }

    func stop(isPause: Bool = false) {
        isPaused.store(isPause, ordering: .relaxed)
        step?.cancel()
    }
}
