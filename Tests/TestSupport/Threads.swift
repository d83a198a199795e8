import Platform

/// Starts a thread; a test cannot do without it.
package func startTestThread(
    _ name: StaticString, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void
) {
    do throws(ThreadUnavailable) {
        try startThread(name, stackSize: stackSize, body)
    } catch {
        fatalError("\(error)")
    }
}

/// Runs what blocks on a thread of its own, within the task of the test: failures belong to the test, and its
/// cancellation can be seen.
package func onThread<Result: Sendable, Failure>(
    _ body: @escaping @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
    try await withTaskExecutorPreference(ThreadPerJob()) { () async throws(Failure) in try await runHere(body) }
}

/// Leaves the actor of the caller, for an executor preference applies to code without an actor only.
@concurrent private func runHere<Result: Sendable, Failure>(
    _ body: @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
    try body()
}

/// Runs each job on a thread of its own.
private final class ThreadPerJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        startTestThread("test", stackSize: 4 << 20) { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs the body for all elements concurrently, so that waits for limits of real time do not add up.
package func forEachAtOnce<Element: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
    try await withThrowingTaskGroup { group in
        for element in elements { group.addTask { try await body(element) } }
        try await group.waitForAll()
    }
}
