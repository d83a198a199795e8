import EventLoop

/// Work that nobody waits for, unless the process ends.
@Loop
final class Errands {
    private var underWay = 0
    private lazy var done = Waiters()

    nonisolated init() {}

    func run(_ errand: @escaping @Loop () async -> Void) {
        underWay += 1
        Task {
            await errand()
            underWay -= 1
            if underWay == 0 { done.wakeAll() }
        }
    }

    func allDone() async {
        // What was asked for in this turn has begun by then.
        await Loop.endOfTurn()
        while underWay > 0 {
            do { try await done.wait() } catch { return }
        }
    }
}
