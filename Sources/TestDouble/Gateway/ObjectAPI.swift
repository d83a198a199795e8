import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Google Cloud Storage's XML API: objects at `/BUCKET/NAME`, which public and signed URLs name, too, lists, deletions and
/// forms (signed post policies) at `/BUCKET`, and the list of buckets at `/`. Signatures are not looked at. Requests of
/// Amazon S3 are understood as Google does. Params that name a part of an object, and headers that are not served, are
/// refused.
@Loop struct ObjectAPI: GatewayAPI {
    let isCloud = true
    let takesObject = true
    private let service: GatewayService
    private let request: GatewayRequest
    private let bucket: String
    /// Empty for the bucket itself.
    private let name: String

    /// Throws 404 where the path names no bucket, unless the request reads the list of all.
    init(service: GatewayService, request: GatewayRequest) throws(GatewayError) {
        (self.service, self.request) = (service, request)
        let parts = request.http.path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let isList = request.http.path == "/" && request.isRead
        guard let bucket = percentDecoded(parts[0]), isList || !bucket.isEmpty else { throw .notFound }
        guard let name = percentDecoded(parts.count > 1 ? parts[1] : "") else {
            throw .badRequest("The path is not UTF-8.")
        }
        (self.bucket, self.name) = (bucket, name)
    }

    var takesRange: Bool { request["upload_id"] != nil }
    var takesAmazonChunks: Bool { !name.isEmpty && request.http.method == .put && request["upload_id"] == nil }

    func answer() async throws -> HTTPServerResponse {
        if name.isEmpty { return try await answerAboutBucket() }
        let object = try Reference(bucket: bucket, object: name)
        if request.has("uploads") || request.has("uploadId") {
            return try await ObjectParts(service: service, request: request, object: object).answer()
        }
        if let id = request["upload_id"] { return try await continueSession(id) }
        switch request.http.method {
        case .get, .head: return try await get(object)
        case .put, .post:
            if try request.startsSession() { return try await startSession(object) }
            guard request.http.method == .put else { break }
            try request.allow(QueryParams.signature)
            try request.allow(headers: ObjectHeaders.put.union(ObjectHeaders.bytes).union([ObjectHeaders.custom]))
            if let source = try request.copySource() { return try await copy(source, object) }
            if let field = request.http.headers.fields.first(where: { ObjectHeaders.isOfCopy($0.name) }) {
                throw GatewayError.badRequest("\(field.name) needs x-goog-copy-source, which says what is copied.")
            }
            return try await put(object)
        case .delete:
            try request.allow(QueryParams.signature.union(["generation"]))
            try request.allow(headers: ObjectHeaders.conditions)
            try await service.backend.delete(
                object, if: service.writeConditions(request, of: object), for: service.caller)
            return HTTPServerResponse(204)
        case .patch, .options: break
        }
        try request.allow(QueryParams.signature)
        throw GatewayError(405, "Method Not Allowed")
    }

