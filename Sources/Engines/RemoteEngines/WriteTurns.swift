import Platform
import Storage
import Synchronization

/// Lets the writes to one object through one at a time, where the service does not compare: no other write of this
/// process then comes between a comparison and the request that relies on it.
final class WriteTurns: Sendable {
    private struct Waiter {
        let number: Int
        let begin: CheckedContinuation<Bool, Never>
    }

    /// The writes that wait for a turn, by objects of which one is being written.
    private let waiting = Mutex<[Reference: [Waiter]]>([:])
    private let lastNumber = Atomic(0)

    /// Waits until the earlier writes to an object have ended. Throws if the write is cancelled meanwhile.
    func begin(_ reference: Reference) async throws(StorageError) -> WriteTurn {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let isBegun = await withTaskCancellationHandler {
            await withCheckedContinuation { begin in
                let isBegun: Bool? = waiting.withLock { waiting in
                    guard let others = waiting[reference] else {
                        waiting[reference] = []
                        return true
                    }
                    if Task.isCancelled { return false }
                    waiting[reference] = others + [Waiter(number: number, begin: begin)]
                    return nil
                }
                if let isBegun { begin.resume(returning: isBegun) }
            }
        } onCancel: {
            let waiter = waiting.withLock { waiting in
                waiting[reference]?.firstIndex { $0.number == number }.map { waiting[reference]?.remove(at: $0) }
            }
            waiter??.begin.resume(returning: false)
        }
        guard isBegun else { throw StorageError(.cancelled, "The write was cancelled before its turn.") }
        return WriteTurn { [self] in end(reference) }
    }

    private func end(_ reference: Reference) {
        let next = waiting.withLock { waiting -> Waiter? in
            guard waiting[reference]?.isEmpty == false else {
                waiting[reference] = nil
                return nil
            }
            return waiting[reference]?.removeFirst()
        }
        next?.begin.resume(returning: true)
    }
}

/// The time in which one write compares and sends its request.
final class WriteTurn: Sendable {
    private let end: @Sendable () -> Void
    private let hasEnded = Atomic(false)

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    /// Lets the next write begin. May be called again.
    func done() { if !hasEnded.exchange(true, ordering: .relaxed) { end() } }

    deinit { done() }
}

extension RemoteBackend {
    /// The turn of a write; nil if the service itself compares.
    func turn(of reference: Reference) async throws(StorageError) -> WriteTurn? {
        dialect.bindsWrites ? nil : try await turns.begin(reference)
    }
}
