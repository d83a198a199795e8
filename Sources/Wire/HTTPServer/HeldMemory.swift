import ClientMemory
import Platform

/// The memory that one connection has for its request and for its answer, of that of all clients.
@Loop
final class HeldMemory {
    let incoming: QuotaShare
    let outgoing: QuotaShare
    /// The handler needs what is reserved for the request; otherwise it can do with less.
    private(set) var isNeeded = false

    /// What a client receives and sends in the time-out of a quota, unless it is slow.
    private static let pace = 256 << 10
    /// A request is refused when slow clients had to free their memory so often, and there is still none.
    private static let rounds = 2

    private let freeBytes: Int
    private let hasGone: @Loop () -> Bool

    /// `hasGone` is asked before a request that has waited gets memory.
    init(_ memory: ConnectionMemory, freeBytes: Int, hasGone: @escaping @Loop () -> Bool) {
        (self.freeBytes, self.hasGone) = (freeBytes, hasGone)
        incoming = QuotaShare(of: memory.incoming, least: freeBytes, pace: Self.pace)
        outgoing = QuotaShare(of: memory.outgoing, least: freeBytes, pace: Self.pace)
    }

    /// Returns true when the request may have so many bytes, and false when there is no memory.
    func keep(_ bytes: Int) async -> Bool {
        isNeeded = true
        return await reserve(bytes, of: incoming)
    }

    /// The request needs no more than so many bytes.
    func keepOnly(_ bytes: Int) {
        isNeeded = bytes > freeBytes
        incoming.free(max(0, incoming.reserved - bytes))
    }

    /// Whether the request may have so many bytes now, until it is told to do with less.
    func mayKeep(_ bytes: Int) -> Bool {
        bytes <= incoming.reserved || incoming.reserveAtOnce(bytes - incoming.reserved)
    }

    /// Returns true when the answer may have so many bytes, and false when there is no memory.
    func expectAnswer(of bytes: Int) async -> Bool { await reserve(bytes, of: outgoing) }

    private func reserve(_ bytes: Int, of share: QuotaShare) async -> Bool {
        guard bytes > share.reserved, !share.reserveAtOnce(bytes - share.reserved) else { return true }
        let (last, wanted) = (share.quota.rounds + Self.rounds, bytes - share.reserved)
        return
            (try? await share.reserve(wanted) {
                hasGone() || share.quota.rounds >= last && !share.quota.hasRoom(for: wanted)
            }) ?? false
    }

    /// The request is done, and its answer has so many bytes in memory.
    func begin(answerOf bytes: Int) {
        isNeeded = false
        incoming.free(incoming.reserved)
        outgoing.use(bytes)
        outgoing.free(outgoing.reserved)
    }

    func endAnswer() { outgoing.use(0) }

    func leave() {
        incoming.leave()
        outgoing.leave()
    }
}
