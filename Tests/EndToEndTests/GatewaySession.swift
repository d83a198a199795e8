import HTTPText
import JSONText
import Testing

/// A resumable upload of one of the APIs, as its client sees it.
struct GatewaySession {
    enum Kind: String, CaseIterable {
        case firebase, cloud, cloudCommanded, xml

        var isCommanded: Bool { self == .firebase || self == .cloudCommanded }
    }

    static let granularity = 256 << 10

    let kind: Kind
    let gateway: GatewayClient
    let url: String

    /// Starts the upload of an object that is named after the kind.
    ///
    /// - Parameter resource: the JSON of the start, which the XML API lacks.
    init(_ kind: Kind, _ gateway: GatewayClient, _ resource: String = "{}") async throws {
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=\(kind)"
        let commands: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let answer =
            switch kind {
            case .firebase: try await gateway.send("POST", "\(gateway.v0)?name=\(kind)", resource, commands)
            case .cloud: try await gateway.send("POST", path, resource)
            case .cloudCommanded: try await gateway.send("POST", path, resource, commands)
            case .xml: try await gateway.send("POST", "/\(gateway.bucket)/\(kind)", "", ["x-goog-resumable": "start"])
            }
        (self.kind, self.gateway) = (kind, gateway)
        url = try #require(answer.headers[kind.isCommanded ? "X-Goog-Upload-URL" : "Location"])
    }

    /// The status of the answer to bytes that are not the last ones.
    var received: Int { kind.isCommanded ? 200 : 308 }

    private var method: String { kind.isCommanded ? "POST" : "PUT" }

    /// The headers of a request with bytes.
    ///
    /// - Parameter isLast: the object ends with these bytes.
    private func headers(_ range: Range<Int>, isLast: Bool) -> HTTPHeaders {
        guard kind.isCommanded else {
            let total = isLast ? "\(range.upperBound)" : "*"
            return [
                "Content-Range": range.isEmpty
                    ? "bytes */\(total)" : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
            ]
        }
        let command = !isLast ? "upload" : range.isEmpty ? "finalize" : "upload, finalize"
        return ["X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": "\(range.lowerBound)"]
    }

    /// Sends the bytes of a range of the object.
    func send(
        _ object: [UInt8], _ range: Range<Int>, isLast: Bool, _ more: HTTPHeaders = [:]
    ) async throws -> GatewayClient.Answer {
        let fields = headers(range, isLast: isLast).fields + more.fields
        return try await gateway.send(method, url, bytes: Array(object[range]), HTTPHeaders(fields))
    }

    /// Sends the first bytes of a request with a range of the object.
    func begin(
        _ object: [UInt8], _ range: Range<Int>, isLast: Bool, sending count: Int, _ more: HTTPHeaders = [:]
    ) throws -> Visitor {
        var fields = HTTPHeaders(headers(range, isLast: isLast).fields + more.fields)
        fields["Host"] = gateway.base.replacing("http://", with: "")
        fields["Content-Length"] = "\(range.count)"
        fields["Connection"] = "close"
        let lines = fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        let head = "\(method) \(url.replacing(gateway.base, with: "")) HTTP/1.1\r\n\(lines)\r\n"
        let visitor = try gateway.visitor()
        try visitor.send(Array(head.utf8) + object[range].prefix(count))
        return visitor
    }

    /// The number of bytes that the session says it has.
    func told() async throws -> Int {
        guard kind.isCommanded else {
            let answer = try await gateway.send("PUT", url, "", ["Content-Range": "bytes */*"])
            #expect(answer.status == 308)
            return answer.headers["Range"].flatMap { Int($0.dropFirst("bytes=0-".count)) }.map { $0 + 1 } ?? 0
        }
        let answer = try await gateway.command(url, "query")
        return try #require(answer.headers["X-Goog-Upload-Size-Received"].flatMap { Int($0) })
    }

    func cancel() async throws -> GatewayClient.Answer {
        kind.isCommanded ? try await gateway.command(url, "cancel") : try await gateway.send("DELETE", url)
    }

    /// The bytes of the object; nil without an object.
    func stored() async throws -> [UInt8]? {
        let answer = try await gateway.get("\(gateway.gcs)/\(kind)?alt=media")
        return answer.status == 404 ? nil : answer.body
    }
}
