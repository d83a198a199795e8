import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

extension GatewayService {
    /// Answers with the bytes of an object. An object stored as gzip is unpacked for clients that do not accept gzip,
    /// as at Google: without a length, so not for HTTP/1.0, and without ranges. Bytes that are no gzip are sent
    /// unchanged.
    ///
    /// - Parameter token: a download token. Throws `objectNotFound` if the object does not have it.
    /// - Parameter hasResourceTag: whether the entity tag is the resource's, without quotation marks, instead of the
    /// MD5.
    func media(
        of object: Reference, openTo token: String? = nil, for request: GatewayRequest,
        if conditions: Preconditions = Preconditions(), hasResourceTag: Bool = false
    ) async throws -> HTTPServerResponse {
        try await admit(.getData, object)
        var (metadata, resource) = try await readingStored { () throws(StorageError) in
            try await engine.resource(of: object, openTo: token)
        }
        try conditions.checkReading(metadata)
        if hasResourceTag { resource.etag = EntityTag(metadata.resourceTag) }
        var http = request.http.withQuotedTags
        if hasResourceTag {
            try request.checkTags(metadata.resourceTag)
            for name in ["If-Match", "If-None-Match"] { http.headers[name] = nil }
        }
        let isPacked = metadata.settable.content[.contentEncoding]?.lowercased() == "gzip"
        let isHead = http.method == .head
        if request.isOfAmazon {
            // Amazon S3 sends the bytes as they are stored, and answers a HEAD with a range as a GET.
            http.method = .get
            // It adds no headers that the object does not have.
            let content = metadata.settable.content
            if content[.contentDisposition] == nil { resource.headers["Content-Disposition"] = nil }
            if content[.cacheControl] == nil { resource.headers["Cache-Control"] = nil }
        } else if isPacked, !http.isHTTP10, !http.accepts("gzip"), let unpacked = await unpacked(resource, for: http) {
            return unpacked
        }
        var response = await respond(to: http, with: resource, at: now)
        if isHead { response.body = response.body.unopened }
        if hasResourceTag { response.headers["ETag"] = metadata.resourceTag }
        return response
    }

    /// Reads stored bytes. Damage becomes 500: it is no wrong checksum of the request.
    func readingStored<Answer>(_ body: @Loop () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let error as StorageError where error.code == .nonMatchingChecksum {
            throw GatewayError(500, error.message)
        }
    }

    /// Answers with the unpacked bytes. Nil where they are no gzip, or without zlib.
    private func unpacked(_ stored: ServedResource, for request: HTTPServerRequest) async -> HTTPServerResponse? {
        var (resource, request) = (stored, request)
        resource.headers["Content-Encoding"] = nil
        resource.headers.add("Vary", "Accept-Encoding")
        // A strong tag would name the packed bytes.
        resource.etag = resource.etag.flatMap { EntityTag($0.opaque, isWeak: true) }
        request.headers["Range"] = nil
        // A HEAD gets the headers of the GET.
        if request.method == .head { request.method = .get }
        var response = await respond(to: request, with: resource, at: now)
        response.headers["Accept-Ranges"] = nil
        if case .none = response.body { return response }
        guard let body = UnpackedBody(response.body), await engine.begin(body) else { return nil }
        response.body = .unpacked(body)
        return response
    }
}

extension HTTPServerResponse.Body {
    /// The body of an answer to a HEAD.
    fileprivate var unopened: Self {
        switch self {
        case .bytes(let bytes): .unopened(Int64(bytes.count))
        case .file(let file): .unopened(file.count)
        case .none, .unopened, .unpacked: self
        }
    }
}

extension ObjectMetadata {
    /// The entity tag of the resource, which changes with the bytes and with the metadata.
    var resourceTag: String { "\(generation)/\(metageneration)" }
}

extension HTTPServerRequest {
    /// The request with quotation marks around the tags of its conditions: clients of Google leave them out.
    fileprivate var withQuotedTags: HTTPServerRequest {
        var request = self
        for name in ["If-Match", "If-None-Match"] where headers.list(name).contains(where: Self.isUnquoted) {
            let tags = headers.list(name).map { Self.isUnquoted($0) ? "\"\($0)\"" : String($0) }
            request.headers[name] = tags.joined(separator: ", ")
        }
        if let text = headers.only("If-Range"), Self.isUnquoted(text[...]), HTTPDate(text) == nil {
            request.headers["If-Range"] = "\"\(text)\""
        }
        return request
    }

    private static func isUnquoted(_ tag: Substring) -> Bool { tag != "*" && !tag.contains("\"") }

    /// Whether `Accept-Encoding` names a coding; one with the weight 0 is refused.
    fileprivate func accepts(_ coding: String) -> Bool {
        headers.list("Accept-Encoding").contains { text in
            let parts = text.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = parts.first, name == coding || name == "*" else { return false }
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }
}
