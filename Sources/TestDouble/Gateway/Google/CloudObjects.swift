import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Objects of Google Cloud Storage's JSON API.
@Loop struct CloudObjects: Answering {
    let call: Call

    func change() async throws -> HTTPServerResponse {
        let (object, json) = try (call.object, await call.json())
        try json.checkName(object)
        var change = try MetadataChange(resource: json)
        change.replacesAll = request.http.method == .put
        change.dropsDownloadTokens = change.replacesAll || json["metadata"]?.isNull == true
        let changed = try await service.backend.updateMetadata(
            of: object, change, if: request.preconditions(), for: service.caller)
        return .json(changed.cloud(request.base))
    }

    func delete() async throws -> HTTPServerResponse {
        try await service.backend.delete(call.object, if: request.preconditions(), for: service.caller)
        return HTTPServerResponse(204)
    }

    func get() async throws -> HTTPServerResponse {
        let (object, isMedia) = (try call.object, request["alt"] == "media")
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

    func list() async throws -> HTTPServerResponse {
        var query = ObjectQuery(bucket: bucket)
        (query.prefix, query.delimiter) = (request["prefix"] ?? "", request["delimiter"] ?? "")
        (query.start, query.end) = (request["startOffset"] ?? "", request["endOffset"] ?? "")
        query.maxResults = try request.pageSize("maxResults")
        query.pageToken = request["pageToken"]
        query.globs = try request["matchGlob"].map(Glob.combinations)
        if query.globs != nil, !["", "/"].contains(query.delimiter) {
            throw GatewayError.badRequest("Beside matchGlob the delimiter is /, not \(query.delimiter.prefix(200)).")
        }
        query.includesTrailingDelimiter = ["true", "True"].contains(request["includeTrailingDelimiter"])
        try await service.admit(.list, call.root)
        let page = try await service.engine.list(query)
        let items = page.objects.map { $0.cloud(request.base) }
        return .json(present: [
            "kind": "storage#objects", "nextPageToken": page.pageToken.map(JSON.string),
            "prefixes": page.prefixes.isEmpty ? nil : .array(page.prefixes.map(JSON.string)),
            "items": items.isEmpty ? nil : .array(items),
        ])
    }
}
