import Platform

/// Ends waits that take too long. Setting and clearing a deadline take constant time: all deadlines of a kind have the
/// same length, so each kind has a queue in which the first deadline is the earliest. One task sleeps until that one.
@Loop
final class Deadlines {
    enum Kind: Int, CaseIterable { case head, idle, stall, linger, body }

    private let lengths: [Duration]
    let now: () -> Duration
    private let sleepUntil: (Duration) async throws -> Void
    private var queues = Kind.allCases.map { _ in DeadlineQueue() }
    private var sleeper: Task<Void, Never>?
    private var wakesAt: Duration?
    private var isOpen = true

    init<C: Clock<Duration>>(_ limits: HTTPServerLimits, clock: C) {
        lengths = [limits.headTime, limits.idleTime, limits.stallTime, limits.lingerTime, limits.stallTime]
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    /// Sets the deadline, and replaces an earlier one.
    func set(_ deadline: Deadline, _ kind: Kind) {
        clear(deadline)
        guard isOpen else { return }
        let due = now() + lengths[kind.rawValue]
        deadline.due = due
        queues[kind.rawValue].append(deadline)
        if wakesAt.map({ due < $0 }) ?? true { wake(at: due) }
    }

    func clear(_ deadline: Deadline) { deadline.queue?.remove(deadline) }

    /// The earliest deadline of this kind.
    func first(_ kind: Kind) -> Deadline? { queues[kind.rawValue].first }

    func close() {
        isOpen = false
        sleeper?.cancel()
        sleeper = nil
    }

    private func wake(at due: Duration) {
        sleeper?.cancel()
        wakesAt = due
        sleeper = Task { [weak self, sleepUntil] in
            do { try await sleepUntil(due) } catch { return }
            if !Task.isCancelled { self?.look() }
        }
    }

    private func look() {
        let time = now()
        for queue in queues {
            while let first = queue.first, first.due <= time {
                queue.remove(first)
                first.expire()
            }
        }
        wakesAt = nil
        if let next = queues.compactMap({ $0.first?.due }).min() { wake(at: next) }
    }
}

/// A deadline, in the queue of its kind while it is set.
@Loop
final class Deadline {
    fileprivate(set) var due = Duration.zero
    fileprivate var queue: DeadlineQueue?
    fileprivate var next: Deadline?
    fileprivate unowned var previous: Deadline?
    let expire: () -> Void

    init(_ expire: @escaping () -> Void) { self.expire = expire }
}

@Loop
private final class DeadlineQueue {
    private(set) var first: Deadline?
    private var last: Deadline?

    func append(_ deadline: Deadline) {
        deadline.queue = self
        deadline.previous = last
        if let last { last.next = deadline } else { first = deadline }
        last = deadline
    }

    func remove(_ deadline: Deadline) {
        if let previous = deadline.previous { previous.next = deadline.next } else { first = deadline.next }
        if let next = deadline.next { next.previous = deadline.previous } else { last = deadline.previous }
        (deadline.queue, deadline.next, deadline.previous) = (nil, nil, nil)
    }
}
