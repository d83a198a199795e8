import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

extension HTTPRequestBody: ByteSource {}

extension GatewayRequest {
    /// The largest body of JSON in bytes: metadata, and lists of objects to compose.
    private static let mostJSON = 1 << 20

    /// Throws 400 where the body is not multipart.
    @Loop func multipart() throws(GatewayError) -> MultipartReader {
        let type = header("Content-Type") ?? ""
        guard let boundary = MultipartBoundary(contentType: type) else {
            throw .badRequest("Bad content type. It must be multipart with a boundary, not \(type).")
        }
        return MultipartReader(boundary, body)
    }

    /// Throws 411 for a body with an object's bytes whose length no header tells: it would count as empty.
    func checkHasLength() throws(GatewayError) {
        guard header("Content-Length") == nil, header("Transfer-Encoding") == nil else { return }
        throw GatewayError(411, "The bytes of an object need a Content-Length, or a chunked body.")
    }

    /// Throws 400 where the header announces another length than the body has.
    ///
    /// - Parameter isWhole: whether the body consists of the object's bytes alone.
    @Loop func checkAnnounced(_ header: String, isWhole: Bool = true) throws(GatewayError) {
        guard let announced = try length(header) else { return }
        guard isWhole, let length = body.length else {
            throw GatewayError(501, "The header \(header) is not served here.")
        }
        guard announced == length else {
            throw .badRequest("\(header) says \(announced), but the body has \(length) bytes.")
        }
    }

    /// Returns when the answer may have this number of bytes in memory. Throws 503.
    @Loop func expectAnswer(of bytes: Int) async throws { try await http.body.expectAnswer(of: bytes) }

    /// Throws 400 where the request has a body.
    @Loop func checkIsEmpty(_ why: String) async throws {
        guard try await body.read(atMost: 1).isEmpty else { throw GatewayError.badRequest(why) }
    }

    /// Reads a body of JSON. Throws 413 for a long one.
    @Loop func wholeBody() async throws -> [UInt8] {
        try await body.readAll(atMost: Self.mostJSON)
    }
}

extension HTTPRequestBody.Failure {
    var gatewayError: GatewayError {
        if case .refused(let flaw) = self {
            return GatewayError(status, code: flaw.hasPrefix("BadDigest") ? "BadDigest" : "InvalidRequest", flaw)
        }
        guard case .noRoom = self else { return GatewayError(status, "The body cannot be read: \(self).") }
        var error = GatewayError(
            status,
            "The requests or answers of all clients together take too much memory: send the request again later "
                + "(--max-total-message-bytes, --max-total-unread-bytes).")
        error.headers["Retry-After"] = "1"
        return error
    }
}

/// The content of the last part of a multipart body.
@Loop final class LastPart: ByteSource {
    private let reader: MultipartReader
    private let body: HTTPRequestBody
    /// Describes the flaw of a body where a part with these headers follows.
    private let follower: (HTTPHeaders) throws(GatewayError) -> String
    /// Throws for a number of bytes, so far or in all, that the part may not have.
    private let check: (Int64, _ isWhole: Bool) throws(GatewayError) -> Void
    private var count: Int64 = 0

    init(
        _ reader: MultipartReader, _ body: HTTPRequestBody,
        follower: @escaping (HTTPHeaders) throws(GatewayError) -> String,
        check: @escaping (Int64, _ isWhole: Bool) throws(GatewayError) -> Void
    ) {
        (self.reader, self.body, self.follower, self.check) = (reader, body, follower, check)
    }

    func mayKeep(_ bytes: Int) -> Bool { body.mayKeep(bytes) }

    /// Throws 400 where another part follows, or the body is cut.
    func read(atMost limit: Int) async throws -> [UInt8] {
        let bytes = try await reader.read()
        if bytes.isEmpty, let next = try await reader.nextPart() { throw try GatewayError.badRequest(follower(next)) }
        count += Int64(bytes.count)
        try check(count, bytes.isEmpty)
        return bytes
    }
}

extension HTTPHeaders {
    /// Throws 501 for a part with a coding, or with a header that has a meaning and is not served, and 400 for a header
    /// with two values.
    func checkPart() throws(GatewayError) {
        try checkRepetitions()
        for name in ["Content-Transfer-Encoding", "Content-Encoding"] {
            let codings = list(name).map { $0.lowercased() }
            guard codings.allSatisfy(["identity", "binary", "8bit", "7bit"].contains) else {
                throw GatewayError(
                    501, "\(name): \(codings.joined(separator: ", ")) is not served here in a part of a body.")
            }
        }
        for field in fields where ObjectHeaders.isUnservedInPart(field.name.lowercased(), field.value) {
            throw GatewayError(501, "The header \(field.name) is not served here in a part of a body.")
        }
    }

    /// Checks a part that has no bytes of an object.
    func checkPartWithoutBytes() throws(GatewayError) {
        try checkPart()
        for name in ["Content-MD5", "x-goog-hash"] where self[name] != nil {
            throw GatewayError(501, "The header \(name) is not served here in a part without bytes of an object.")
        }
    }

    /// Checks the part with the resource, which has this number of bytes.
    func checkPart(of count: Int64) throws(GatewayError) {
        try checkPartWithoutBytes()
        guard let length = try partLength(), length != count else { return }
        throw Self.wrongLength(length, count)
    }

    func partLength() throws(GatewayError) -> Int64? {
        guard let text = self["Content-Length"] else { return nil }
        guard let length = Int64(digits: text) else { throw .badRequest("Content-Length is no length: \(text)") }
        return length
    }

    static func wrongLength(_ said: Int64?, _ count: Int64) -> GatewayError {
        .badRequest("A part of the body has \(count) bytes, but its Content-Length says \(said ?? 0).")
    }
}
