import Platform
import Synchronization

/// Sends requests over reused connections from one thread, which starts with the first request.
///
/// https always verifies certificates. A released client finishes its running requests.
package final class HTTPClient: Sendable {
    private let thread: TransferThread

    /// - Parameter connectionsPerHost: the maximum; further requests wait for a connection.
    package convenience init(connectionsPerHost: Int = 64, environment: HTTPEnvironment = .ofProcess) {
        self.init(connectionsPerHost: connectionsPerHost, environment: environment, startThread: systemThreads)
    }

    package init(connectionsPerHost: Int, environment: HTTPEnvironment, startThread: @escaping ThreadStarter) {
        thread = TransferThread(
            connectionsPerHost: connectionsPerHost, environment: environment, startThread: startThread)
    }

    deinit { thread.order(.stop) }

    /// Returns the response, with any status. Cancelling the task ends the transfer at once.
    package func perform(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
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

/// Proxies and certificates from the environment variables that curl uses. Requests to this machine never go through a
/// proxy.
package struct HTTPEnvironment: Sendable, Equatable {
    /// The proxy for http: `http_proxy`, `all_proxy` or `ALL_PROXY`. `HTTP_PROXY` is ignored, since CGI servers set it
    /// from a header.
    package var proxy = ""
    /// The proxy for https: `https_proxy`, `HTTPS_PROXY`, `all_proxy` or `ALL_PROXY`.
    package var secureProxy = ""
    /// The hosts without a proxy: `no_proxy` or `NO_PROXY`.
    package var direct = ""
    /// A file of certificates to trust instead of the system's, from `SSL_CERT_FILE`, `CURL_CA_BUNDLE`.
    package var certificateFile: String?
    /// A directory of certificates to trust, from `SSL_CERT_DIR`.
    package var certificateDirectory: String?

    package init(_ variable: (String) -> String?) {
        func first(_ names: String...) -> String? { names.lazy.compactMap(variable).first { !$0.isEmpty } }
        let all = first("all_proxy", "ALL_PROXY") ?? ""
        proxy = first("http_proxy") ?? all
        secureProxy = first("https_proxy", "HTTPS_PROXY") ?? all
        direct = first("no_proxy", "NO_PROXY") ?? ""
        certificateFile = first("SSL_CERT_FILE", "CURL_CA_BUNDLE")
        certificateDirectory = first("SSL_CERT_DIR")
    }

    package static var ofProcess: Self { Self(CurrentProcess.environment) }
}
