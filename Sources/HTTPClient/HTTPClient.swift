import Platform
import Synchronization

/// Sends requests over reused connections from one thread, which starts with the first request.
///
/// https always verifies certificates. A released client finishes its running requests.
public final class HTTPClient: Sendable {
    private let thread: TransferThread

    /// - Parameter connectionsPerHost: further requests wait for a connection.
    public convenience init(connectionsPerHost: Int = 64, environment: HTTPEnvironment = .ofProcess) {
        self.init(connectionsPerHost: connectionsPerHost, environment: environment, startThread: systemThreads)
    }

    package init(connectionsPerHost: Int, environment: HTTPEnvironment, startThread: @escaping ThreadStarter) {
        thread = TransferThread(
            connectionsPerHost: connectionsPerHost, environment: environment, startThread: startThread)
    }

    deinit { thread.order(.stop) }

    /// Returns the response, whatever its status. Cancelling the task ends the transfer at once.
    public func perform(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        if let flaw = request.flaw { throw HTTPError(flaw, host: request.host) }
        let ticket = TransferTicket(request)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                ticket.expect(waiter)
                thread.order(.start(ticket))
            }
        } onCancel: {
            ticket.isCancelled.store(true, ordering: .releasing)
            thread.order(.cancel(ticket))
        }
        return try outcome.get()
    }
}
