import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// Objects at `/BUCKET/NAME`: public and signed URLs of Google Cloud Storage, whose signatures are not looked at, and forms
/// (signed post policies) at `/BUCKET`.
@Loop struct ObjectAPI: GatewayAPI {
    let isCloud = true
    private let service: GatewayService
    private let request: GatewayRequest
    private let bucket: String
    /// Empty for the bucket itself.
    private let name: String

    /// Throws 404 where the path names no bucket.
    init(service: GatewayService, request: GatewayRequest) throws(GatewayError) {
        (self.service, self.request) = (service, request)
        let parts = request.http.path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let bucket = percentDecoded(parts[0]), !bucket.isEmpty else { throw .notFound }
        guard let name = percentDecoded(parts.count > 1 ? parts[1] : "") else {
            throw .badRequest("The path is not UTF-8.")
        }
        (self.bucket, self.name) = (bucket, name)
    }

    func answer() async throws -> HTTPServerResponse {
        if name.isEmpty {
            guard request.http.method == .post else { throw GatewayError.notFound }
            return try await takeForm()
        }
        let object = try Reference(bucket: bucket, object: name)
        switch request.http.method {
        case .get, .head: return try await service.media(of: object, for: request, request.check)
        case .put: return try await put(object)
        case .delete:
            try await service.backend.delete(object, if: request.preconditions(), for: service.caller)
            return HTTPServerResponse(204)
        case .post, .patch, .options: throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func put(_ object: Reference) async throws -> HTTPServerResponse {
        var expected = IncomingBytes.Expected()
        try expected.take(request.http.headers)
        let change = Self.change(request.http.headers.fields.map { ($0.name, $0.value) })
        let stored = try await service.store(request.body, to: object, change, if: request.preconditions(), expected)
        return HTTPServerResponse(200, headers: ["x-goog-generation": "\(stored.generation)"])
    }

    /// The metadata that headers, or the fields of a form, name.
    private static func change(_ fields: [(name: String, value: String)]) -> MetadataChange {
        var change = MetadataChange()
        var custom: ByteKeyedDictionary<String?> = [:]
        for (name, value) in fields {
            switch name.lowercased() {
            case "content-type": change.content[.contentType] = value
            case "cache-control": change.content[.cacheControl] = value
            case "content-disposition": change.content[.contentDisposition] = value
            case "content-encoding": change.content[.contentEncoding] = value
            case "content-language": change.content[.contentLanguage] = value
            case let other where other.hasPrefix("x-goog-meta-"): custom[String(other.dropFirst(12))] = .some(value)
            default: break
            }
        }
        if !custom.isEmpty { change.custom = .merge(custom) }
        return change
    }

    // MARK: - Forms

    /// Of all fields but the file together.
    private static let mostFieldBytes = 64 << 10
    private static let mostFields = 200

    /// `key` names the object, and `file` has its bytes; fields behind it are ignored.
    private func takeForm() async throws -> HTTPServerResponse {
        let reader = try request.multipart()
        var fields: [(name: String, value: String)] = []
        var bytesLeft = Self.mostFieldBytes
        do {
            while let headers = try await reader.nextPart() {
                let disposition = headers["Content-Disposition"] ?? ""
                guard let field = Self.parameter("name", of: disposition) else {
                    throw GatewayError.badRequest("A field of the form has no name.")
                }
                if field == "file" {
                    let (file, type) = (Self.parameter("filename", of: disposition) ?? "", headers["Content-Type"])
                    return try await store(PartBytes(reader), named: file, type, fields)
                }
                guard fields.count < Self.mostFields else {
                    throw GatewayError.badRequest("The form has too many fields.")
                }
                bytesLeft -= field.utf8.count
                guard bytesLeft >= 0 else { throw MultipartReader.Failure.body(.tooLarge) }
                let value = try await reader.readAll(atMost: bytesLeft)
                bytesLeft -= value.count
                fields.append((field, String(decoding: value, as: UTF8.self)))
            }
        } catch let error as MultipartReader.Failure {
            throw error.gatewayError
        }
        throw GatewayError.badRequest("The form has no file.")
    }

    private func store(
        _ source: any ByteSource, named file: String, _ type: String?, _ fields: [(name: String, value: String)]
    ) async throws -> HTTPServerResponse {
        func field(_ name: String) -> String? { fields.last { $0.name.lowercased() == name }?.value }
        guard let key = field("key"), !key.isEmpty else {
            throw GatewayError.badRequest("The form has no key before its file.")
        }
        let object = try Reference(bucket: bucket, object: key.replacing("${filename}", with: file))
        var change = Self.change(fields)
        if change.content[.contentType] == nil, let type { change.content[.contentType] = type }
        _ = try await service.store(source, to: object, change, if: Preconditions(), .init())
        if let target = field("success_action_redirect") {
            return HTTPServerResponse(303, headers: ["Location": target])
        }
        return HTTPServerResponse(["200": 200, "201": 201][field("success_action_status") ?? ""] ?? 204)
    }

    /// A parameter of a header such as `form-data; name="key"`.
    private static func parameter(_ name: String, of header: String) -> String? {
        for part in header.split(separator: ";").dropFirst() {
            let sides = part.split(separator: "=", maxSplits: 1).map { $0.drop { $0 == " " || $0 == "\t" } }
            guard sides.count == 2, sides[0].lowercased() == name else { continue }
            return sides[1].hasPrefix("\"") ? String(sides[1].dropFirst().prefix { $0 != "\"" }) : String(sides[1])
        }
        return nil
    }
}

/// The bytes of one part of a body.
@Loop private final class PartBytes: ByteSource {
    private let reader: MultipartReader

    init(_ reader: MultipartReader) { self.reader = reader }

    func read(atMost count: Int) async throws -> [UInt8] {
        do throws(MultipartReader.Failure) { return try await reader.read() } catch { throw error.gatewayError }
    }
}