    private func answerAboutBucket() async throws -> HTTPServerResponse {
        let buckets = ObjectBuckets(service: service, request: request, bucket: bucket)
        switch request.http.method {
        case .put: return try await buckets.make()
        case .delete: return try await buckets.remove()
        case .get where request.has("location"): return try await buckets.location()
        case .get, .head: return try await ObjectLists(service: service, request: request, bucket: bucket).answer()
        case .post where request.has("delete"):
            return try await ObjectDeletions(service: service, request: request, bucket: bucket).answer()
        case .post:
            try request.allow([])
            try request.refuseValidators()
            try request.allow(headers: [])
            return try await ObjectForm(service: service, request: request, bucket: bucket).answer()
        case .patch, .options:
            try request.allow(QueryParams.signature)
            throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func get(_ object: Reference) async throws -> HTTPServerResponse {
        let fields = QueryParams.responseHeaders
        try request.allow(
            QueryParams.signature.union(fields.keys).union(QueryParams.object), ignoresUnknown: true)
        try request.allow(headers: ObjectHeaders.conditions)
        var response = try await service.media(of: object, for: request, if: request.readConditions())
        if request.isOfAmazon { response.headers = response.headers.withAmazonNames }
        guard response.status == 200 || response.status == 206 else { return response }
        for (param, name) in fields { if let value = request[param] { response.headers[name] = value } }
        return response
    }

    private func put(_ object: Reference) async throws -> HTTPServerResponse {
        try request.checkHasLength()
        var change = try change
        change.makeNoDownloadToken()
        let stored = try await service.store(
            request.byteSource(), to: object, change, if: service.writeConditions(request, of: object),
            .init(request.http.headers))
        return HTTPServerResponse(200, headers: stored.objectHeaders)
    }

    private var change: MetadataChange {
        get throws(GatewayError) { try MetadataChange(fields: fields) }
    }

    private var fields: [(name: String, value: String)] { request.http.headers.fields.map { ($0.name, $0.value) } }

    // MARK: - Sessions

    private func startSession(_ object: Reference) async throws -> HTTPServerResponse {
        try request.refuseValidators()
        try request.allow(QueryParams.signature)
        try request.allow(
            headers: ObjectHeaders.conditions.union(ObjectHeaders.kept).union([
                "x-goog-resumable", "x-goog-hash", ObjectHeaders.custom,
            ]))
        guard try await request.body.read(atMost: 1).isEmpty else {
            throw GatewayError.badRequest("x-goog-resumable starts an upload: the request has no body.")
        }
        var change = try change
        change.makeNoDownloadToken()
        try change.take(.init(request.http.headers))
        try await service.engine.checkBucket(of: object)
        let upload = try await service.transfers.begin(
            UploadRequest(
                .incoming(size: request.length("x-upload-content-length")), to: object, change,
                if: request.objectPreconditions(), for: .gateway))
        guard let id = upload.task?.id else { throw GatewayError(500, "The upload has ended.") }
        let place = "\(request.base)/\(bucket.escaped)/\(name.escaped)?upload_id=\(id)"
        return HTTPServerResponse(201, headers: ["Location": place, "X-GUploader-UploadID": id])
    }

    private func continueSession(_ id: String) async throws -> HTTPServerResponse {
        try request.refuseValidators()
        try request.allow(["upload_id"])
        try request.allow(headers: ["x-goog-hash"])
        let uploads = CloudUploads(service: service, request: request, bucket: bucket) { stored in
            HTTPServerResponse(200, headers: stored.objectHeaders)
        }
        let response = try await uploads.continueSession(with: id, of: name)
        return request.http.method == .delete && response.status == 499 ? HTTPServerResponse(204) : response
    }

    // MARK: - Copies

    /// The metadata goes along, or is replaced as a whole.
    private func copy(_ source: Reference, _ object: Reference) async throws -> HTTPServerResponse {
        let directive = request.header("x-goog-metadata-directive")?.uppercased() ?? "COPY"
        guard directive == "COPY" || directive == "REPLACE" else {
            throw GatewayError.badRequest("x-goog-metadata-directive is COPY or REPLACE, not \(directive).")
        }
        if let name = ObjectHeaders.bytes.union(["x-goog-hash"]).sorted().first(where: { request.header($0) != nil }) {
            throw GatewayError(501, "The header \(name) is not served here.")
        }
        guard try await request.body.read(atMost: 1).isEmpty else {
            throw GatewayError.badRequest("A copy takes its bytes from its source; the body must be empty.")
        }
        var kept = MetadataChange()
        kept.kept = try KeptChange(fields: fields)
        let change = try directive == "REPLACE" ? change : kept.kept.isEmpty ? nil : kept
        let stored = try await service.copy(
            source, if: service.sourceConditions(request, of: source), to: object,
            change, if: service.writeConditions(request, of: object))
        let result = XMLElement(
            "CopyObjectResult",
            [
                XMLElement("LastModified", stored.updated.rfc3339),
                XMLElement("ETag", stored.entityTag?.description ?? ""),
            ])
        return .xml(result.document(), headers: stored.objectHeaders)
    }
}

extension ObjectMetadata {
    /// Of an answer to a write.
    var objectHeaders: HTTPHeaders {
        var headers: HTTPHeaders = [
            "x-goog-generation": "\(generation)", "x-goog-metageneration": "\(metageneration)", "x-goog-hash": hashes,
        ]
        if let tag = entityTag { headers.add("ETag", tag.description) }
        return headers
    }
}
