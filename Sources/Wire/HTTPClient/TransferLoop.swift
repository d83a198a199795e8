import CCurl
import Platform
import Synchronization

/// Drives libcurl's transfers, ends completed and overdue ones, and sleeps in between. Used only on the transfer
/// thread.
final class TransferLoop {
    struct LibraryUnavailable: Error { let kind: HTTPError.Kind }

    let environment: HTTPEnvironment
    let thread: TransferThread
    var connections = ConnectionSockets()
    private let multi: OpaquePointer
    private var running: [OpaquePointer: Transfer] = [:]
    /// The running transfers by the identities of their tickets.
    private var transfers: [ObjectIdentifier: Transfer] = [:]
    private var isStopping = false
    private var nextLook = Int64.max

    init(
        _ thread: TransferThread, connectionsPerHost: Int, _ environment: HTTPEnvironment
    ) throws(LibraryUnavailable) {
        if let reason = ccurl_load() { throw LibraryUnavailable(kind: .libraryMissing(String(cString: reason))) }
        guard let multi = ccurl_multi_init() else { throw LibraryUnavailable(kind: .outOfMemory) }
        if let refusal = Self.limitConnections(multi, connectionsPerHost) {
            ccurl_multi_cleanup(multi)
            throw LibraryUnavailable(kind: refusal)
        }
        (self.thread, self.multi, self.environment) = (thread, multi, environment)
    }

    var bell: Bell { Bell(multi) }

    var runningCount: Int { running.count }

    /// Runs until the loop was stopped and no transfer is left.
    func run(_ takeOrders: () -> [TransferThread.Order]) {
        while true {
            for order in takeOrders() { obey(order) }
            if isStopping && running.isEmpty { return }
            turn()
        }
    }

    func close() { ccurl_multi_cleanup(multi) }

    /// Wakes the loop at that time or earlier.
    func look(at time: Int64) { nextLook = min(nextLook, time) }

    private static func limitConnections(_ multi: OpaquePointer, _ connectionsPerHost: Int) -> HTTPError.Kind? {
        for (option, limit) in [
            (CCURL_MULTI_MAX_HOST_CONNECTIONS, connectionsPerHost),
            (CCURL_MULTI_MAXCONNECTS, max(64, connectionsPerHost)),
        ] {
            let code = ccurl_multi_set_long(multi, Int32(option.rawValue), limit)
            guard code == 0 else { return .other(code: code, String(cString: ccurl_multi_strerror(code))) }
        }
        return nil
    }

    private func turn() {
        var failure = ccurl_multi_perform(multi)
        endTheEnded()
        let now = monotonicNow()
        if now >= nextLook { endTheOverdue(now) }
        if failure == 0 {
            let pause = nextLook == .max ? 3_600_000 : min(3_600_000, max(0, (nextLook - now) / 1_000_000 + 1))
            failure = ccurl_multi_poll(multi, Int32(pause))
        }
        guard failure != 0 else { return }
        let text = String(cString: ccurl_multi_strerror(failure))
        for transfer in Array(running.values) { end(transfer, .other(code: failure, text)) }
    }

    private func obey(_ order: TransferThread.Order) {
        switch order {
        case .start(let ticket): start(ticket)
        case .cancel(let ticket): if let transfer = transfer(of: ticket) { end(transfer, .cancelled) }
        case .wake(let ticket):
            guard let transfer = transfer(of: ticket) else { return }
            let code = transfer.resume()
            if code != 0 { end(transfer, code: code) }
        case .stop: isStopping = true
        }
    }

    /// Nil before the transfer's start and after its end.
    private func transfer(of ticket: TransferTicket) -> Transfer? { transfers[ObjectIdentifier(ticket)] }

    private func start(_ ticket: TransferTicket) {
        if ticket.isCancelled.load(ordering: .acquiring) { return ticket.refuse(.cancelled) }
        let transfer = Transfer(ticket, in: self)
        guard let easy = transfer.prepare(), ccurl_multi_add(multi, easy) == 0 else {
            return transfer.finish(transfer.failed(transfer.failure ?? .outOfMemory))
        }
        running[easy] = transfer
        transfers[ObjectIdentifier(ticket)] = transfer
        transfer.lookAgain()
    }

    private func endTheEnded() {
        var code: Int32 = 0
        while let easy = ccurl_multi_next_ended(multi, &code) {
            if let transfer = running[easy] { end(transfer, code: code) }
        }
    }

    private func endTheOverdue(_ now: Int64) {
        nextLook = .max
        for transfer in Array(running.values) {
            guard let (time, failure) = transfer.nextLimit else { continue }
            if time <= now { end(transfer, failure) } else { look(at: time) }
        }
    }

    private func end(_ transfer: Transfer, code: Int32) {
        transfer.countSent()
        end(transfer, transfer.outcome(code))
    }

    private func end(_ transfer: Transfer, _ failure: HTTPError.Kind) {
        transfer.countSent()
        end(transfer, transfer.failed(failure))
    }

    private func end(_ transfer: Transfer, _ outcome: Transfer.Outcome) {
        guard let easy = transfer.easy else { return }
        running[easy] = nil
        transfers[ObjectIdentifier(transfer.ticket)] = nil
        ccurl_multi_remove(multi, easy)
        transfer.finish(outcome)
    }
}

/// Wakes the sleeping loop.
///
/// Sound: libcurl allows this call on any thread.
struct Bell: @unchecked Sendable {
    private let multi: OpaquePointer

    fileprivate init(_ multi: OpaquePointer) { self.multi = multi }

    func ring() { ccurl_multi_wakeup(multi) }
}
