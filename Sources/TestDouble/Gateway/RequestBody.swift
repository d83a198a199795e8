import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

extension HTTPRequestBody: ByteSource {}

extension GatewayRequest {
    /// In bytes: metadata, and lists of objects to compose.
    private static let mostJSON = 1 << 20
    /// An estimate of much metadata.
    private static let bytesOfEntry = 16 << 10

    /// Throws 400 where the body is not multipart.
    @Loop func multipart() throws(GatewayError) -> MultipartReader {
        let type = header("Content-Type") ?? ""
        guard let boundary = MultipartBoundary(contentType: type) else {
            throw .badRequest("Bad content type. It must be multipart with a boundary, not \(type).")
        }
        return MultipartReader(boundary, body)
    }

    /// Throws 411 where nothing says how long the body with an object's bytes is: it would be taken for empty.
    func checkHasLength() throws(GatewayError) {
        guard header("Content-Length") == nil, header("Transfer-Encoding") == nil else { return }
        throw GatewayError(411, "The bytes of an object need a Content-Length, or a chunked body.")
    }

    /// Throws where the header announces another length than the body has.
    ///
    /// - Parameter isWhole: the body is the object.
    @Loop func checkAnnounced(_ header: String, isWhole: Bool = true) throws(GatewayError) {
        guard let announced = try length(header) else { return }
        guard isWhole, let length = body.length else {
            throw GatewayError(501, "The header \(header) is not served here.")
        }
        guard announced == length else {
            throw .badRequest("\(header) says \(announced), but the body has \(length) bytes.")
        }
    }

    /// Returns when the answer may have so many bytes in memory. Throws 503.
    @Loop func expectAnswer(of bytes: Int) async throws { try await http.body.expectAnswer(of: bytes) }

    /// Returns when the answer may list so many objects or buckets with their metadata. Throws 503.
    @Loop func expectList(of count: Int) async throws { try await expectAnswer(of: (count + 1) * Self.bytesOfEntry) }

    /// A body that is JSON. Throws 413 for a long one.
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

/// An upload in one request.
typealias WholeUpload = (
    bytes: any ByteSource, resource: JSON, change: MetadataChange, expected: Checksums
)

/// An upload in one request: a JSON resource, then the bytes.
@Loop final class MultipartUpload: ByteSource {
    private static let mostJSON = 1 << 20

    let resource: JSON
    let change: MetadataChange
    /// Of the headers of the request, and of those of the part with the bytes.
    let expected: Checksums
    private let reader: MultipartReader
    private let body: HTTPRequestBody
    /// What the part with the bytes says of its length.
    private let size: Int64?
    private var bytesRead: Int64 = 0

    init(_ request: GatewayRequest) async throws {
        reader = try request.multipart()
        body = request.body
        do {
            guard let first = try await reader.nextPart() else {
                throw GatewayError.badRequest("The body has no parts.")
            }
            let json = try await reader.readAll(atMost: Self.mostJSON)
            try first.checkPart(of: Int64(json.count))
            resource = try JSON.object(json)
            guard let headers = try await reader.nextPart() else {
                throw GatewayError.badRequest("The body has one part; there must be two.")
            }
            try headers.checkPart()
            size = try headers.partLength()
            let ofPart = try Checksums(headers).adding(md5: headers["Content-MD5"])
            expected = try Checksums(request.http.headers).adding(ofPart)
            var change = try MetadataChange(resource: resource)
            let type = request.header("x-upload-content-type") ?? headers["Content-Type"]
            if let type, resource["contentType"] == nil { change.content[.contentType] = type }
            if let encoding = request["contentEncoding"], resource["contentEncoding"] == nil {
                change.content[.contentEncoding] = encoding
            }
            self.change = change
        } catch let error as MultipartReader.Failure {
            throw error.gatewayError
        }
    }

    func mayKeep(_ bytes: Int) -> Bool { body.mayKeep(bytes) }

    /// The bytes of the object. Throws 400 where another part follows them, or the body is cut.
    func read(atMost count: Int) async throws -> [UInt8] {
        do throws(MultipartReader.Failure) {
            let bytes = try await reader.read()
            bytesRead += Int64(bytes.count)
            if !bytes.isEmpty { return bytes }
            guard try await reader.nextPart() == nil else {
                throw MultipartReader.Failure.malformed("The body has more than two parts.")
            }
        } catch {
            throw error.gatewayError
        }
        guard size ?? bytesRead == bytesRead else { throw HTTPHeaders.wrongLength(size, bytesRead) }
        return []
    }
}

extension HTTPHeaders {
    /// Throws 501 where the content of a part is not the bytes themselves, or a header would have a meaning if it were
    /// served.
    func checkPart() throws(GatewayError) {
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

    /// Of the part with the resource, which has so many bytes.
    fileprivate func checkPart(of count: Int64) throws(GatewayError) {
        try checkPart()
        for name in ["Content-MD5", "x-goog-hash"] where self[name] != nil {
            throw GatewayError(501, "The header \(name) is not served here in the part with the metadata.")
        }
        guard let length = try partLength(), length != count else { return }
        throw Self.wrongLength(length, count)
    }

    fileprivate func partLength() throws(GatewayError) -> Int64? {
        guard let text = self["Content-Length"] else { return nil }
        guard let length = Int64(digits: text) else { throw .badRequest("Content-Length is no length: \(text)") }
        return length
    }

    fileprivate static func wrongLength(_ said: Int64?, _ count: Int64) -> GatewayError {
        .badRequest("A part of the body has \(count) bytes, but its Content-Length says \(said ?? 0).")
    }
}

extension MultipartReader.Failure {
    var gatewayError: GatewayError {
        switch self {
        case .body(let failure): failure.gatewayError
        case .malformed(let why): .badRequest(why)
        }
    }
}
