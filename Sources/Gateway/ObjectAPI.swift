import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// Objects at `/BUCKET/NAME`: public and signed URLs of Google Cloud Storage, whose signatures are not looked at, and forms
/// (signed post policies) at `/BUCKET`. Params that name a part of an object, and headers that are not served, are refused.
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
            try request.allow([])
            guard request.http.method == .post else { throw GatewayError.notFound }
            return try await takeForm()
        }
        let object = try Reference(bucket: bucket, object: name)
        switch request.http.method {
        case .get, .head: return try await get(object)
        case .put:
            try request.allow(QueryParams.signature)
            try request.allow(headers: ObjectHeaders.put.union([ObjectHeaders.custom]))
            if let source = try request.copySource() { return try await copy(source, object) }
            return try await put(object)
        case .delete:
            try request.allow(QueryParams.signature.union(["generation"]))
            try request.allow(headers: ObjectHeaders.conditions)
            try await service.backend.delete(object, if: request.objectPreconditions(), for: service.caller)
            return HTTPServerResponse(204)
        case .post, .patch, .options:
            try request.allow(QueryParams.signature)
            throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func get(_ object: Reference) async throws -> HTTPServerResponse {
        let fields = QueryParams.responseHeaders
        try request.allow(QueryParams.signature.union(fields.keys).union(["generation"]), ignoresUnknown: true)
        try request.allow(headers: ObjectHeaders.conditions)
        var response = try await service.media(of: object, for: request, if: request.objectPreconditions())
        guard response.status == 200 || response.status == 206 else { return response }
        for (param, name) in fields { if let value = request[param] { response.headers[name] = value } }
        return response
    }

    private func put(_ object: Reference) async throws -> HTTPServerResponse {
        guard request.header("Content-Range") == nil else {
            throw GatewayError(501, "The header Content-Range is not served here.")
        }
        let stored = try await service.store(
            request.body, to: object, change(), if: request.objectPreconditions(),
            .init(request.http.headers, isWholeObject: true))
        return HTTPServerResponse(200, headers: Self.headers(stored))
    }

    private func change() throws(GatewayError) -> MetadataChange {
        try Self.change(request.http.headers.fields.map { ($0.name, $0.value) })
    }

    private static func headers(_ stored: ObjectMetadata) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "x-goog-generation": "\(stored.generation)", "x-goog-metageneration": "\(stored.metageneration)",
            "x-goog-hash": stored.hashes,
        ]
        if let tag = stored.entityTag { headers.add("ETag", tag.description) }
        return headers
    }

    /// The metadata goes along, or is replaced as a whole.
    private func copy(_ source: Reference, _ object: Reference) async throws -> HTTPServerResponse {
        let directive = request.header("x-goog-metadata-directive")?.uppercased() ?? "COPY"
        guard directive == "COPY" || directive == "REPLACE" else {
            throw GatewayError.badRequest("x-goog-metadata-directive is COPY or REPLACE, not \(directive).")
        }
        guard try await request.body.read(atMost: 1).isEmpty else {
            throw GatewayError.badRequest("A copy takes its bytes from its source; the body must be empty.")
        }
        let stored = try await service.copy(
            source, if: request.copySourcePreconditions(), to: object, directive == "COPY" ? nil : change(),
            if: request.objectPreconditions())
        let text = """
            <?xml version='1.0' encoding='UTF-8'?><CopyObjectResult><LastModified>\(stored.updated.rfc3339)\
            </LastModified><ETag>\(stored.entityTag?.description ?? "")</ETag></CopyObjectResult>
            """
        var headers = Self.headers(stored)
        headers["Content-Type"] = "application/xml; charset=utf-8"
        return HTTPServerResponse(200, headers: headers, body: .bytes(Array(text.utf8)))
    }

    /// The metadata that headers, or the fields of a form, name. Throws 400 where they name one twice.
    private static func change(
        _ fields: [(name: String, value: String)]
    ) throws(GatewayError) -> MetadataChange {
        var change = MetadataChange()
        var custom: ByteKeyedDictionary<String?> = [:]
        var values: [String: String] = [:]
        for (name, value) in fields {
            let lower = name.lowercased()
            if lower.hasPrefix(ObjectHeaders.custom) || lower.hasPrefix("content-") || lower == "cache-control",
                let other = values.updateValue(value, forKey: lower), other != value
            {
                throw .badRequest("\(name) has two values.")
            }
            switch lower {
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
                let bytes = try await reader.readAll(atMost: bytesLeft)
                bytesLeft -= bytes.count
                let value = String(decoding: bytes, as: UTF8.self)
                try Self.checkField(field, value)
                fields.append((field, value))
            }
        } catch let error as MultipartReader.Failure {
            throw error.gatewayError
        }
        throw GatewayError.badRequest("The form has no file.")
    }

    /// What a form may say besides metadata.
    private static let formFields: Set = [
        "key", "bucket", "policy", "success_action_redirect", "success_action_status", "googleaccessid", "signature",
        "content-type", "cache-control", "content-disposition", "content-encoding", "content-language",
    ]

    private static func checkField(_ name: String, _ value: String) throws(GatewayError) {
        let lower = name.lowercased()
        if formFields.contains(lower) || lower.hasPrefix("x-ignore-") { return }
        try ObjectHeaders.check(lower == "acl" ? "x-goog-acl" : name, value, served: [ObjectHeaders.custom])
        guard lower == "acl" || lower.hasPrefix("x-goog-") || lower.hasPrefix("x-amz-") else {
            throw .badRequest("There is no field \(name) in a form.")
        }
    }

    private func store(
        _ source: any ByteSource, named file: String, _ type: String?, _ fields: [(name: String, value: String)]
    ) async throws -> HTTPServerResponse {
        func field(_ name: String) -> String? { fields.last { $0.name.lowercased() == name }?.value }
        guard let key = field("key"), !key.isEmpty else {
            throw GatewayError.badRequest("The form has no key before its file.")
        }
        let object = try Reference(bucket: bucket, object: key.replacing("${filename}", with: file))
        var change = try Self.change(fields)
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
