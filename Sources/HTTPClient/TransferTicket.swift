import Platform
import Synchronization

/// A request outside of the transfer thread: its waiting task, and whether it is cancelled.
final class TransferTicket: Sendable {
    typealias Outcome = Result<HTTPResponse, HTTPError>

    let request: HTTPRequest
    let began = monotonicNow()
    let isCancelled = Atomic(false)
    private let waiter = Mutex<CheckedContinuation<Outcome, Never>?>(nil)

    init(_ request: HTTPRequest) { self.request = request }

    func expect(_ waiter: CheckedContinuation<Outcome, Never>) { self.waiter.withLock { $0 = waiter } }

    /// Resumes the waiting task. Later outcomes are ignored.
    func finish(_ outcome: Outcome) {
        waiter.withLock { exchange(&$0, with: nil) }?.resume(returning: outcome)
    }

    /// Fails a request before it reaches libcurl.
    func refuse(_ kind: HTTPError.Kind) {
        if case .source(let source) = request.body { source.transferEnded() }
        finish(.failure(HTTPError(kind, host: request.host)))
    }
}
