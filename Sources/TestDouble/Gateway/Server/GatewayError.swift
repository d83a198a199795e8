import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// An error in an answer, before the API gives it a form.
struct GatewayError: Error {
    var status: Int
    var message: String
    var headers: HTTPHeaders = [:]
    /// The code of the error in the XML API; nil for the usual code of the status.
    var code: String?
    /// The bucket that the request needs.
    var missingBucket: String?
    /// Whether the connection closes without an answer.
    var dropsConnection = false

    init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }

    static func badRequest(_ message: String) -> GatewayError { GatewayError(400, message) }
    /// A param, or a member of a resource, that access is granted by.
    static func uniformAccess(_ what: String) -> GatewayError {
        .badRequest("Cannot use \(what): the bucket has uniform bucket-level access.")
    }

    static let notFound = GatewayError(404, "Not Found")
    static let methodNotAllowed = GatewayError(405, "Method Not Allowed")

    init(_ error: StorageError) {
        self.init(error.httpStatus ?? Self.status(of: error), Self.message(of: error))
        code = Self.xmlCode(of: error)
        if Self.isAboutMissingBucket(error) { missingBucket = error.bucket ?? "" }
        dropsConnection = error.answerIsLost == true
    }

    /// Nil for an error that no request causes.
    init?(describing error: any Error) {
        switch error {
        case let error as GatewayError: self = error
        case let error as StorageError: self.init(error)
        case let error as HTTPRequestBody.Failure: self = error.gatewayError
        default: return nil
        }
    }

    private static func isAboutMissingBucket(_ error: StorageError) -> Bool {
        error.code == .bucketNotFound && error.httpStatus == nil
    }

    /// The words of Google's servers, which some clients compare.
    private static func message(of error: StorageError) -> String {
        if isAboutMissingBucket(error) { return "The specified bucket does not exist." }
        guard error.code == .objectNotFound, let bucket = error.bucket, let object = error.object else {
            return error.message
        }
        return "No such object: \(bucket)/\(object)"
    }

    private static func status(of error: StorageError) -> Int {
        switch error.code {
        case .objectNotFound, .bucketNotFound, .projectNotFound: 404
        // A limit of the service is reached: a later request may succeed.
        case .quotaExceeded: error.retryable ? 503 : 402
        case .unauthenticated: 401
        case .unauthorized: 403
        case .preconditionFailed: 412
        case .nonMatchingChecksum, .downloadSizeExceeded, .invalidArgument, .bucketMismatch, .pathError: 400
        case .cancelled: 499
        case .retryLimitExceeded: 503
        case .unknown, .internalError: error.retryable ? 503 : 500
        }
    }
}

extension GatewayError {
    /// The error with a header's name as its client has sent it, instead of the name that Google has for it.
    func naming(_ sent: String) -> GatewayError {
        let name = HTTPServerRequest.googleName(of: sent)
        return name == sent ? self : named(sent, insteadOf: name)
    }

    func named(_ sent: String, insteadOf name: String) -> GatewayError {
        var error = self
        // A name may have capital letters in one message and none in another.
        for name in Set([name, name.lowercased()]) { error.message = error.message.replacing(name, with: sent) }
        return error
    }

    func response(isCloud: Bool) -> HTTPServerResponse {
        if dropsConnection { return .dropped }
        let reason = Self.reasons[status] ?? "backendError"
        let text = isCloud ? message : missingBucket.map { "Not Found.  Could not access bucket \($0)" } ?? message
        let error: [JSON.Member] = [
            .init(key: "code", value: JSON(Int64(status))), .init(key: "message", value: .string(text)),
            .init(
                key: "errors",
                value: [["message": .string(message), "domain": "global", "reason": .string(reason)]]),
        ]
        var response = HTTPServerResponse.json(
            ["error": .object(isCloud ? error : Array(error.prefix(2)))], status: status)
        for field in headers.fields { response.headers.add(field.name, field.value) }
        return response
    }

    private static let reasons = [
        400: "invalid", 401: "authError", 403: "forbidden", 404: "notFound", 405: "methodNotAllowed", 409: "conflict",
        412: "conditionNotMet", 413: "uploadTooLarge", 501: "notImplemented",
    ]
}

extension HTTPServerResponse {
    /// An error about the bytes of an object, whose answer has no body yet.
    var bareError: GatewayError? {
        guard case .none = body, !dropsConnection, let message = Self.errorsOfBytes[status] else { return nil }
        var error = GatewayError(status, message)
        error.headers = headers
        return error
    }

    private static let errorsOfBytes = [
        404: "The object is not there any more.", 412: "The object has another entity tag or time.",
        416: "The object has no byte in the range.",
    ]

    /// A resource with its entity tag. The header has no quotation marks, because clients compare it with the member.
    static func json(_ resource: JSON, tag: String) -> HTTPServerResponse {
        json(resource, headers: ["ETag": tag])
    }

    /// An object of the members that have a value.
    static func json(present members: KeyValuePairs<String, JSON?>) -> HTTPServerResponse {
        json(.object([JSON.Member](present: members)))
    }

    static func json(_ json: JSON, status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPServerResponse {
        var headers = headers
        headers["Content-Type"] = "application/json; charset=utf-8"
        return HTTPServerResponse(status, headers: headers, body: .bytes(json.bytes))
    }
}
