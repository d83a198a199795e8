import Platform

/// The memory that clients share, whatever door they use.
@Loop
public final class ConnectionMemory {
    /// For messages and bodies that are received, and those of pending requests.
    package let incoming: MemoryQuota
    /// For answers and notifications that peers have not read.
    package let outgoing: MemoryQuota

    /// `messageBytes` always has room for one message of the greatest length.
    public nonisolated init(
        messageBytes: Int = 128 << 20, unreadBytes: Int = 256 << 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
        incoming = MemoryQuota(limit: messageBytes, clock: clock)
        outgoing = MemoryQuota(limit: unreadBytes, clock: clock)
    }
}

/// Memory that all connections share. Used memory is counted without a bound; memory for future bytes is reserved in
/// order, and only while both together stay within the limit. One reservation at a time may exceed it, and each share may
/// have a little without waiting.
///
/// While a share waits, the shares that make the least progress in `timeout` must free their memory, until there is enough
/// for those that wait: a slow connection does not block others.
@Loop
public final class MemoryQuota {
    /// In bytes.
    @usableFromInline package let limit: Int
    package let timeout: Duration
    private let clock: any Clock<Duration>
    @usableFromInline package private(set) var used = 0
    private var reserved = 0
    private var waiting: [Waiter] = []
    /// What tasks wait for, in bytes.
    private var wanted = 0
    /// The tasks that wait.
    private var wanting = 0
    private var shares: [ObjectIdentifier: QuotaShare] = [:]
    /// How often slow shares had to free their memory, or could have had to.
    package private(set) var rounds = 0
    /// The most memory since some went back to the system.
    private var peak = 0
    /// The memory of less than this is used again.
    private static let worthGivingBack = 32 << 20
    private static let thread = WorkerThreads("free memory")
    /// Woken whenever memory becomes free.
    private let freed = Waiters()
    private var alarm: Task<Void, Never>?

    private struct Waiter {
        let share: ObjectIdentifier
        let bytes: Int
        let resume: @Loop () -> Void
    }

    package nonisolated init(limit: Int, timeout: Duration = .seconds(10), clock: any Clock<Duration>) {
        (self.limit, self.timeout, self.clock) = (limit, timeout, clock)
    }

    @inlinable package var isFull: Bool { used >= limit }

    /// So many bytes could be reserved.
    package func hasRoom(for bytes: Int) -> Bool { used + reserved + bytes <= limit }

    /// Returns when `isEnough` holds, which is asked again whenever memory has become free. Throws `CancellationError` when
    /// the waiting task is cancelled before.
    fileprivate func wait(for bytes: Int, until isEnough: () -> Bool) async throws {
        (wanted, wanting) = (wanted + bytes, wanting + 1)
        defer { (wanted, wanting) = (wanted - bytes, wanting - 1) }
        while !isEnough() {
            watch()
            try await freed.wait()
        }
    }

    fileprivate func use(_ change: Int) {
        used += change
        if change < 0 { becameFree() } else { peak = max(peak, used + reserved) }
    }

    fileprivate func free(_ bytes: Int) {
        reserved -= bytes
        becameFree()
    }

    private func becameFree() {
        admit()
        guard peak - used - reserved >= Self.worthGivingBack, used + reserved <= peak / 4 else { return }
        peak = used + reserved
        // The holders let go of it within the iteration.
        Loop.atEndOfIteration { Self.thread.submit { CurrentProcess.releaseFreeMemory() } }
    }

    /// - Parameter isFew: they do not wait for other memory.
    fileprivate func reserve(_ bytes: Int, isFew: Bool = false) -> Bool {
        let fits = !isFull && (bytes == 0 || reserved == 0 || hasRoom(for: bytes))
        guard fits || isFew else { return false }
        reserved += bytes
        peak = max(peak, used + reserved)
        return true
    }

    fileprivate func wait(_ share: QuotaShare, for bytes: Int, _ resume: @escaping @Loop () -> Void) {
        waiting.append(Waiter(share: ObjectIdentifier(share), bytes: bytes, resume: resume))
        watch()
    }

