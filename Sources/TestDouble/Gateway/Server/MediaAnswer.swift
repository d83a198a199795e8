import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

extension GatewayService {
    /// The bytes of an object. What is stored as gzip is unpacked for clients that cannot do it, as Google does: without a
    /// length, which HTTP/1.0 cannot, and without ranges. What is no gzip is sent as it is stored.
    ///
    /// - Parameter token: one that must open the object. Throws `objectNotFound` otherwise.
    /// - Parameter hasResourceTag: the entity tag is that of the object's resource, as it is there, instead of its MD5.
    func media(
        of object: Reference, openTo token: String? = nil, for request: GatewayRequest,
        if conditions: Preconditions = Preconditions(), hasResourceTag: Bool = false
    ) async throws -> HTTPServerResponse {
        try await admit(.getData, object)
        var (metadata, resource) = try await readingStored { () throws(StorageError) in
            try await engine.resource(of: object, openTo: token)
        }
        try conditions.checkReading(metadata)
        var http = request.http
        if hasResourceTag {
            try request.checkTags(metadata.resourceTag)
            for name in ["If-Match", "If-None-Match"] { http.headers[name] = nil }
            if http.headers.only("If-Range") == metadata.resourceTag {
                http.headers["If-Range"] = "\"\(metadata.resourceTag)\""
            }
            resource.etag = EntityTag(metadata.resourceTag)
        }
        let isPacked = metadata.settable.content[.contentEncoding]?.lowercased() == "gzip"
        if isPacked, !http.isHTTP10, !http.accepts("gzip"), let unpacked = await unpacked(resource, for: http) {
            return unpacked
        }
        var response = await respond(to: http, with: resource, at: now)
        if hasResourceTag { response.headers["ETag"] = metadata.resourceTag }
        return response
    }

    /// Damage of what is stored is an error of the server: no request has sent a wrong checksum.
    func readingStored<Answer>(_ body: @Loop () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let error as StorageError where error.code == .nonMatchingChecksum {
            throw GatewayError(500, error.message)
        }
    }

    /// Nil where the bytes are no gzip, or there is no zlib.
    private func unpacked(_ stored: ServedResource, for request: HTTPServerRequest) async -> HTTPServerResponse? {
        var (resource, request) = (stored, request)
        resource.headers["Content-Encoding"] = nil
        resource.headers.add("Vary", "Accept-Encoding")
        // Another representation has no strong tag in common with it.
        resource.etag = resource.etag.flatMap { EntityTag($0.opaque, isWeak: true) }
        request.headers["Range"] = nil
        // A HEAD is about the same bytes.
        if request.method == .head { request.method = .get }
        var response = await respond(to: request, with: resource, at: now)
        response.headers["Accept-Ranges"] = nil
        if case .none = response.body { return response }
        guard let body = UnpackedBody(response.body), await engine.begin(body) else { return nil }
        response.body = .unpacked(body)
        return response
    }
}

extension HTTPServerRequest {
    /// Whether `Accept-Encoding` names a coding; one with the weight 0 is refused.
    fileprivate func accepts(_ coding: String) -> Bool {
        headers.list("Accept-Encoding").contains { text in
            let parts = text.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = parts.first, name == coding || name == "*" else { return false }
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }
}
