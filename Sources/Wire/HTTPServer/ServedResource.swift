import HTTPText
import Platform

/// A resource that can be fetched, before it is opened.
package struct ServedResource: Sendable {
    package var size: Int64
    package var etag: EntityTag?
    package var lastModified: HTTPDate?
    package var contentType: String?
    /// Cache-Control, Content-Disposition and other fields of the answer.
    package var headers: HTTPHeaders
    /// Opens a range within the size. Returns nil if the resource no longer exists, which gives a 404.
    package var open: @Loop (Range<Int64>) async -> HTTPServerResponse.Body?

    package init(
        size: Int64, etag: EntityTag? = nil, lastModified: HTTPDate? = nil, contentType: String? = nil,
        headers: HTTPHeaders = [:], open: @escaping @Loop (Range<Int64>) async -> HTTPServerResponse.Body?
    ) {
        (self.size, self.etag, self.lastModified, self.contentType) = (size, etag, lastModified, contentType)
        (self.headers, self.open) = (headers, open)
    }
}

/// Answers a GET or a HEAD as RFC 9110 specifies: preconditions first, then the range. Only a GET opens the resource.
@Loop
package func respond(
    to request: HTTPServerRequest, with resource: ServedResource, at now: HTTPDate
) async -> HTTPServerResponse {
    let outcome = ConditionalOutcome(request, resource, at: now)
    var response = HTTPServerResponse(outcome.status, headers: outcome.headers(resource))
    guard let range = outcome.range(resource) else { return response }
    if request.method == .head {
        response.body = .unopened(Int64(range.count))
        return response
    }
    guard let body = await resource.open(range) else { return HTTPServerResponse(404) }
    response.body = body
    return response
}

/// The result of a request's preconditions and range.
enum ConditionalOutcome: Equatable {
    case whole
    case part(Range<Int64>)
    case notModified
    case preconditionFailed
    case unsatisfiable

    var status: Int {
        switch self {
        case .whole: 200
        case .part: 206
        case .notModified: 304
        case .preconditionFailed: 412
        case .unsatisfiable: 416
        }
    }

    func range(_ resource: ServedResource) -> Range<Int64>? {
        switch self {
        case .whole: 0..<max(0, resource.size)
        case .part(let range): range
        case .notModified, .preconditionFailed, .unsatisfiable: nil
        }
    }

    func headers(_ resource: ServedResource) -> HTTPHeaders {
        switch self {
        case .preconditionFailed: return [:]
        case .unsatisfiable:
            return ["Content-Range": ContentRange.text(nil, of: resource.size), "Accept-Ranges": "bytes"]
        case .notModified: return validators(resource, with: Self.keptWhenNotModified)
        case .whole: return described(resource)
        case .part(let range):
            var headers = described(resource)
            headers.add("Content-Range", ContentRange.text(range, of: resource.size))
            return headers
        }
    }

    private static let keptWhenNotModified = [
        "Cache-Control", "Content-Location", "Content-Security-Policy", "Expires", "Vary",
    ]

    private func described(_ resource: ServedResource) -> HTTPHeaders {
        var headers = validators(resource)
        if let type = resource.contentType { headers.add("Content-Type", type) }
        headers.add("Accept-Ranges", "bytes")
        return headers
    }

    /// The validators and the extra headers, or only the named ones.
    private func validators(_ resource: ServedResource, with names: [String]? = nil) -> HTTPHeaders {
        var headers = resource.headers
        if let names {
            headers = HTTPHeaders(headers.fields.filter { field in names.contains { isSameName($0, field.name) } })
        }
        if let etag = resource.etag { headers.add("ETag", etag.description) }
        if let date = resource.lastModified { headers.add("Last-Modified", date.description) }
        return headers
    }
}
