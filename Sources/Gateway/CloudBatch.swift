import HTTPServer
import HTTPText
import Platform

/// Several requests in one: `POST /batch/storage/v1`, a multipart body of HTTP requests, answered in their order.
@Loop struct CloudBatch: GatewayAPI {
    let isCloud = true
    private static let mostParts = 100
    /// In bytes, of one request.
    private static let mostBytes = 1 << 20
    private static let boundary = "batch_storage_rpc"

    let request: GatewayRequest
    let answerOne: @Loop (HTTPServerRequest, [UInt8]) async -> HTTPServerResponse

    func answer() async throws -> HTTPServerResponse {
        var body: [UInt8] = []
        let reader = try request.multipart()
        do {
            var count = 0
            while let headers = try await reader.nextPart() {
                count += 1
                guard count <= Self.mostParts else {
                    throw GatewayError.badRequest("A batch has at most \(Self.mostParts) requests.")
                }
                let part = try await reader.readAll(atMost: Self.mostBytes)
                body += await response(to: part, id: headers["Content-ID"] ?? "")
            }
        } catch let error as MultipartReader.Failure {
            throw error.gatewayError
        }
        body += "--\(Self.boundary)--\r\n".utf8
        return HTTPServerResponse(
            200, headers: ["Content-Type": "multipart/mixed; boundary=\(Self.boundary)"], body: .bytes(body))
    }

    private func response(to part: [UInt8], id: String) async -> [UInt8] {
        var response: HTTPServerResponse
        if let (inner, body) = Self.request(part, host: request.header("Host")) {
            response = await answerOne(inner, body)
        } else {
            response = GatewayError.badRequest("A request of the batch is malformed.").response(isCloud: true)
        }
        var content: [UInt8] = []
        switch response.body {
        case .none: break
        case .bytes(let bytes): content = bytes
        case .file, .unopened, .unpacked:
            response = GatewayError.badRequest("A batch has no bytes of objects.").response(isCloud: true)
            if case .bytes(let bytes) = response.body { content = bytes }
        }
        response.headers["Content-Length"] = "\(content.count)"
        let plain = id.hasPrefix("<") ? "<response-" + id.dropFirst() : "response-" + id
        var lines = [
            "--\(Self.boundary)", "Content-Type: application/http", "Content-ID: \(plain)", "",
            "HTTP/1.1 \(response.status) \(response.status < 300 ? "OK" : "Error")",
        ]
        lines += response.headers.fields.map { "\($0.name): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + content + Array("\r\n".utf8)
    }

    /// A request line, headers, and what is behind an empty line.
    private static func request(_ part: [UInt8], host: String?) -> (HTTPServerRequest, body: [UInt8])? {
        let lines = part.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { $0.last == 0x0D ? $0.dropLast() : $0 }
        guard let first = lines.first else { return nil }
        let words = String(decoding: first, as: UTF8.self).split(separator: " ")
        guard words.count >= 2, let method = HTTPServerRequest.Method(rawValue: String(words[0])) else { return nil }
        // Some clients write the whole URL.
        var target = words[1]
        if let scheme = target.firstRange(of: "://") {
            target = target[scheme.upperBound...].drop { $0 != "/" }
        }
        guard target.hasPrefix("/") else { return nil }
        let end = target.firstIndex(of: "?")
        var headers = HTTPHeaders()
        var count = 1
        for line in lines.dropFirst() {
            count += 1
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: 0x3A), isToken(line[..<colon]) else { return nil }
            headers.add(
                String(decoding: line[..<colon], as: UTF8.self),
                String(trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self)[...])))
        }
        if let host { headers["Host"] = host }
        let body = lines.dropFirst(count).joined(separator: [0x0A])
        let request = HTTPServerRequest(
            String(target[..<(end ?? target.endIndex)]), method: method,
            query: end.map { String(target[target.index(after: $0)...]) }, headers: headers)
        return (request, Array(body))
    }
}
