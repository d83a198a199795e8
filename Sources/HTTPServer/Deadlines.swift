import Platform

/// Who has waited too long. However many wait, setting, moving and lifting a deadline take the same few steps, and the
/// clock wakes nobody before the earliest of them: each kind has a line of its own, in which everybody
/// joins at the end, so that the first one is always the first to be due.
@Loop
final class Deadlines {
    enum Kind: Int, CaseIterable { case head, idle, stall, linger }

    private let lengths: [Duration]
    private let now: () -> Duration
    private let sleepUntil: (Duration) async throws -> Void
    private var lines = Kind.allCases.map { _ in DeadlineQueue() }
    private var sleeper: Task<Void, Never>?
    private var wakesAt: Duration?
    private var isOpen = true

    init<C: Clock<Duration>>(_ limits: HTTPServerLimits, clock: C) {
        lengths = [limits.headTime, limits.idleTime, limits.stallTime, limits.lingerTime]
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
        lines[kind.rawValue].append(deadline)
        if wakesAt.map({ due < $0 }) ?? true { wake(at: due) }
    }

    func clear(_ deadline: Deadline) { deadline.line?.remove(deadline) }

    /// The one of this kind that was set first.
    func first(_ kind: Kind) -> Deadline? { lines[kind.rawValue].first }

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
        for line in lines {
            while let first = line.first, first.due <= time {
                line.remove(first)
                first.expire()
            }
        }
        wakesAt = nil
        if let next = lines.compactMap({ $0.first?.due }).min() { wake(at: next) }
    }
}

/// One who may wait in one of the lines.
@Loop
final class Deadline {
    fileprivate(set) var due = Duration.zero
    fileprivate var line: DeadlineQueue?
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
        deadline.line = self
        deadline.previous = last
        if let last { last.next = deadline } else { first = deadline }
        last = deadline
    }

    func remove(_ deadline: Deadline) {
        if let previous = deadline.previous { previous.next = deadline.next } else { first = deadline.next }
        if let next = deadline.next { next.previous = deadline.previous } else { last = deadline.previous }
        (deadline.line, deadline.next, deadline.previous) = (nil, nil, nil)
    }
}