    fileprivate var hasWaiters: Bool { !waiting.isEmpty }

    /// Others wait for memory, be it as tasks or not.
    fileprivate var isWantedByOthers: Bool { !waiting.isEmpty || wanting > 0 }

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
        rounds += 1
        let slow = shares.compactMap { id, share in
            marks[id].map { (share, progress: share.progress &- $0) }
        }
        .filter { share, progress in progress < share.pace && share.held > 0 }
        .sorted { $0.progress < $1.progress }
        for (share, _) in slow where isWantedByOthers && !isEnough { share.revoke() }
        if isWantedByOthers { watch() }
        freed.wakeAll()
    }

    /// There is memory for all that wait.
    private var isEnough: Bool {
        !isFull && hasRoom(for: waiting.reduce(wanted) { $0 + $1.bytes })
    }
}

/// The share of one connection in a quota.
@Loop
@usableFromInline
package final class QuotaShare {
    /// The bytes that every connection of JSON-RPC may have.
    @inlinable package static var least: Int { 256 << 10 }

    @usableFromInline package let quota: MemoryQuota
    /// Grows when the holder makes progress.
    package var progress = 0
    /// By how much it grows in the time-out of the quota, unless the holder is slow.
    fileprivate let pace: Int
    /// The bytes that it may have without waiting.
    private let least: Int
    package private(set) var used = 0
    package private(set) var reserved = 0
    /// True until memory is granted.
    package private(set) var isWaiting = false
    /// Its connection has gone. What still ends for that connection holds nothing.
    private var hasLeft = false
    /// Called when other shares wait and the holder is slow.
    package var revoke: @Loop () -> Void = {}

    package init(of quota: MemoryQuota, least: Int = 0, pace: Int = 1) {
        (self.quota, self.least, self.pace) = (quota, least, pace)
        quota.enter(self)
    }

    fileprivate var held: Int { used + reserved }

    /// Says whether a holder of so many bytes may not get more.
    @inlinable package func isFull(with bytes: Int) -> Bool { bytes >= Self.least && quota.isFull }

    package func use(_ bytes: Int) {
        guard bytes != used, !hasLeft else { return }
        let change = bytes - used
        used = bytes
        quota.use(change)
    }

    /// Returns true when `bytes` are reserved at once. Otherwise `granted` is called when they are, unless the share
    /// waits already. For no bytes it is called when the quota is no longer full.
    package func reserve(_ bytes: Int, _ granted: @escaping @Loop () -> Void) -> Bool {
        if isWaiting || hasLeft { return false }
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
    /// before, or the share has left.
    package func reserve(_ bytes: Int, unless isOver: () -> Bool) async throws -> Bool {
        if isOver() || hasLeft { return false }
        if reserveAtOnce(bytes) { return true }
        var isReserved = false
        try await quota.wait(for: bytes) {
            if isOver() || hasLeft { return true }
            isReserved = take(bytes)
            return isReserved
        }
        return isReserved
    }

    /// Returns whether `bytes` are reserved: they are where nothing else waits, or where they are few.
    package func reserveAtOnce(_ bytes: Int) -> Bool {
        (!quota.isWantedByOthers || isFew(bytes)) && take(bytes)
    }

    private func isFew(_ bytes: Int) -> Bool { held + bytes <= least }

    private func take(_ bytes: Int) -> Bool {
        guard !hasLeft, quota.reserve(bytes, isFew: isFew(bytes)) else { return false }
        reserved += bytes
        return true
    }

    package func free(_ bytes: Int) {
        let bytes = min(bytes, reserved)
        guard bytes > 0 else { return }
        reserved -= bytes
        quota.free(bytes)
    }

    /// Frees all memory of the share, for good: it gets none from then on.
    package func leave() {
        free(reserved)
        use(0)
        hasLeft = true
        quota.leave(self)
    }
}
