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
    let takesObject = true
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
        do { return try await found() } catch let error as StorageError where error.code == .bucketNotFound {
            let text = """
                <?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchBucket</Code>\
                <Message>The specified bucket does not exist.</Message></Error>
                """
            return HTTPServerResponse(
                404, headers: ["Content-Type": "application/xml; charset=UTF-8"], body: .bytes(Array(text.utf8)))
        }
    }

    private func found() async throws -> HTTPServerResponse {
        if name.isEmpty {
            try request.allow([])
            guard request.http.method == .post else { throw GatewayError.noRoute(request) }
            try request.allow(headers: [])
            return try await ObjectForm(service: service, request: request, bucket: bucket).answer()
        }
        let object = try Reference(bucket: bucket, object: name)
        switch request.http.method {
        case .get, .head: return try await get(object)
        case .put:
            try request.allow(QueryParams.signature)
            try request.allow(headers: ObjectHeaders.put.union([ObjectHeaders.custom]))
            if let source = try request.copySource() { return try await copy(source, object) }
            if let field = request.http.headers.fields.first(where: { ObjectHeaders.isOfCopy($0.name) }) {
                throw GatewayError.badRequest("\(field.name) needs x-goog-copy-source, which says what is copied.")
            }
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
        try request.checkHasLength()
        var change = try change
        change.makeNoDownloadToken()
        let stored = try await service.store(
            request.body, to: object, change, if: request.objectPreconditions(),
            .init(request.http.headers))
        return HTTPServerResponse(200, headers: Self.headers(stored))
    }

    private var change: MetadataChange {
        get throws(GatewayError) { try MetadataChange(fields: fields) }
    }

    private var fields: [(name: String, value: String)] { request.http.headers.fields.map { ($0.name, $0.value) } }

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
        if request.header("x-goog-hash") != nil {
            throw GatewayError(501, "The header x-goog-hash is not served here.")
        }
        guard try await request.body.read(atMost: 1).isEmpty else {
            throw GatewayError.badRequest("A copy takes its bytes from its source; the body must be empty.")
        }
        var kept = MetadataChange()
        kept.kept = try KeptChange(fields: fields)
        let change = try directive == "REPLACE" ? change : kept.kept.isEmpty ? nil : kept
        let stored = try await service.copy(
            source, if: request.copySourcePreconditions(), to: object, change,
            if: request.objectPreconditions())
        let text = """
            <?xml version='1.0' encoding='UTF-8'?><CopyObjectResult><LastModified>\(stored.updated.rfc3339)\
            </LastModified><ETag>\(stored.entityTag?.description ?? "")</ETag></CopyObjectResult>
            """
        var headers = Self.headers(stored)
        headers["Content-Type"] = "application/xml; charset=utf-8"
        return HTTPServerResponse(200, headers: headers, body: .bytes(Array(text.utf8)))
    }
}
