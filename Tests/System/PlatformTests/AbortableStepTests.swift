import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog) struct AbortableStepTests {
    private let thread = WorkerThreads("commits")

    @Test func `An abort beside the begin of a commit does not hide the outcome of the commit`() async {
        for round in 0..<20_000 {
            let mayCommit = Mutex<Bool?>(nil)
            let done = Signal()
            let answer = await withCheckedContinuation { (waiter: CheckedContinuation<String, Never>) in
                let step = AbortableStep(waiter, aborted: "aborted")
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
}
