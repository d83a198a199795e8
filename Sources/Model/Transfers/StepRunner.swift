import Platform
import Storage
import Synchronization

/// Performs the steps of a transfer, one at a time. A stop cancels the Swift task of the step in flight. A step that is
/// stopped before it begins answers `aborted`.
@Loop final class StepRunner {
    /// Nil while no step is in flight.
    private var step: Task<Void, Never>?
    /// The number of steps that have ended.
    private var ended = 0
    private nonisolated let isPaused = Atomic(false)

    /// - Parameters:
    ///   - atOnce: the step begins before this returns.
    ///   - end: takes the answer, in a task that is not cancelled.
    func perform<Strategy: TransferStrategy>(
        _ step: Strategy.Step, by session: any TransferSession<Strategy>, _ flags: StepFlags = StepFlags(),
        atOnce: Bool = false, report: @escaping @Sendable (Progress) -> Void = { _ in },
        then end: @escaping @Loop (Strategy.Answer) async -> Void
    ) {
        isPaused.store(false, ordering: .relaxed)
        let context = StepContext(flags, report: report) { [self] in
            isPaused.load(ordering: .relaxed)
        }
        let work: @Loop () async -> Void = { [self] in
            let answer = Task.isCancelled ? .aborted : await session.perform(step, context)
            self.step = nil
            ended += 1
            if Task.isCancelled { Loop.task { await end(answer) } } else { await end(answer) }
        }
        let endedBefore = ended
        let task = atOnce ? Loop.immediateTask(work) : Loop.task(work)
        // A step that begins at once may have ended here, and `end` may have begun the next one.
        if ended == endedBefore { self.step = task }
    }

    func stop(isPause: Bool = false) {
        isPaused.store(isPause, ordering: .relaxed)
        step?.cancel()
    }
}
