/// A lock that a task on the loop holds while it waits for something else.
@Loop
public final class LoopMutex {
    private var isLocked = false
    private let unlocked = Waiters()

    public init() {}

    /// Throws `CancellationError` when the waiting task is cancelled before.
    public func lock() async throws {
        while isLocked { try await unlocked.wait() }
        isLocked = true
    }

    public func unlock() {
        isLocked = false
        unlocked.wakeAll()
    }
}
