/// Tasks on the loop that wait for an event. Each can be cancelled separately.
@Loop
public final class Waiters {
    private var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastNumber = 0

    public nonisolated init() {}

    public var isEmpty: Bool { waiting.isEmpty }

    /// Returns at the next `wakeAll`. Throws `CancellationError` if the waiting task is cancelled before.
    public func wait() async throws {
        lastNumber += 1
        let number = lastNumber
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting[number] = $0 }
        } onCancel: {
            Task { @Loop in self.waiting.removeValue(forKey: number)?.resume(throwing: CancellationError()) }
        }
    }

    /// Wakes the tasks in the order in which they began to wait; on their way back to the loop they may overtake one
    /// another.
    public func wakeAll() {
        guard !waiting.isEmpty else { return }
        let woken = waiting.sorted { $0.key < $1.key }
        waiting.removeAll()
        for (_, waiter) in woken { waiter.resume() }
    }
}
