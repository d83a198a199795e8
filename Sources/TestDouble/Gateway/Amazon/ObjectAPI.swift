import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// An object at `/BUCKET/NAME`.
@Loop struct ObjectAPI: Answering {
    let call: Call

    func get() async throws -> HTTPServerResponse {
        if let number = try request.integer("partNumber"), number != 1 {
            throw GatewayError(416, code: "InvalidPartNumber", "The object has one part, which has all of its bytes.")
        }
        var response = try await service.media(of: call.object, for: request, if: request.readConditions())
        if request.isOfAmazon { response.headers = response.headers.withAmazonNames }
        guard response.status == 200 || response.status == 206 else { return response }
        for (param, name) in QueryParams.responseHeaders {
            if let value = request[param] { response.headers[name] = value }
        }
        // The checksum is that of all bytes.
        if response.status == 200, request.header("x-amz-checksum-mode")?.uppercased() == "ENABLED",
            let sum = response.headers.hashes.first(where: { $0.name == "crc32c" })?.value
        {
            response.headers.add(["x-amz-checksum-crc32c": sum, "x-amz-checksum-type": "FULL_OBJECT"])
        }
        return response
    }

    func put() async throws -> HTTPServerResponse {
        if let field = request.http.headers.fields.first(where: { ObjectHeaders.copy.contains($0.name.lowercased()) }) {
            throw GatewayError.badRequest("\(field.name) needs x-goog-copy-source, which says what is copied.")
        }
        try request.checkHasLength()
        var change = try MetadataChange(fields: request.fields)
        change.makeNoDownloadToken()
        let (object, source) = (try call.object, try request.byteSource())
        let expected = try Checksums(request.http.headers)
        let stored = try await service.writing(object, for: request) { [change] in
            try await service.store(source, to: object, change, if: $0, expected)
        }
        var headers = stored.objectHeaders
        headers.add(try request.declaredChecksums(of: source))
        return HTTPServerResponse(200, headers: headers)
    }

    func delete() async throws -> HTTPServerResponse {
        let object = try call.object
        do {
            try await service.writing(object, for: request) {
                try await service.backend.delete(object, if: $0, for: service.caller)
            }
        } catch let error as StorageError where request.isOfAmazon && error.code == .objectNotFound {
            // For Amazon S3 a missing object is deleted.
        }
        return HTTPServerResponse(204)
    }

    /// Copies an object with its metadata, or with new metadata that replaces all of it.
    func copy() async throws -> HTTPServerResponse {
        let (source, object) = try (request.copySource(), call.object)
        let directive = request.header("x-goog-metadata-directive")?.uppercased() ?? "COPY"
        guard directive == "COPY" || directive == "REPLACE" else {
            throw GatewayError.badRequest("x-goog-metadata-directive is COPY or REPLACE, not \(directive).")
        }
        try await request.checkIsEmpty("A copy takes its bytes from its source; the body must be empty.")
        var kept = MetadataChange()
        kept.kept = try KeptChange(fields: request.fields)
        let change =
            try directive == "REPLACE" ? MetadataChange(fields: request.fields) : kept.kept.isEmpty ? nil : kept
        if request.isOfAmazon, source == object, change == nil {
            throw GatewayError(
                400, code: "InvalidRequest",
                "A copy of an object onto itself must change its metadata or its storage class.")
        }
        var conditions = try await service.sourceConditions(request, of: source)
        if directive == "COPY" { try await bind(&conditions, toRepeatedMetadataOf: source) }
        let stored = try await service.writing(object, for: request) { [conditions] in
            try await service.copy(source, if: conditions, to: object, change, if: $0)
        }
        let result = XMLElement(
            "CopyObjectResult",
            ["LastModified": stored.updated.rfc3339, "ETag": stored.entityTag?.description ?? ""])
        return .xml(result.document(), headers: stored.objectHeaders)
    }

