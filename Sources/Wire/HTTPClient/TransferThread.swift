import CCurl
import Platform
import Synchronization

/// The thread that uses libcurl. It ends when it was stopped and no transfer is left.
///
/// Other threads send it orders. libcurl's handles are in a `TransferLoop`, which never leaves the thread.
final class TransferThread: Sendable {
    enum Order: Sendable {
        case start(TransferTicket)
        case cancel(TransferTicket)
        case wake(TransferTicket)
        case stop
    }

    private struct Inbox: Sendable {
        var orders: [Order] = []
        var isStarted = false
        var hasEnded = false
        /// The error of every request if libcurl is unavailable.
        var refusal: HTTPError.Kind?
        /// Nil before the thread first sleeps, and after it has ended.
        var bell: Bell?
    }

    private let environment: HTTPEnvironment
    private let connectionsPerHost: Int
    private let startThread: ThreadStarter
    private let inbox = Mutex(Inbox())

    init(connectionsPerHost: Int, environment: HTTPEnvironment, startThread: @escaping ThreadStarter) {
        (self.connectionsPerHost, self.startThread, self.environment) = (connectionsPerHost, startThread, environment)
    }

    func order(_ order: Order) {
        let refusal: HTTPError.Kind? = inbox.withLock { inbox in
            if inbox.hasEnded { return inbox.refusal }
            inbox.orders.append(order)
            if inbox.orders.count == 1 { inbox.bell?.ring() }
            guard case .start = order, !inbox.isStarted else { return nil }
            do throws(ThreadUnavailable) {
                try startThread("http", 512 << 10) { [self] in work() }
                inbox.isStarted = true
                return nil
            } catch {
                inbox.orders.removeLast()
                return .noThread("\(error)")
            }
        }
        if let refusal, case .start(let ticket) = order { ticket.refuse(refusal) }
    }

    private func work() {
        // Some TLS libraries raise SIGPIPE.
        blockBrokenPipes()
        let loop: TransferLoop
        do throws(TransferLoop.LibraryUnavailable) {
            loop = try TransferLoop(self, connectionsPerHost: connectionsPerHost, environment)
        } catch {
            return refuseAll(error.kind)
        }
        inbox.withLock { $0.bell = loop.bell }
        loop.run { takeOrders() }
        // The bell must not be used after the loop is closed.
        inbox.withLock { inbox in
            inbox.hasEnded = true
            inbox.bell = nil
            inbox.orders = []
        }
        loop.close()
    }

    private func refuseAll(_ refusal: HTTPError.Kind) {
        let waiting = inbox.withLock { inbox in
            inbox.hasEnded = true
            inbox.refusal = refusal
            return exchange(&inbox.orders, with: [])
        }
        for case .start(let ticket) in waiting { ticket.refuse(refusal) }
    }

    private func takeOrders() -> [Order] { inbox.withLock { exchange(&$0.orders, with: []) } }
}

/// A request as other threads see it: its waiting task, and whether it is cancelled.
final class TransferTicket: Sendable {
    typealias Outcome = Result<HTTPResponse, HTTPError>

    let request: HTTPRequest
    let began = monotonicNow()
    let isCancelled = Atomic(false)
    private let waiter = Mutex<CheckedContinuation<Outcome, Never>?>(nil)

    init(_ request: HTTPRequest) { self.request = request }

    func expect(_ waiter: CheckedContinuation<Outcome, Never>) { self.waiter.withLock { $0 = waiter } }

    /// Resumes the waiting task. Later outcomes are ignored.
    func finish(_ outcome: Outcome) { waiter.withLock { exchange(&$0, with: nil) }?.resume(returning: outcome) }

    /// Fails a request before it reaches libcurl.
    func refuse(_ kind: HTTPError.Kind) {
        if case .source(let source) = request.body { source.transferEnded() }
        finish(.failure(HTTPError(kind, host: request.host)))
    }
}
