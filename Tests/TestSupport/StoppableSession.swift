import Platform
import Storage
import Synchronization

/// A session whose step in flight can be stopped, as by its task.
package final class StoppableSession<Strategy: TransferStrategy>: TransferSession {
    package let session: any TransferSession<Strategy>
    private let step = Mutex<Task<Strategy.Answer, Never>?>(nil)
    private let isPaused = Atomic(false)

    package init(_ session: any TransferSession<Strategy>) { self.session = session }

    package func perform(_ step: Strategy.Step, _ context: StepContext) async -> Strategy.Answer {
        isPaused.store(false, ordering: .relaxed)
        var context = context
        context.isPaused = { [self] in isPaused.load(ordering: .relaxed) }
        // An abort by the step itself waits until the task is known.
        let task = self.step.withLock { known in
            let task = Loop.task { [session, context] in await session.perform(step, context) }
            known = task
            return task
        }
        return await task.value
    }

    package func abort() { step.withLock { $0 }?.cancel() }

    package func stopSoon() {
        isPaused.store(true, ordering: .relaxed)
        abort()
    }

    package func discard() {
        abort()
        session.discard()
    }

    package func park() { session.park() }

    package func bookmark() async -> Bookmark? { await session.bookmark() }
}

extension Backend {
    package func stoppable(_ upload: Upload) -> StoppableSession<UploadStrategy> {
        StoppableSession(beginUpload(upload))
    }
}
