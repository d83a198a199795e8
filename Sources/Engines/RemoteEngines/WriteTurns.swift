import Platform
import Storage
import Synchronization

/// Lets the writes to one object through one at a time, where the service does not compare: no other write of this
/// process then comes between a comparison and the request that relies on it.
final class WriteTurns: Sendable {
    private enum End {
        case begun
        case cancelled
        case late
    }

    private struct Waiter {
        let number: Int
        let end: CheckedContinuation<End, Never>
    }

    /// The writes that wait for a turn, by objects of which one is being written.
    private let waiting = Mutex<[Reference: [Waiter]]>([:])
    private let lastNumber = Atomic(0)
    private let ended = Mutex(EndedWrites())

    /// The number of writes that have ended.
    var endedWrites: Int { ended.withLock { $0.count } }

    /// The turns of those objects that are not being written, and were not written since a number of writes had ended.
    func beginAtOnce(
        _ references: [Reference], unlessWrittenAfter writes: Int
    ) -> [(reference: Reference, turn: WriteTurn)] {
        let free = waiting.withLock { waiting in
            references.filter { reference in
                guard waiting[reference] == nil else { return false }
                waiting[reference] = []
                return true
            }
        }
        let turns = free.map { reference in
            (reference: reference, turn: WriteTurn { [self] in passOn(reference) })
        }
        // A turn that is left out ends with its last reference. A write that has ended was noted before its turn was free.
        guard let written = ended.withLock({ $0.objects(after: writes) }) else { return [] }
        return turns.filter { !written.contains($0.reference) }
    }

    /// Waits until the earlier writes to an object have ended. Throws if the write is cancelled meanwhile, or once the limit
    /// has passed.
    func begin(
        _ reference: Reference, within limit: Duration, by clock: any Clock<Duration>
    ) async throws(StorageError) -> WriteTurn {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let end = await withTaskCancellationHandler {
            var alarm: Task<Void, Never>?
            defer { alarm?.cancel() }
            return await withCheckedContinuation { waiter in
                let end: End? = waiting.withLock { waiting in
                    guard let others = waiting[reference] else {
                        waiting[reference] = []
                        return .begun
                    }
                    if Task.isCancelled { return .cancelled }
                    waiting[reference] = others + [Waiter(number: number, end: waiter)]
                    return nil
                }
                if let end { return waiter.resume(returning: end) }
                alarm = Loop.task { [self] in
                    do { try await clock.sleep(for: limit) } catch { return }
                    leave(reference, number, .late)
                }
            }
        } onCancel: {
            leave(reference, number, .cancelled)
        }
        switch end {
        case .begun: return WriteTurn { [self] in self.end(reference) }
        case .cancelled: throw StorageError(.cancelled, "The write was cancelled before its turn.")
        case .late:
            throw StorageError(.unknown, "An earlier write to \(reference.url) has not ended.").with(\.retryable, true)
                .about(reference)
        }
    }

    private func leave(_ reference: Reference, _ number: Int, _ end: End) {
        let waiter = waiting.withLock { waiting in
            waiting[reference]?.firstIndex { $0.number == number }.map { waiting[reference]?.remove(at: $0) }
        }
        waiter??.end.resume(returning: end)
    }

    private func end(_ reference: Reference) {
        ended.withLock { $0.note(reference) }
        passOn(reference)
    }

    private func passOn(_ reference: Reference) {
        let next = waiting.withLock { waiting -> Waiter? in
            guard waiting[reference]?.isEmpty == false else {
                waiting[reference] = nil
                return nil
            }
            return waiting[reference]?.removeFirst()
        }
        next?.end.resume(returning: .begun)
    }
}

/// The objects of the latest writes that have ended.
private struct EndedWrites {
    private static let most = 4096

    private(set) var count = 0
    /// The object of write `n` is at `n % most`.
    private var latest: [Reference] = []

    mutating func note(_ reference: Reference) {
        if latest.count < Self.most { latest.append(reference) } else { latest[count % Self.most] = reference }
        count += 1
    }

    /// The objects of the writes after the first ones; nil if they are too many.
    func objects(after writes: Int) -> Set<Reference>? {
        guard count - writes <= Self.most else { return nil }
        return Set((writes..<max(writes, count)).map { latest[$0 % Self.most] })
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
    /// The turn of a write; nil if the service itself compares. The wait takes no longer than the caller's retry time, but
    /// not before a second has passed.
    func turn(of reference: Reference, for caller: Caller) async throws(StorageError) -> WriteTurn? {
        guard !dialect.bindsWrites else { return nil }
        return try await turns.begin(reference, within: max(caller.retryTime, .seconds(1)), by: time.clock)
    }
}
