import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// The part of Google Cloud Storage's JSON API that clients use, under its three spellings.
@Loop struct CloudAPI: GatewayAPI {
    let service: GatewayService
    let request: GatewayRequest
    /// From `b` on, behind `upload` where it is one.
    let path: [String]
    let isCloud = true

    /// The path behind `/storage/v1`, `/download/storage/v1`, `/upload/storage/v1` or `/resumable/upload/storage/v1`, each
    /// of which clients leave out.
    static func path(_ path: [String]) -> [String]? {
        var rest = path[...]
        let isUpload = rest.first == "upload" || rest.first == "resumable"
        if rest.starts(with: ["resumable", "upload"]) { rest = rest.dropFirst() }
        if isUpload || rest.first == "download" { rest = rest.dropFirst() }
        if rest.starts(with: ["storage", "v1"]) { rest = rest.dropFirst(2) }
        guard rest.first == "b" || CloudProjects.has(rest) && !isUpload else { return nil }
        // A list of buckets or objects may end with a slash.
        if rest.count == 2 || rest.count == 4, rest.last == "" { rest.removeLast() }
        return isUpload ? ["upload"] + rest : Array(rest)
    }

    var takesObject: Bool {
        path.first == "upload" || path.count == 3 && path[2] == "o" && request.http.method == .post
    }

    var takesUploadHeaders: Bool { takesObject }
    var takesRange: Bool { takesObject && request["upload_id"] != nil }

    func answer() async throws -> HTTPServerResponse {
        let fields = try request["fields"].map { text throws(GatewayError) in try FieldSelection(text) }
        var response = try await wholeAnswer()
        if let fields, response.status == 200, request["alt"] != "media", case .bytes(let bytes) = response.body,
            let json = JSON(wire: bytes)
        {
            response.body = .bytes(Array(fields.selected(from: json).text.utf8))
        }
        return response
    }

    private func wholeAnswer() async throws -> HTTPServerResponse {
        if path.first == "upload" {
            guard path.count == 4, path[3] == "o" else { throw GatewayError.noRoute(request) }
            return try await CloudUploads(service: service, request: request, bucket: path[2]).answer()
        }
        if CloudProjects.has(path) { return try CloudProjects(request: request, path: path).answer() }
        switch path.count {
        case 1, 2: return try await CloudBuckets(service: service, request: request, path: path).answer()
        case 3 where path[2] == "o":
            switch request.http.method {
            case .get: return try await list(path[1])
            case .post: return try await CloudUploads(service: service, request: request, bucket: path[1]).answer()
            default: throw GatewayError(405, "Method Not Allowed")
            }
        case 4 where path[2] == "o": return try await object(Reference(bucket: path[1], object: path[3]))
        case 5... where path[2] == "o":
            return try await CloudCopies(service: service, request: request, path: path).answer()
        case _ where CloudBucketParts.has(path):
            return try await CloudBucketParts(service: service, request: request, path: path).answer()
        default: throw GatewayError.noRoute(request)
        }
    }

    // MARK: - One object

    private func object(_ object: Reference) async throws -> HTTPServerResponse {
        switch request.http.method {
        case .get, .head: return try await get(object)
        case .patch, .put:
            try request.allow(QueryParams.object.union(["projection"]))
            let json = try JSON.object(await request.wholeBody())
            try json.checkPlace(object)
            var change = try MetadataChange(resource: json)
            change.replacesAll = request.http.method == .put
            change.dropsDownloadTokens = change.replacesAll || json["metadata"]?.isNull == true
            let changed = try await service.backend.updateMetadata(
                of: object, change, if: request.preconditions(), for: service.caller)
            return .json(changed.cloud(request.base))
        case .delete:
            try request.allow(QueryParams.object)
            try await service.backend.delete(object, if: request.preconditions(), for: service.caller)
            return HTTPServerResponse(204)
        case .post where ["watch", "bulkRestore"].contains(object.object):
            throw GatewayError(501, "\(object.object) is not served here.")
        case .post, .options: throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func get(_ object: Reference) async throws -> HTTPServerResponse {
        let isMedia = request["alt"] == "media"
        try request.allow(QueryParams.object.union(["projection"]), ignoresUnknown: isMedia)
        do {
            if isMedia {
                return try await service.media(
                    of: object, for: request, if: request.preconditions(), hasResourceTag: true)
            }
            let metadata = try await service.backend.metadata(of: object, for: service.caller)
            try request.preconditions().checkReading(metadata)
            try request.checkTags(metadata.resourceTag)
            return .json(metadata.cloud(request.base), tag: metadata.resourceTag)
        } catch let error as StorageError where error.code == .objectNotFound && isMedia {
            // Clients show the body as the message.
            let message = Array(GatewayError(error).message.utf8)
            return HTTPServerResponse(404, headers: ["Content-Type": "text/plain"], body: .bytes(message))
        }
    }

    // MARK: - Lists

    private func list(_ bucket: String) async throws -> HTTPServerResponse {
        try request.allow(QueryParams.list)
        try request.refuseValidators()
        var query = ObjectQuery(bucket: bucket)
        (query.prefix, query.delimiter) = (request["prefix"] ?? "", request["delimiter"] ?? "")
        (query.start, query.end) = (request["startOffset"] ?? "", request["endOffset"] ?? "")
        let most = try request.integer("maxResults") ?? 1000
        guard most > 0 else { throw GatewayError.badRequest("maxResults is at least 1.") }
        query.maxResults = Int(min(most, 1000))
        query.pageToken = request["pageToken"]
        query.globs = try request["matchGlob"].map(Glob.combinations)
        query.includesTrailingDelimiter = ["true", "True"].contains(request["includeTrailingDelimiter"])
        let root = try Reference(bucket: bucket, path: "")
        try await service.admit(.list, root)
        try await request.expectList(of: query.maxResults)
        let page = try await service.engine.list(query)
        let items = page.objects.map { $0.cloud(request.base) }
        return .json(
            .object(
                [JSON.Member](present: [
                    "kind": "storage#objects", "nextPageToken": page.pageToken.map(JSON.string),
                    "prefixes": page.prefixes.isEmpty ? nil : .array(page.prefixes.map(JSON.string)),
                    "items": items.isEmpty ? nil : .array(items),
                ])))
    }
}