    /// Clients may repeat the metadata of the source, which the copy keeps. Throws 400 for other metadata.
    private func bind(_ conditions: inout Preconditions, toRepeatedMetadataOf source: Reference) async throws {
        let fields = request.fields.filter { Self.needsReplacement($0.name) }
        guard let first = fields.first else { return }
        guard let now = try await service.version(of: source) else { throw StorageError.objectNotFound(source) }
        var repeated = now.settable
        try repeated.apply(MetadataChange(fields: fields))
        guard repeated == now.settable else {
            throw GatewayError.badRequest("\(first.name) needs x-goog-metadata-directive: REPLACE.")
        }
        try conditions.bind(to: now.generation)
    }

    /// Whether a copy takes the property of this header from its source. Clients send a Content-Type with any request.
    private static func needsReplacement(_ name: String) -> Bool {
        let lower = name.lowercased()
        return MetadataChange.hasProperty(named: lower) && lower != "content-type"
            && !ObjectHeaders.kept.contains(lower)
    }
}

/// A resumable upload at `/BUCKET/NAME`.
@Loop struct ObjectUploads: Answering {
    let call: Call

    func startSession() async throws -> HTTPServerResponse {
        guard let text = request.header("x-goog-resumable"), text.lowercased() == "start" else {
            throw GatewayError.badRequest(
                "x-goog-resumable is start, not \(request.header("x-goog-resumable") ?? "").")
        }
        try await request.checkIsEmpty("x-goog-resumable starts an upload: the request has no body.")
        var change = try MetadataChange(fields: request.fields)
        let announced = try AnnouncedObject(request)
        if let type = announced.type, change.content[.contentType] == nil { change.content[.contentType] = type }
        change.makeNoDownloadToken()
        let object = try call.object
        let id = try await service.startSession(
            request, object, change, of: announced.size, if: request.objectPreconditions())
        let location = "\(request.url(of: object))?upload_id=\(id)"
        return HTTPServerResponse(201, headers: ["Location": location, "X-GUploader-UploadID": id])
    }

    func continueSession() async throws -> HTTPServerResponse {
        var uploads = CloudUploads(call: call)
        uploads.form = { HTTPServerResponse(200, headers: $0.objectHeaders) }
        let response = try await uploads.continueSession()
        return request.http.method == .delete && response.status == 499 ? HTTPServerResponse(204) : response
    }
}

extension GatewayRequest {
    /// The headers as pairs of name and value.
    var fields: [(name: String, value: String)] { http.headers.fields.map { ($0.name, $0.value) } }

}

extension ObjectMetadata {
    /// The headers of an answer to a write.
    var objectHeaders: HTTPHeaders {
        var headers: HTTPHeaders = [
            "x-goog-generation": "\(generation)", "x-goog-metageneration": "\(metageneration)", "x-goog-hash": hashes,
        ]
        if let tag = entityTag { headers.add("ETag", tag.description) }
        return headers
    }
}

extension GatewayRequest {
    /// Whether a client of Amazon S3 has signed the request. Headers of the answer then have the names of that dialect.
    var isOfAmazon: Bool { http.isSignedForAmazon || header("x-amz-date") != nil }

    /// The bytes of an object or a part in the body. Throws 501 for headers of a coding that the body does not have.
    @Loop func byteSource() throws(GatewayError) -> any ByteSource {
        if isChunkedByAmazon { return try AmazonChunks(self) }
        for name in ["x-amz-decoded-content-length", "x-amz-trailer"] where header(name) != nil {
            throw GatewayError(501, "\(name) is not served here without a body in the coding aws-chunked.")
        }
        return body
    }

    /// The checksums of Amazon S3 that the client has declared for a body that has been read, by the names of their
    /// headers. The bytes have them.
    @Loop func declaredChecksums(of source: any ByteSource) throws(GatewayError) -> [String: String] {
        if let chunks = source as? AmazonChunks { return chunks.checksums.amazon }
        return try BodyChecksums(self).amazon
    }
}

extension HTTPHeaders {
    mutating func add(_ fields: [String: String]) {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { add(name, value) }
    }

    /// The headers with Amazon's names of custom metadata.
    var withAmazonNames: HTTPHeaders {
        HTTPHeaders(
            fields.map { field in
                guard field.name.lowercased().hasPrefix(ObjectHeaders.custom) else { return field }
                return .init("x-amz-meta-\(field.name.dropFirst(ObjectHeaders.custom.count))", field.value)
            })
    }
}
