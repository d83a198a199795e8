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

    /// Throws 400 where the body is not multipart.
    @Loop func multipart() throws(GatewayError) -> MultipartReader {
        let type = header("Content-Type") ?? ""
        guard let boundary = MultipartBoundary(contentType: type) else {
            throw .badRequest("Bad content type. It must be multipart with a boundary, not \(type).")
        }
        return MultipartReader(boundary, body)
    }

    /// A body that is JSON. Throws 413 for a long one.
    @Loop func wholeBody() async throws -> [UInt8] {
        var all: [UInt8] = []
        while case let more = try await body.read(atMost: 64 << 10), !more.isEmpty {
            all += more
            guard all.count <= Self.mostJSON else { throw GatewayError(413, "The body is too long.") }
        }
        return all
    }
}

extension HTTPRequestBody.Failure {
    var gatewayError: GatewayError {
        if case .refused(let flaw) = self { return GatewayError(status, flaw) }
        return GatewayError(status, "The body cannot be read: \(self).")
    }
}

/// An upload in one request: a JSON resource, then the bytes.
@Loop final class MultipartUpload: ByteSource {
    private static let mostJSON = 1 << 20

    let resource: JSON
    let change: MetadataChange
    /// Of the headers of the request, and of those of the part with the bytes.
    let expected: IncomingBytes.Expected
    private let reader: MultipartReader

    init(_ request: GatewayRequest) async throws {
        reader = try request.multipart()
        do {
            guard try await reader.nextPart() != nil else { throw GatewayError.badRequest("The body has no parts.") }
            resource = try await JSON.object(reader.readAll(atMost: Self.mostJSON))
            guard let headers = try await reader.nextPart() else {
                throw GatewayError.badRequest("The body has one part; there must be two.")
            }
            try headers.checkPart()
            expected = try IncomingBytes.Expected(request.http.headers).adding(md5: headers["Content-MD5"])
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

    /// The bytes of the object. Throws 400 where another part follows them, or the body is cut.
    func read(atMost count: Int) async throws -> [UInt8] {
        do throws(MultipartReader.Failure) {
            let bytes = try await reader.read()
            if !bytes.isEmpty { return bytes }
            if try await reader.nextPart() == nil { return [] }
        } catch {
            throw error.gatewayError
        }
        throw GatewayError.badRequest("The body has more than two parts.")
    }
}

extension HTTPHeaders {
    /// Throws 501 where the content of a part is not the bytes themselves.
    func checkPart() throws(GatewayError) {
        for name in ["Content-Transfer-Encoding", "Content-Encoding"] {
            let codings = list(name).map { $0.lowercased() }
            guard codings.allSatisfy(["identity", "binary", "8bit", "7bit"].contains) else {
                throw GatewayError(
                    501, "\(name): \(codings.joined(separator: ", ")) is not served here in a part of a body.")
            }
        }
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
