import Platform
import HTTPClient
import HTTPText
import Secrets
import Storage

extension StorageError {
    /// Maps a server's error to the error codes of the SDK.
    static func refusal(
        _ response: HTTPResponse, of request: RemoteRequest, to reference: Reference, by dialect: any Dialect
    ) -> StorageError {
        let (text, details) = (response.text, dialect.error(in: response))
        let reason = response.reason(details.message)
        var error: StorageError
        switch response.status {
        case 400 where request.failsChecksum(text, details), 412 where request.failsChecksum(text, details):
            error = StorageError(
                .nonMatchingChecksum,
                "The bytes of \(reference.url) did not arrive as they were sent\(reason). Nothing was stored.")
        case _ where details.isAboutCaller, 401:
            error = StorageError(.unauthenticated, "User is not authenticated, and the server wants to know who asks.")
        case _ where details.isAboutClock:
            error = StorageError(
                .unknown, "The server refuses the time of the request: its clock differs from this machine's\(reason).")
        case _ where details.isPassing:
            error = StorageError(.unknown, "The server answered \(response.status)\(reason).")
        case 402: error = StorageError(.quotaExceeded, "Quota for bucket \(reference.bucket) exceeded.")
        case 403: error = StorageError(.unauthorized, "User does not have permission to access \(reference.url).")
        case 404 where request.subject == .bucket && details.isMissingObject:
            // Ceph's answer to bytes that end early.
            error = StorageError(.unknown, "The server has not got all bytes of \(reference.url).")
            error.retryable = true
        case 404 where request.subject == .bucket || details.isMissingBucket:
            error = StorageError(.bucketNotFound, "Bucket \(reference.bucket) does not exist.")
        case 404 where request.subject == .object: error = .objectNotFound(reference)
        case 404 where request.subject == .listing:
            error = StorageError(.objectNotFound, "There is nothing to list at \(reference.url).")
        default: error = StorageError(.unknown, "The server answered \(response.status)\(reason).")
        }
        error.httpStatus = response.status
        if !text.isEmpty { error.serverResponse = text }
        error.retryable = error.retryable || details.isPassing || passing.contains(response.status)
        error.retryAfter = error.retryable ? response.retryAfter : nil
        return error.about(reference)
    }

    private static let passing: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// Adds how to get a token, if one is missing.
    func explained(_ dialect: any Dialect) -> StorageError {
        guard code == .unauthenticated, httpStatus != nil, serverResponse?.has("App Check") != true else {
            return self
        }
        return adding("A good token comes from \(dialect.signIn).")
    }

    /// A response that cannot be understood. Retryable only if the request changes nothing, or if the next attempt
    /// reads the object first.
    static func garbled(
        _ what: String, _ response: HTTPResponse, _ reference: Reference, retryable: Bool = false
    ) -> StorageError {
        StorageError(
            .unknown, "The server answered \(response.status) in a way that is no answer: \(response.quoting(what))."
        ).with(\.httpStatus, response.status).with(\.serverResponse, response.body.isEmpty ? nil : response.text)
            .with(\.retryable, retryable).about(reference)
    }

    /// The error of a request without a response.
    static func noAnswer(_ failure: HTTPError, from endpoint: Endpoint, _ reference: Reference) -> StorageError {
        let hint =
            switch failure.kind {
            case .cannotConnect, .cannotResolve, .connectTimedOut: "; \(endpoint.origin) says where to ask"
            case .tls: "; SSL_CERT_FILE names a file with certificates to trust"
            default: ""
            }
        return StorageError(.unknown, "No answer from \(failure)\(hint).")
            .with(\.retryable, failure.isRetryable || failure.kind == .deadlineExceeded).about(reference)
    }
}

extension HTTPResponse {
    var isSuccess: Bool { (200..<300).contains(status) }

    /// The start of the body, for error messages.
    fileprivate var text: String { quoting(String(decoding: body.prefix(2 * Self.longestQuote), as: UTF8.self)) }

    private static let longestQuote = 2048

    /// The start of a text from the server. Hides secrets before it cuts.
    fileprivate func quoting(_ text: String) -> String {
        let start = String(decoding: text.utf8.prefix(2 * Self.longestQuote), as: UTF8.self)
        let known = secrets + requestTexts.flatMap(\.namedSecrets) + headers.secrets
        return String(decoding: start.hidingSecrets(known).utf8.prefix(Self.longestQuote), as: UTF8.self)
    }

    /// The server's sentence, to be appended to the engine's own.
    fileprivate func reason(_ message: String?) -> String {
        guard let message, !message.isEmpty else { return "" }
        return ": " + quoting(message.hasSuffix(".") ? String(message.dropLast()) : message)
    }

    /// The delay in seconds, or until a date, relative to the server's clock.
    fileprivate var retryAfter: Duration? {
        guard let text = headers["Retry-After"] else { return nil }
        if let seconds = Int64(text) { return .seconds(min(max(0, seconds), 1 << 31)) }
        guard let date = HTTPDate(text), let now = headers["Date"].flatMap({ HTTPDate($0) }) else { return nil }
        return .seconds(max(0, date.secondsSince1970 - now.secondsSince1970))
    }
}

extension RemoteRequest {
    /// Whether the error text concerns the checksum in the request.
    fileprivate func failsChecksum(_ text: String, _ error: ServerError) -> Bool {
        let text = text.lowercased()
        return hasChecksum
            && (error.isWrongChecksum || ["crc32c", "md5", "checksum", "hash"].contains { text.has($0) })
    }

    /// The whole URL of a session is secret, unless it has parameters that are secret by their names.
    var sessionSecrets: [String] { target.namedSecrets.isEmpty ? [target] : [] }
}

extension HTTPHeaders {
    fileprivate var secrets: [String] { fields.flatMap { $0.name.isSecretName ? [$0.value] : $0.value.namedSecrets } }
}
