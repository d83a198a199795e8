import Platform

/// Memory that all connections share. What is already there is counted, whatever it is; what is still to come is
/// reserved before, in the order in which it was asked for, and only while less than the limit is there.
///
/// So both together are never much more than twice the limit. While somebody waits, whoever holds memory and gets
/// nowhere for as long as `timeout` has to give it up: nobody can keep the others waiting by doing nothing.
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
    /// Those who try again whenever some has become free.
    private let freed = Waiters()
    private var alarm: Task<Void, Never>?

    private struct Waiter {
        let share: ObjectIdentifier
        let bytes: Int
        let resume: @Loop () -> Void
    }

    public init(
        limit: Int, timeout: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.limit = limit
        self.timeout = timeout
        self.clock = clock
    }

    /// Whether there is as much as may be.
    fileprivate var isFull: Bool { used >= limit }

    /// Returns when some has become free. Throws `CancellationError` when the waiting task is cancelled before.
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

    /// One that needs much does not let those pass that need as much.
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
        // Those that wait now may have some as soon as another has given up its own.
        let stuck = shares.filter { id, share in share.progress == marks[id] && share.held > 0 }.values
        for share in stuck where somebodyWaits { share.revoke() }
        if somebodyWaits { watch() }
    }

    private var somebodyWaits: Bool { !waiting.isEmpty || !freed.isEmpty }
}

/// What one connection has of a quota.
@Loop
final class QuotaShare {
    /// As much as each connection may have, however little is left.
    static let least = 256 << 10

    let quota: MemoryQuota
    /// Anything that changes when the holder gets on.
    var progress = 0
    private(set) var used = 0
    private(set) var reserved = 0
    /// Until it is told that there is room.
    private(set) var isWaiting = false
    /// Called when others wait for what the holder has, and it got nowhere for a long time.
    var revoke: @Loop () -> Void = {}

    init(of quota: MemoryQuota) {
        self.quota = quota
        quota.enter(self)
    }

    fileprivate var held: Int { used + reserved }

    /// Whether there is none for one who has as much already.
    func isFull(with bytes: Int) -> Bool { bytes >= Self.least && quota.isFull }

    /// Tells how much there is.
    func use(_ bytes: Int) {
        guard bytes != used else { return }
        let change = bytes - used
        used = bytes
        quota.use(change)
    }

    /// True where `bytes` are reserved at once. Else, unless it is called for that already, `granted` is called when
    /// they are; with none, when the quota is no longer full.
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

    /// Returns when `bytes` are reserved; less may be reserved by others meanwhile. False where it is over before that.
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

    /// The last call.
    func leave() {
        free(reserved)
        use(0)
        quota.leave(self)
    }
}
