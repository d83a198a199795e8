import Platform
import Synchronization

/// One request for those who are not on the transfer thread: who wants it, and whether still.
final class TransferTicket: Sendable {
    typealias Outcome = Result<HTTPResponse, HTTPError>

    let request: HTTPRequest
    let began = monotonicNow()
    let isCancelled = Atomic(false)
    private let waiter = Mutex<CheckedContinuation<Outcome, Never>?>(nil)

    init(_ request: HTTPRequest) { self.request = request }

    func expect(_ waiter: CheckedContinuation<Outcome, Never>) { self.waiter.withLock { $0 = waiter } }

    /// Tells whoever waits. The first outcome counts.
    func finish(_ outcome: Outcome) {
        waiter.withLock { exchange(&$0, with: nil) }?.resume(returning: outcome)
    }

    /// For a request that libcurl never hears of.
    func refuse(_ kind: HTTPError.Kind) {
        if case .source(let source) = request.body { source.transferEnded() }
        finish(.failure(HTTPError(kind, host: request.host)))
    }
}
