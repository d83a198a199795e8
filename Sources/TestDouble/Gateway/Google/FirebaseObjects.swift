import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Objects of Firebase Storage's REST API, version 0.
@Loop struct FirebaseObjects: Answering {
    let call: Call

    func get() async throws -> HTTPServerResponse {
        let object = try call.object
        if request["alt"] == "media" { return try await service.allowedMedia(of: object, for: request) }
        try service.check(.get, object.url, for: request)
        var metadata = try await service.backend.metadata(of: object, for: service.caller)
        try request.checkTags(metadata.resourceTag)
        if metadata.downloadTokens?.isEmpty == true, mayMakeToken {
            metadata = try await service.engine.withDownloadToken(object)
        }
        return .json(metadata.firebase, tag: metadata.resourceTag)
    }

    func delete() async throws -> HTTPServerResponse {
        let object = try call.object
        try service.check(.delete, object.url, for: request)
        try await service.backend.delete(object, if: Preconditions(), for: service.caller)
        return HTTPServerResponse(204)
    }

    func update() async throws -> HTTPServerResponse {
        let object = try call.object
        try service.check(.update, object.url, for: request)
        let json = try await call.json()
        try json.checkName(object)
        guard json["metadata"]?[SettableMetadata.tokensKey] == nil || request.requester == .owner else {
            throw Self.needsOwner
        }
        var change = try MetadataChange(resource: json)
        change.makesDownloadToken = true
        let changed = try await service.backend.updateMetadata(
            of: object, change, if: Preconditions(), for: service.caller)
        return .json(changed.firebase)
    }

    /// Whether the request may add a token to an object without one, which another API has stored: clients of Firebase
    /// build download URLs with it. A HEAD changes nothing, nor does a page of a foreign origin.
    private var mayMakeToken: Bool {
        request.http.method == .get && !service.origins.areForeign(to: request.http.headers)
    }

    func list() async throws -> HTTPServerResponse {
        let prefix = request["prefix"] ?? ""
        guard prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/") else {
            throw GatewayError.badRequest("A prefix ends with a slash: \(prefix)")
        }
        let delimiter = request["delimiter"] ?? ""
        guard ["", "/"].contains(delimiter) else {
            throw GatewayError.badRequest("The delimiter is a slash, not \(delimiter).")
        }
        let folder = try Reference(bucket: bucket, path: prefix)
        try service.check(.list, "gs://\(folder.bucket)/\(folder.prefix)", for: request)
        let maxResults = try request.pageSize("maxResults")
        let page = try await service.backend.list(
            ListQuery(
                folder, maxResults: maxResults, pageToken: request["pageToken"], isRecursive: delimiter.isEmpty),
            for: service.caller)
        return .json(present: [
            "prefixes": .array(page.prefixes.map { .string($0.object + "/") }),
            "items": .array(page.items.map { ["name": .string($0.object), "bucket": .string($0.bucket)] }),
            "nextPageToken": page.pageToken.map(JSON.string),
        ])
    }

    private static let needsOwner = GatewayError(403, "Missing admin credentials.")

    func changeTokens() async throws -> HTTPServerResponse {
        let object = try call.object
        guard request.requester == .owner else { throw Self.needsOwner }
        guard request["create_token"] == nil || request["delete_token"] == nil else {
            throw GatewayError.badRequest("A request has either create_token or delete_token.")
        }
        try await service.admit(.updateMetadata, object)
        let changed: ObjectMetadata
        if let token = request["delete_token"] {
            changed = try await service.engine.removeDownloadToken(token, of: object)
        } else {
            guard request["create_token"] == "true" else { throw GatewayError.badRequest("create_token must be true.") }
            changed = try await service.engine.addDownloadToken(to: object)
        }
        return .json(changed.firebase)
    }
}
