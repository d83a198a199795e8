import HTTPClient
import HTTPText
import JSONText

/// What the fixture answers; thrown where a request is refused.
struct Answer: Error, Sendable {
    var status = 200
    var headers = HTTPHeaders()
    var body: [UInt8] = []
    /// What is said of the body's length, where it is not the truth.
    var announced: Int?
    /// The bytes of an object with wrong headers.
    var trueFirstByte: Int64?

    static func text(_ status: Int, _ text: String) -> Answer {
        Answer(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    static func json(_ json: JSON, status: Int = 200) -> Answer {
        Answer(
            status: status, headers: ["Content-Type": "application/json; charset=UTF-8"], body: Array(json.text.utf8))
    }

    func with(_ name: String, _ value: String?) -> Answer {
        var answer = self
        answer.headers[name] = value
        return answer
    }

    /// As it goes over the wire, before the body.
    var head: [UInt8] {
        var lines = ["HTTP/1.1 \(status) \(reason)"] + headers.fields.map { "\($0.name): \($0.value)" }
        if status != 204 { lines.append("Content-Length: \(announced ?? body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private var reason: String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 308: "Resume Incomplete"
        case 499: "Client Closed Request"
        default: "Said So"
        }
    }
}

extension StorageFixture.Dialect {
    /// A refusal in the form that this protocol has for it.
    func refusal(_ status: Int, _ message: String? = nil) -> Answer {
        let message = message ?? usualMessage(status)
        switch self {
        case .firebase:
            return .json(["error": ["code": JSON(Int64(status)), "message": .string(message)]], status: status)
        case .gcs:
            let detail: JSON = [
                "message": .string(message), "domain": "global", "reason": .string(reason(status)),
            ]
            let error: JSON = ["code": JSON(Int64(status)), "message": .string(message), "errors": [detail]]
            return .json(["error": error], status: status)
        case .s3: return .s3(status, "InternalError", message)
        }
    }

    private func usualMessage(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request."
        case 401: self == .firebase ? "Unauthenticated request. Please see the documentation." : "Invalid Credentials"
        case 403: "Permission denied."
        case 404: "Not Found."
        case 410: "Gone."
        case 412: "At least one of the pre-conditions you specified did not hold."
        case 503: "Backend Error"
        default: "Status \(status)."
        }
    }

    private func reason(_ status: Int) -> String {
        switch status {
        case 401: "authError"
        case 403: "forbidden"
        case 404: "notFound"
        case 412: "conditionNotMet"
        case 500...: "backendError"
        default: "invalid"
        }
    }
}
