/// A lock that a task on the loop can hold while it waits for something else.
@Loop
public final class LoopMutex {
    private var isLocked = false
    private let unlocked = Waiters()

    public init() {}

    /// Throws `CancellationError` if the waiting task is cancelled.
    public func lock() async throws {
        while isLocked { try await unlocked.wait() }
        isLocked = true
    }

    public func unlock() {
        isLocked = false
        unlocked.wakeAll()
    }
}
