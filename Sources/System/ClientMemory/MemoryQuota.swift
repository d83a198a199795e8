import Platform

/// The memory of all clients together, on all transports.
@Loop
public final class ConnectionMemory {
    /// The memory of received messages and bodies, and of the messages of pending requests.
    package let incoming: MemoryQuota
    /// The memory of answers and notifications that peers have not read.
    package let outgoing: MemoryQuota

    /// `messageBytes` must have room for one message of the maximum length.
    public nonisolated init(
        messageBytes: Int = 128 << 20, unreadBytes: Int = 256 << 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
        incoming = MemoryQuota(limit: messageBytes, clock: clock)
        outgoing = MemoryQuota(limit: unreadBytes, clock: clock)
    }
}

/// Memory that all connections share. Used memory is counted without a limit; memory for future bytes is reserved in
/// order, and only while both together stay within the limit. One reservation at a time may exceed the limit, and each
/// share may have a small amount without waiting.
///
/// While shares wait, those that make the least progress in `timeout` must free their memory, until there is enough for
/// all that wait: a slow connection does not block others.
@Loop
public final class MemoryQuota {
    /// In bytes.
    @usableFromInline package let limit: Int
    package let timeout: Duration
    private let clock: any Clock<Duration>
    @usableFromInline package private(set) var used = 0
    private var reserved = 0
    private var waiting: [Waiter] = []
    /// The number of bytes that tasks wait for.
    private var wanted = 0
    /// The number of tasks that wait.
    private var wanting = 0
    private var shares: [ObjectIdentifier: QuotaShare] = [:]
    /// The number of time-outs after which slow shares have to free their memory.
    package private(set) var rounds = 0
    /// The maximum of used and reserved memory since free memory was last returned to the system.
    private var peak = 0
    /// The maximum number of shares since free memory was last returned to the system.
    private var mostShares = 0
    /// Less free memory than this is not returned to the system.
    private static let worthGivingBack = 32 << 20
    /// Nor is that of fewer connections, which have about 4 KiB each.
    private static let sharesWorthGivingBack = 2048
    private static let thread = WorkerThreads("free memory")
    /// Wakes waiting tasks whenever memory becomes free.
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

    /// Whether this many bytes could be reserved.
    package func hasRoom(for bytes: Int) -> Bool { used + reserved + bytes <= limit }

    /// Returns once `isEnough` holds; checks it whenever memory becomes free. Throws `CancellationError` if the waiting
    /// task is cancelled.
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
        giveBack()
    }

    private func giveBack() {
        (peak, mostShares) = (used + reserved, shares.count)
        // The holders drop the memory within this iteration.
        Loop.atEndOfIteration { Self.thread.submit { CurrentProcess.releaseFreeMemory() } }
    }

    /// - Parameter isFew: a reservation so small that it succeeds even without free memory.
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

    /// Whether shares or tasks wait for memory.
    fileprivate var isWantedByOthers: Bool { !waiting.isEmpty || wanting > 0 }

    fileprivate func enter(_ share: QuotaShare) {
        shares[ObjectIdentifier(share)] = share
        mostShares = max(mostShares, shares.count)
    }

    fileprivate func leave(_ share: QuotaShare) {
        shares[ObjectIdentifier(share)] = nil
        waiting.removeAll { $0.share == ObjectIdentifier(share) }
        admit()
        if mostShares - shares.count >= Self.sharesWorthGivingBack, shares.count <= mostShares / 4 { giveBack() }
    }

    /// Grants memory to waiters in their order: a waiter that needs memory does not overtake another one.
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

    /// Whether the memory suffices for all that wait.
    private var isEnough: Bool {
        !isFull && hasRoom(for: waiting.reduce(wanted) { $0 + $1.bytes })
    }
}

/// The share of one connection in a quota.
@Loop
@usableFromInline
package final class QuotaShare {
    /// The number of bytes that every JSON-RPC connection may have.
    @inlinable package static var least: Int { 256 << 10 }

    @usableFromInline package let quota: MemoryQuota
    /// Grows when the holder makes progress.
    package var progress = 0
    /// The progress within the quota's `timeout` below which the holder counts as slow.
    fileprivate let pace: Int
    /// The number of bytes that the share may have without waiting.
    private let least: Int
    package private(set) var used = 0
    package private(set) var reserved = 0
    /// True until memory is granted.
    package private(set) var isWaiting = false
    /// The connection is closed. Work that is still ending for it holds no memory.
    private var hasLeft = false
    /// Called when other shares wait and the holder is slow. Must free memory.
    package var revoke: @Loop () -> Void = {}

    package init(of quota: MemoryQuota, least: Int = 0, pace: Int = 1) {
        (self.quota, self.least, self.pace) = (quota, least, pace)
        quota.enter(self)
    }

    fileprivate var held: Int { used + reserved }

    /// Whether a holder of this many bytes may get no more.
    @inlinable package func isFull(with bytes: Int) -> Bool { bytes >= Self.least && quota.isFull }

    package func use(_ bytes: Int) {
        guard bytes != used, !hasLeft else { return }
        let change = bytes - used
        used = bytes
        quota.use(change)
    }

    /// Returns true if `bytes` are reserved at once. Otherwise `granted` is called when they are, unless the share
    /// already waits. For 0 bytes it is called when the quota is no longer full.
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

    /// Returns true once `bytes` are reserved; smaller reservations may overtake this one. Returns false if `isOver`
    /// holds or the share leaves before.
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

    /// Reserves `bytes` if no one waits for memory or if they are few. Returns whether it has.
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

    /// Frees all memory of the share, which gets no more afterwards.
    package func leave() {
        free(reserved)
        use(0)
        hasLeft = true
        quota.leave(self)
    }
}
