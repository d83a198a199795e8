import HTTPServer
import HTTPText
import Platform

/// Several requests in one: `POST /batch/storage/v1`, a multipart body of HTTP requests, answered in their order.
///
/// All requests are read before the first one begins. When the answers take too many bytes or too much time, the
/// requests that are left are answered with an error, and not carried out.
@Loop struct CloudBatch {
    /// The bounds of one batch.
    struct Bounds {
        /// The maximum number of requests, as at Google.
        var requests = 100
        /// The maximum size of one request in bytes.
        var requestBytes = 1 << 20
        /// The maximum size of all requests in bytes.
        var bytes = 10 << 20
        /// The maximum size of all answers in bytes.
        var answerBytes = 16 << 20
        /// The time after which no request begins.
        var time = Duration.seconds(30)
    }

    /// A part of the batch: a request, or the error that answers a malformed one.
    private struct Part {
        let id: String
        let request: Result<(HTTPServerRequest, body: [UInt8]), GatewayError>
    }

    let request: GatewayRequest
    let bounds: Bounds
    /// The time since the batch has begun.
    let elapsed: @Sendable () -> Duration
    let answerOne: @Loop (HTTPServerRequest, [UInt8]) async -> HTTPServerResponse

    func answer() async throws -> HTTPServerResponse {
        // The body is in memory beside the parts.
        try await request.body.keep(2 * bounds.bytes)
        let parts = try await parts()
        try await request.expectAnswer(of: mostAnswerBytes(to: parts))
        // Random, so that no metadata can have it.
        let boundary = "batch_\(RandomSource.secure.uuid())"
        var body: [UInt8] = []
        for part in parts {
            let (response, content) = await answer(to: part, room: bounds.answerBytes - body.count)
            let id = part.id.hasPrefix("<") ? "<response-" + part.id.dropFirst() : "response-" + part.id
            body += Array("--\(boundary)\r\n".utf8)
            body +=
                HTTPHeaders([.init("Content-Type", "application/http"), .init("Content-ID", id)]).lines
                + Array("\r\n".utf8)
            body += Array("HTTP/1.1 \(response.status) \(response.status < 300 ? "OK" : "Error")\r\n".utf8)
            body += response.headers.lines + Array("\r\n".utf8) + content + Array("\r\n".utf8)
        }
        body += "--\(boundary)--\r\n".utf8
        return HTTPServerResponse(
            200, headers: ["Content-Type": "multipart/mixed; boundary=\(boundary)"], body: .bytes(body))
    }

    /// An estimate of the bytes of all answers: lists are long, other answers have the metadata of one object. Each
    /// answer is in memory beside the earlier ones.
    private func mostAnswerBytes(to parts: [Part]) -> Int {
        let bytes = parts.reduce(0) { bytes, part in
            guard case .success((let inner, _)) = part.request, inner.method == .get,
                ["o", "b"].contains(inner.path.split(separator: "/").last)
            else { return bytes + Self.bytesOfAnswer }
            return bytes + bounds.answerBytes
        }
        return min(bytes, 2 * bounds.answerBytes)
    }

    private static let bytesOfAnswer = 16 << 10

    // MARK: - Requests

    private func parts() async throws -> [Part] {
        let reader = try request.multipart()
        var (parts, bytes) = ([Part](), 0)
        while let headers = try await reader.nextPart() {
            guard parts.count < bounds.requests else {
                throw GatewayError.badRequest("A batch has at most \(bounds.requests) requests.")
            }
            let part = try await reader.readAll(atMost: bounds.requestBytes)
            bytes += part.count
            guard bytes <= bounds.bytes else {
                throw GatewayError(413, "The requests of a batch have at most \(bounds.bytes) bytes.")
            }
            parts.append(Part(id: headers["Content-ID"] ?? "", request: request(in: part, headers)))
        }
        return parts
    }

    /// Parses a part with these headers of its own.
    private func request(
        in part: [UInt8], _ headers: HTTPHeaders
    ) -> Result<(HTTPServerRequest, body: [UInt8]), GatewayError> {
        do throws(GatewayError) { try headers.checkPartWithoutBytes() } catch { return .failure(error) }
        let type = headers["Content-Type"]?.prefix { $0 != ";" }.lowercased() ?? "application/http"
        guard type.filter({ $0 != " " }) == "application/http" else {
            return .failure(.badRequest("A part of a batch is application/http, not \(type)."))
        }
        if let text = headers["Content-Length"], !Self.isLength(text, of: part[...]) {
            return .failure(
                .badRequest("A part of the batch has \(part.count) bytes, but its Content-Length says \(text)."))
        }
        return request(in: part)
    }

    /// Whether the text is the length of the bytes. Clients end a part with a line of their own.
    private static func isLength(_ text: String, of bytes: ArraySlice<UInt8>) -> Bool {
        guard let length = Int64(digits: text), length <= bytes.count else { return false }
        return bytes.dropFirst(Int(length)).allSatisfy { $0 == 0x0D || $0 == 0x0A || $0 == 0x20 }
    }

