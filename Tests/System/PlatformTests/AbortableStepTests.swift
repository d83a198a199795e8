import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog) struct AbortableStepTests {
    private let thread = WorkerThreads("commits")

    @Test @Loop func `An abort beside the begin of a commit does not hide the outcome of the commit`() async {
        for round in 0..<20_000 {
            let mayCommit = Mutex<Bool?>(nil)
            let done = Signal()
            let answer = await AbortableStep.answer(aborted: "aborted") { step in
                thread.submit {
                    let may = step.mayCommit()
                    mayCommit.withLock { $0 = may }
                    step.answer("committed")
                    done.fire()
                }
                // Moves the abort over the begin of the commit, round by round.
                for _ in 0..<round % 200 { _ = step.isAborted }
                step.abort()
            }
            await done.wait()
            #expect((answer == "committed") == mayCommit.withLock { $0 }, "round \(round)")
        }
    }

    @Test @Loop
    func `The cancellation of its Swift task aborts a step, and one before the step keeps it from beginning`()
        async throws
    {
        let begun = Mail<AbortableStep<String>>()
        let step = Task { await AbortableStep.answer(aborted: "aborted") { begun.deliver($0) } }
        _ = try await begun.next()
        step.cancel()
        #expect(await step.value == "aborted")
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await AbortableStep.answer(aborted: "aborted") { begun.deliver($0) }
        }
        #expect(await late.value == "aborted" && begun.waiting.isEmpty)
    }
}
