import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

extension GatewayService {
    /// The bytes of an object. What is stored as gzip is unpacked for clients that cannot do it, as Google does: without a
    /// length, which HTTP/1.0 cannot, and without ranges.
    func media(
        of object: Reference, for request: GatewayRequest, if conditions: Preconditions = Preconditions()
    ) async throws -> HTTPServerResponse {
        try await backend.admit(.getData, object, for: caller)
        var (metadata, resource) = try await engine.resource(of: object)
        try conditions.checkReading(metadata)
        let isPacked = metadata.settable.content[.contentEncoding]?.lowercased() == "gzip"
        guard isPacked, !request.http.isHTTP10, !request.http.accepts("gzip") else {
            return await respond(to: request.http, with: resource, at: now)
        }
        resource.headers["Content-Encoding"] = nil
        resource.headers.add("Vary", "Accept-Encoding")
        var http = request.http
        http.headers["Range"] = nil
        var response = await respond(to: http, with: resource, at: now)
        response.headers["Accept-Ranges"] = nil
        if case .none = response.body { return response }
        guard let unpacked = UnpackedBody(response.body) else {
            // There is no zlib.
            response.headers.add("Content-Encoding", "gzip")
            return response
        }
        response.body = .unpacked(unpacked)
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