    /// Parses a request line, headers, and the body behind an empty line. The head has the bounds of any other request.
    private func request(in part: [UInt8]) -> Result<(HTTPServerRequest, body: [UInt8]), GatewayError> {
        let malformed = GatewayError.badRequest("A request of the batch is malformed.")
        guard let (head, body) = Self.head(of: part) else {
            return .failure(.badRequest("The head of a request of the batch is too long."))
        }
        let words = String(decoding: head[0], as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        // Google's examples leave out the version.
        guard words.count == 2 || words.count == 3 && ["HTTP/1.0", "HTTP/1.1"].contains(words[2]),
            let method = HTTPServerRequest.Method(rawValue: String(words[0])),
            let (host, path, query) = Self.target(words[1])
        else { return .failure(malformed) }
        var headers = HTTPHeaders()
        for line in head.dropFirst() {
            guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }), let field = HTTPHeaders.Field(line: line)
            else { return .failure(malformed) }
            guard HTTPHeaders.Field.isText(line) else {
                return .failure(.badRequest("The value of the header \(field.name) is not UTF-8."))
            }
            headers.add(field.name, field.value)
        }
        let (own, named) = (self.request.header("Host"), [host].compactMap(\.self) + headers.all("Host"))
        if let other = named.first(where: { $0 != own && !$0.hasSuffix(".googleapis.com") }) {
            return .failure(.badRequest("A request of the batch is for another server: \(other.prefix(200))"))
        }
        headers["Host"] = own
        if let coding = headers["Transfer-Encoding"] {
            return .failure(
                GatewayError(501, "Transfer-Encoding: \(coding.prefix(200)) is not served here in a batch."))
        }
        if let text = headers["Content-Length"], !Self.isLength(text, of: body) {
            return .failure(
                .badRequest("A request of the batch has \(body.count) bytes, but its Content-Length says \(text)."))
        }
        let request = HTTPServerRequest(path, method: method, query: query, headers: headers)
        return .success((request, Array(body)))
    }

    /// Splits a part into the lines of its head, at least one, and its body. Nil beyond the bounds of a head.
    private static func head(of part: [UInt8]) -> (lines: [ArraySlice<UInt8>], body: ArraySlice<UInt8>)? {
        let limits = HTTPServerLimits()
        var (lines, rest): ([ArraySlice<UInt8>], ArraySlice) = ([], part[...])
        while !rest.isEmpty || lines.isEmpty {
            let end = rest.prefix(limits.lineBytes + 2).firstIndex(of: 0x0A)
            guard end != nil || rest.count <= limits.lineBytes else { return nil }
            let line = rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[($0 + 1)...] } ?? []
            if line.isEmpty || line.elementsEqual([0x0D]), !lines.isEmpty { break }
            lines.append(line.last == 0x0D ? line.dropLast() : line)
            guard lines.count <= limits.headers, part.count - rest.count <= limits.headBytes else { return nil }
        }
        return (lines, rest)
    }

    /// Splits the target of a request line, which is a path with a query, or a whole URL.
    private static func target(_ text: Substring) -> (host: String?, path: String, query: String?)? {
        var (target, host) = (text, String?.none)
        if let scheme = target.firstRange(of: "://"), !target.hasPrefix("/") {
            let rest = target[scheme.upperBound...]
            host = String(rest.prefix { $0 != "/" })
            target = rest.drop { $0 != "/" }
        }
        guard target.hasPrefix("/"), target.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") }) else {
            return nil
        }
        let end = target.firstIndex(of: "?")
        return (
            host, String(target[..<(end ?? target.endIndex)]), end.map { String(target[target.index(after: $0)...]) }
        )
    }

    // MARK: - Answers

    /// Answers a part within `room` bytes.
    private func answer(to part: Part, room: Int) async -> (HTTPServerResponse, content: [UInt8]) {
        let (inner, body): (HTTPServerRequest, [UInt8])
        switch part.request {
        case .failure(let error): return Self.refused(error)
        case .success(let request): (inner, body) = request
        }
        guard room > 0 else { return refusedForRoom }
        guard elapsed() < bounds.time else {
            return Self.refused(GatewayError(503, "The batch has taken \(bounds.time): send this request again."))
        }
        var response = await answerOne(inner, body)
        var content: [UInt8] = []
        switch response.body {
        case .none: break
        case .bytes(let bytes): content = bytes
        case .file, .unopened, .unpacked: return Self.refused(.badRequest("A batch has no bytes of objects."))
        }
        // Answers to what has changed something are small.
        if content.count > room, inner.method == .get { return refusedForRoom }
        response.headers["Content-Length"] = "\(content.count)"
        return (response, content)
    }

    private var refusedForRoom: (HTTPServerResponse, content: [UInt8]) {
        Self.refused(
            GatewayError(
                413, "The answers of a batch have at most \(bounds.answerBytes) bytes: send this request alone."))
    }

    private static func refused(_ error: GatewayError) -> (HTTPServerResponse, content: [UInt8]) {
        var response = error.response(isCloud: true)
        guard case .bytes(let content) = response.body else { return (response, []) }
        response.headers["Content-Length"] = "\(content.count)"
        return (response, content)
    }
}

extension CloudBatch {
    init(_ call: Call) {
        self.init(
            request: call.request, bounds: .init(), elapsed: call.service.time.clock.stopwatch(),
            answerOne: call.answerInBatch)
    }
}

extension GatewayRequest {
    /// Throws 400 for an upload, bytes of an object, or another batch: as at Google, a batch is about metadata.
    func checkIsForBatch(_ route: Route) throws(GatewayError) {
        guard target.api == .cloud, target.path.first == "b", self["alt"] != "media",
            !route.headers.contains("x-goog-hash")
        else {
            throw .badRequest(
                "A batch has only requests of /storage/v1 for metadata, not \(http.method.rawValue) "
                    + "\(http.path.prefix(200)).")
        }
    }
}
