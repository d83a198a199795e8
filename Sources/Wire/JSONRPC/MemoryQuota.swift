import Platform

/// Memory that all connections share. Used memory is counted without a bound; memory for future bytes is reserved in
/// order, and only while less than the limit is used.
///
/// So both together are never much more than twice the limit. While a share waits, every share that makes no progress
/// for `timeout` must free its memory, so that no connection blocks others by doing nothing.
@Loop
public final class MemoryQuota {
    /// In bytes.
    let limit: Int
    let timeout: Duration
    private let clock: any Clock<Duration>
    private var used = 0
    private var reserved = 0
    private var waiting: [Waiter] = []
    private var shares: [ObjectIdentifier: QuotaShare] = [:]
    /// Woken whenever memory becomes free.
    private let freed = Waiters()
    private var alarm: Task<Void, Never>?

    private struct Waiter {
        let share: ObjectIdentifier
        let bytes: Int
        let resume: @Loop () -> Void
    }

    public init(limit: Int, timeout: Duration = .seconds(30), clock: any Clock<Duration>) {
        (self.limit, self.timeout, self.clock) = (limit, timeout, clock)
    }

    fileprivate var isFull: Bool { used >= limit }

    /// Returns when memory has become free. Throws `CancellationError` when the waiting task is cancelled before.
    fileprivate func someIsFree() async throws {
        watch()
        try await freed.wait()
    }

    fileprivate func use(_ change: Int) {
        used += change
        if change < 0 { admit() }
    }

    fileprivate func free(_ bytes: Int) {
        reserved -= bytes
        admit()
    }

    fileprivate func reserve(_ bytes: Int) -> Bool {
        guard !isFull, bytes == 0 || reserved == 0 || reserved + bytes <= limit else { return false }
        reserved += bytes
        return true
    }

    fileprivate func wait(_ share: QuotaShare, for bytes: Int, _ resume: @escaping @Loop () -> Void) {
        waiting.append(Waiter(share: ObjectIdentifier(share), bytes: bytes, resume: resume))
        watch()
    }

    fileprivate var hasWaiters: Bool { !waiting.isEmpty }

    fileprivate func enter(_ share: QuotaShare) { shares[ObjectIdentifier(share)] = share }

    fileprivate func leave(_ share: QuotaShare) {
        shares[ObjectIdentifier(share)] = nil
        waiting.removeAll { $0.share == ObjectIdentifier(share) }
        admit()
    }

    /// A waiter that needs memory is not overtaken by another one that does.
    private func admit() {
        freed.wakeAll()
        guard !waiting.isEmpty, !isFull else { return }
        var (admitted, left) = ([Waiter](), [Waiter]())
        for waiter in waiting {
            let mustWait = waiter.bytes > 0 && left.contains { $0.bytes > 0 }
            if !mustWait, reserve(waiter.bytes) { admitted.append(waiter) } else { left.append(waiter) }
        }
        waiting = left
        for waiter in admitted { waiter.resume() }
    }

    private func watch() {
        guard alarm == nil else { return }
        let marks = shares.mapValues(\.progress)
        alarm = Task { [weak self, clock, timeout] in
            do { try await clock.sleep(for: timeout) } catch { return }
            self?.revoke(unlessBeyond: marks)
        }
    }

    private func revoke(unlessBeyond marks: [ObjectIdentifier: Int]) {
        alarm = nil
        // Revoking one share may already satisfy all waiters.
        let stuck = shares.filter { id, share in share.progress == marks[id] && share.held > 0 }.values
        for share in stuck where somebodyWaits { share.revoke() }
        if somebodyWaits { watch() }
    }

    private var somebodyWaits: Bool { !waiting.isEmpty || !freed.isEmpty }
}

/// The share of one connection in a quota.
@Loop
final class QuotaShare {
    /// The bytes that every connection may have.
    static let least = 256 << 10

    let quota: MemoryQuota
    /// Any value that changes when the holder makes progress.
    var progress = 0
    private(set) var used = 0
    private(set) var reserved = 0
    /// True until memory is granted.
    private(set) var isWaiting = false
    /// Called when other shares wait and the holder makes no progress.
    var revoke: @Loop () -> Void = {}

    init(of quota: MemoryQuota) {
        self.quota = quota
        quota.enter(self)
    }

    fileprivate var held: Int { used + reserved }

    /// Says whether a holder of so many bytes may not get more.
    func isFull(with bytes: Int) -> Bool { bytes >= Self.least && quota.isFull }

    func use(_ bytes: Int) {
        guard bytes != used else { return }
        let change = bytes - used
        used = bytes
        quota.use(change)
    }

    /// Returns true when `bytes` are reserved at once. Otherwise `granted` is called when they are, unless the share
    /// waits already. For no bytes it is called when the quota is no longer full.
    func reserve(_ bytes: Int, _ granted: @escaping @Loop () -> Void) -> Bool {
        if isWaiting { return false }
        if !quota.hasWaiters, quota.reserve(bytes) {
            reserved += bytes
            return true
        }
        isWaiting = true
        quota.wait(self, for: bytes) { [weak self] in
            guard let self else { return }
            isWaiting = false
            reserved += bytes
            granted()
        }
        return false
    }

    /// Returns when `bytes` are reserved; smaller reservations may overtake it. Returns false when `isOver` holds
    /// before.
    func reserve(_ bytes: Int, unless isOver: () -> Bool) async throws -> Bool {
        while !isOver() {
            if quota.reserve(bytes) {
                reserved += bytes
                return true
            }
            try await quota.someIsFree()
        }
        return false
    }

    func free(_ bytes: Int) {
        let bytes = min(bytes, reserved)
        guard bytes > 0 else { return }
        reserved -= bytes
        quota.free(bytes)
    }

    /// Frees all memory of the share. Nothing may be called afterwards.
    func leave() {
        free(reserved)
        use(0)
        quota.leave(self)
    }
}
