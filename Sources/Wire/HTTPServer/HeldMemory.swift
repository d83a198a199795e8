import ClientMemory
import Platform

/// The memory of one connection for its request and its answer, which it takes from the memory of all clients.
@Loop
final class HeldMemory {
    let incoming: QuotaShare
    let outgoing: QuotaShare
    /// Whether the handler needs the memory that is reserved for the request. Otherwise it can do with less.
    private(set) var isNeeded = false

    /// The bytes that a client receives or sends within the time-out of a quota, unless it is slow.
    private static let pace = 256 << 10
    /// The number of times that slow clients have to free their memory before a request without memory is refused.
    private static let rounds = 2

    private let freeBytes: Int
    private let hasGone: @Loop () -> Bool

    /// `hasGone` is asked before a request that has waited gets memory.
    init(_ memory: ConnectionMemory, freeBytes: Int, hasGone: @escaping @Loop () -> Bool) {
        (self.freeBytes, self.hasGone) = (freeBytes, hasGone)
        incoming = QuotaShare(of: memory.incoming, least: freeBytes, pace: Self.pace)
        outgoing = QuotaShare(of: memory.outgoing, least: freeBytes, pace: Self.pace)
    }

    /// Waits until the request may have this number of bytes. Returns false if there is no memory.
    func keep(_ bytes: Int) async -> Bool {
        isNeeded = true
        return await reserve(bytes, of: incoming)
    }

    /// Frees memory: the request needs at most this number of bytes.
    func keepOnly(_ bytes: Int) {
        isNeeded = bytes > freeBytes
        incoming.free(max(0, incoming.reserved - bytes))
    }

    /// Whether the request may have this number of bytes now. It may have to do with less later.
    func mayKeep(_ bytes: Int) -> Bool {
        bytes <= incoming.reserved || incoming.reserveAtOnce(bytes - incoming.reserved)
    }

    /// Waits until the answer may have this number of bytes. Returns false if there is no memory.
    func expectAnswer(of bytes: Int) async -> Bool { await reserve(bytes, of: outgoing) }

    private func reserve(_ bytes: Int, of share: QuotaShare) async -> Bool {
        guard bytes > share.reserved, !share.reserveAtOnce(bytes - share.reserved) else { return true }
        let (last, wanted) = (share.quota.rounds + Self.rounds, bytes - share.reserved)
        return
            (try? await share.reserve(wanted) {
                hasGone() || share.quota.rounds >= last && !share.quota.hasRoom(for: wanted)
            }) ?? false
    }

    /// Frees the memory of the request. Its answer has this number of bytes in memory.
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
