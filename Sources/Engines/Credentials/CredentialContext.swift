import HTTPClient
import Platform
import Storage

/// The HTTP clients, the time source and the limits of requests for tokens.
package struct CredentialContext: Sendable {
    struct Limits: Sendable {
        /// The time limit of all attempts and the delays between them.
        var total: Duration
        var connect: Duration { total / (retriesConnections ? 2 : 3) }
        var retriesConnections = true
    }

    let http: HTTPClient
    /// A client without a proxy, for servers on this machine or next to it.
    let direct: HTTPClient
    let time: TimeSource
    var server = Limits(total: .seconds(10))
    /// Short limits, since the metadata server is close if there is one.
    var metadataServer = Limits(total: .seconds(3), retriesConnections: false)

    package init(http: HTTPClient, time: TimeSource) {
        self.http = http
        direct = HTTPClient(connectionsPerHost: 2, environment: HTTPEnvironment { _ in nil })
        self.time = time
    }

    /// Sends a request, and retries it after temporary failures within the limits. Throws a retryable `unauthenticated`
    /// when the time is over.
    ///
    /// - Parameter origin: the source of the credentials, as the beginning of an error message.
    func response(
        to request: HTTPRequest, of origin: String, by http: HTTPClient, within limits: Limits
    ) async throws(StorageError) -> HTTPResponse {
        let elapsed = time.clock.stopwatch()
        var delay = Duration.milliseconds(500)
        while true {
            var request = request
            request.limits.total = limits.total - elapsed()
            request.limits.connect = limits.connect
            request.limits.answerBytes = TokenText.largest
            let failure: StorageError
            do throws(HTTPError) {
                let response = try await http.perform(request)
                guard response.status >= 500 || [408, 429].contains(response.status) else { return response }
                failure = .unauthenticated(
                    "\(origin) gives no token now: the server answered with status \(response.status).",
                    httpStatus: response.status, retryable: true)
            } catch {
                failure = .unauthenticated(
                    "\(origin) gives no token: \(error).",
                    retryable: error.isRetryable || error.kind == .deadlineExceeded)
            }
            guard failure.retryable, elapsed() + delay < limits.total,
                failure.httpStatus != nil || limits.retriesConnections
            else { throw failure }
            do { try await time.clock.sleep(for: delay) } catch { throw failure }
            guard elapsed() < limits.total else { throw failure }
            delay *= 2
        }
    }
}
