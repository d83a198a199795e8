import HTTPClient
import Storage

/// A request for a token, made again a few times where the server or the way to it has a bad moment.
struct Exchange: Sendable {
    let http: HTTPClient
    let pace: Pace
    let origin: String
    /// For all attempts and the rests between them.
    let limit: Duration
    let connectLimit: Duration
    var retriesConnections = true

    /// The first answer that is not for trying again later. Throws `unauthenticated`, retryable, when time has run out.
    func answer(to request: HTTPRequest) async throws(StorageError) -> HTTPResponse {
        let elapsed = pace.stopwatch()
        var rest = Duration.milliseconds(500)
        while true {
            let failure: StorageError
            switch await attempt(request, within: limit - elapsed()) {
            case .success(let response): return response
            case .failure(let error): failure = error
            }
            guard failure.retryable, elapsed() + rest < limit, failure.httpStatus != nil || retriesConnections else {
                throw failure
            }
            do { try await pace.clock.sleep(for: rest) } catch { throw failure }
            guard elapsed() < limit else { throw failure }
            rest *= 2
        }
    }

    private func attempt(_ request: HTTPRequest, within limit: Duration) async -> Result<HTTPResponse, StorageError> {
        var request = request
        request.limits.total = limit
        request.limits.connect = connectLimit
        request.limits.answerBytes = TokenText.largest
        do throws(HTTPError) {
            let response = try await http.perform(request)
            return isPassing(response.status) ? .failure(busy(response.status)) : .success(response)
        } catch {
            return .failure(noAnswer(error))
        }
    }

    private func isPassing(_ status: Int) -> Bool { status >= 500 || status == 429 || status == 408 }

    private func busy(_ status: Int) -> StorageError {
        var error = StorageError.unauthenticated(
            "\(origin) gives no token now: the server answered with status \(status).")
        error.httpStatus = status
        error.retryable = true
        return error
    }

    private func noAnswer(_ cause: HTTPError) -> StorageError {
        var error = StorageError.unauthenticated("\(origin) gives no token: \(cause).")
        error.retryable = cause.isRetryable || cause.kind == .deadlineExceeded
        return error
    }
}
