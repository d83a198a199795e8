import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Firebase Storage's REST API, version 0: `/v0/b/BUCKET/o/NAME`.
@Loop struct FirebaseAPI: GatewayAPI {
    let service: GatewayService
    let request: GatewayRequest
    /// Without `v0`.
    let path: [String]
    let isCloud = false

    let takesUploadHeaders = true
    var takesObject: Bool { (request.http.method == .post || request.http.method == .put) && isUpload }

    func answer() async throws -> HTTPServerResponse {
        guard request["fields"] == nil else { throw GatewayError(501, "The param fields is not served here.") }
        if path.isEmpty { return .json(["emulator": "storage"]) }
        guard path.count >= 3, path[0] == "b", path[2] == "o" else { throw GatewayError.notFound }
        // A name may have slashes that are not escaped.
        let text = path[3...].joined(separator: "/")
        let name = text.isEmpty ? nil : text
        if takesObject {
            try request.allow(QueryParams.firebaseUpload)
            return try await FirebaseUploads(service: service, request: request, bucket: path[1], name: name).answer()
        }
        guard let name else {
            guard request.http.method == .get else { throw GatewayError(405, "Method Not Allowed") }
            try request.refuseValidators()
            return try await list()
        }
        let object = try Reference(bucket: path[1], object: name)
        switch request.http.method {
        case .get, .head: return try await request["alt"] == "media" ? media(of: object) : metadata(of: object)
        case .patch: return try await update(object)
        case .put, .post: return try await changeTokens(of: object)
        case .delete:
            try request.allow([])
            try service.check(.delete, object.url, for: request)
            try await service.backend.delete(object, if: Preconditions(), for: service.caller)
            return HTTPServerResponse(204)
        case .options: return HTTPServerResponse(204)
        }
    }

    private var isUpload: Bool {
        !request.has("create_token") && !request.has("delete_token")
    }

    private func metadata(of object: Reference) async throws -> HTTPServerResponse {
        try request.allow(["token"])
        try service.check(.get, object.url, for: request)
        var metadata = try await service.backend.metadata(of: object, for: service.caller)
        try request.checkTags(metadata.resourceTag)
        if metadata.downloadTokens?.isEmpty == true, mayMakeToken {
            metadata = try await service.engine.withDownloadToken(object)
        }
        return .json(metadata.firebase, tag: metadata.resourceTag)
    }

    private func media(of object: Reference) async throws -> HTTPServerResponse {
        try request.allow(["token"], ignoresUnknown: true)
        return try await service.allowedMedia(of: object, for: request)
    }

    private func update(_ object: Reference) async throws -> HTTPServerResponse {
        try request.allow([])
        try service.check(.update, object.url, for: request)
        let json = try JSON.object(await request.wholeBody())
        try json.checkPlace(object)
        var change = try MetadataChange(resource: json)
        change.makesDownloadToken = true
        let changed = try await service.backend.updateMetadata(
            of: object, change, if: Preconditions(), for: service.caller)
        return .json(changed.firebase)
    }

    /// What other APIs have stored has no token before it is asked for: clients make download URLs of it. A HEAD does not
    /// ask, and a page of a foreign origin changes nothing.
    private var mayMakeToken: Bool {
        request.http.method == .get && !service.origins.areForeign(to: request.http.headers)
    }

    private func list() async throws -> HTTPServerResponse {
        try request.allow(QueryParams.firebaseList)
        let prefix = request["prefix"] ?? ""
        guard prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/") else {
            throw GatewayError.badRequest("A prefix ends with a slash: \(prefix)")
        }
        let delimiter = request["delimiter"] ?? ""
        guard ["", "/"].contains(delimiter) else {
            throw GatewayError.badRequest("The delimiter is a slash, not \(delimiter).")
        }
        let folder = try Reference(bucket: path[1], path: prefix)
        try service.check(.list, "gs://\(folder.bucket)/\(folder.prefix)", for: request)
        let maxResults = min(try request.integer("maxResults") ?? 1000, 1000)
        guard maxResults > 0 else { throw GatewayError.badRequest("maxResults is at least 1.") }
        try await request.expectList(of: Int(maxResults))
        let page = try await service.backend.list(
            ListQuery(
                folder, maxResults: Int(maxResults), pageToken: request["pageToken"], isRecursive: delimiter.isEmpty),
            for: service.caller)
        return .json(
            .object(
                [JSON.Member](present: [
                    "prefixes": .array(page.prefixes.map { .string($0.object + "/") }),
                    "items": .array(
                        page.items.map { ["name": .string($0.object), "bucket": .string($0.bucket)] }),
                    "nextPageToken": page.pageToken.map(JSON.string),
                ])))
    }

    private func changeTokens(of object: Reference) async throws -> HTTPServerResponse {
        try request.allow(QueryParams.firebaseTokens)
        guard request.requester == .owner else { throw GatewayError(403, "Missing admin credentials.") }
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
