/// Work whose end only the end of the process waits for.
@Loop
package final class BackgroundWork {
    private var underWay = 0
    private lazy var done = Waiters()

    package nonisolated init() {}

    package func run(_ work: @escaping @Loop () async -> Void) {
        underWay += 1
        Loop.task { [self] in
            await work()
            underWay -= 1
            if underWay == 0 { done.wakeAll() }
        }
    }

    package func allDone() async {
        // Work that was requested in this iteration has begun in the next one.
        await Loop.nextIteration()
        while underWay > 0 {
            do { try await done.wait() } catch { return }
        }
    }
}
