/// Work that nobody waits for, unless the process ends.
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
        // What was asked for in this turn has begun by then.
        await Loop.nextIteration()
        while underWay > 0 {
            do { try await done.wait() } catch { return }
        }
    }
}
