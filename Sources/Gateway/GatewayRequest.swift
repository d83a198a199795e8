import FoundationEssentials
import HTTPServer
import HTTPText
import JSONText
import Storage

/// A request of an SDK. Path segments and query are decoded, each exactly once.
struct GatewayRequest {
    let http: HTTPServerRequest
    /// Decoded; a slash that was escaped is part of its segment.
    let path: [String]
    let body: HTTPRequestBody
    private let query: [String: String]

    /// Throws 400 where the path or the query is not percent-encoded UTF-8.
    init(_ http: HTTPServerRequest, _ body: HTTPRequestBody) throws(GatewayError) {
        (self.http, self.body) = (http, body)
        var path: [String] = []
        for segment in http.path.split(separator: "/") {
            guard let decoded = percentDecoded(segment) else { throw .badRequest("The path is not UTF-8: \(segment)") }
            path.append(decoded)
        }
        self.path = path
        var query: [String: String] = [:]
        for item in http.queryItems {
            guard let name = item.name else { throw .badRequest("The query is not UTF-8: \(item.rawName)") }
            guard item.rawValue == nil || item.value != nil else {
                throw .badRequest("The value of \(name) is not UTF-8.")
            }
            query[name] = item.value ?? ""
        }
        self.query = query
    }

    subscript(name: String) -> String? { query[name] }

    func header(_ name: String) -> String? { http.headers[name] }

    /// As in the URLs of answers.
    var base: String { "http://\(header("Host") ?? "localhost")" }

    /// A number of the query. Throws 400 for another text.
    func integer(_ name: String) throws(GatewayError) -> Int64? {
        guard let text = query[name] else { return nil }
        guard let value = Int64(text) else { throw .badRequest("\(name) is no integer: \(text)") }
        return value
    }

    /// A number of a header. Throws 400 for another text.
    func length(_ header: String) throws(GatewayError) -> Int64? {
        guard let text = self.header(header) else { return nil }
        guard let value = Int64(text), value >= 0 else { throw .badRequest("\(header) is no length: \(text)") }
        return value
    }

    /// Those of Google Cloud Storage that must match.
    func preconditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            generation: try integer("ifGenerationMatch"), metageneration: try integer("ifMetagenerationMatch"))
    }
}

/// An answer that is no success, before its dialect gives it a form.
struct GatewayError: Error {
    var status: Int
    var message: String
    var headers: HTTPHeaders = [:]
    /// The connection closes without an answer.
    var dropsConnection = false

    init(_ status: Int, _ message: String) { (self.status, self.message) = (status, message) }

    static func badRequest(_ message: String) -> GatewayError { GatewayError(400, message) }
    static let notFound = GatewayError(404, "Not Found")

    init(_ error: StorageError) {
        self.init(error.httpStatus ?? Self.status(of: error), error.message)
        dropsConnection = error.dropsConnection == true
    }

    private static func status(of error: StorageError) -> Int {
        switch error.code {
        case .objectNotFound, .bucketNotFound, .projectNotFound: 404
        // A bound of the service makes room again.
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

extension JSON {
    /// Throws 400 unless the bytes are a JSON object; no bytes, and null, are an empty one.
    static func object(_ bytes: [UInt8]) throws(GatewayError) -> JSON {
        if bytes.isEmpty { return [:] }
        guard let json = JSON(wire: bytes), json.isNull || json.object != nil else {
            throw .badRequest("The metadata is no JSON object.")
        }
        return json.isNull ? [:] : json
    }
}
