import HTTPText

extension ConditionalOutcome {
    /// In the order of RFC 9110, section 13.2.2.
    init(_ request: HTTPServerRequest, _ resource: ServedResource, at now: HTTPDate) {
        let headers = request.headers
        if !Self.mayGoOn(headers, resource) {
            self = .preconditionFailed
        } else if Self.isKnown(headers, resource) {
            self = .notModified
        } else if request.method == .get, Self.rangeHolds(headers, resource, now) {
            switch ByteRange(headers, size: max(0, resource.size)) {
            case .whole: self = .whole
            case .part(let range): self = .part(range)
            case .unsatisfiable: self = .unsatisfiable
            }
        } else {
            self = .whole
        }
    }

    /// If-Match, or else If-Unmodified-Since. A malformed list matches nothing.
    private static func mayGoOn(_ headers: HTTPHeaders, _ resource: ServedResource) -> Bool {
        let lines = headers.all("If-Match")
        if !lines.isEmpty {
            switch EntityTagList(parsing: lines) {
            case .any: return true
            case .tags(let tags): return tags.contains { resource.etag?.matchesStrongly($0) ?? false }
            case nil: return false
            }
        }
        guard let limit = date("If-Unmodified-Since", headers), let modified = resource.lastModified else {
            return true
        }
        return modified <= limit
    }

    /// If-None-Match, or else If-Modified-Since.
    private static func isKnown(_ headers: HTTPHeaders, _ resource: ServedResource) -> Bool {
        let lines = headers.all("If-None-Match")
        if !lines.isEmpty {
            switch EntityTagList(parsing: lines) {
            case .any: return true
            case .tags(let tags): return tags.contains { resource.etag?.matchesWeakly($0) ?? false }
            case nil: return false
            }
        }
        guard let since = date("If-Modified-Since", headers), let modified = resource.lastModified else { return false }
        return modified <= since
    }

    /// If-Range. A date identifies the bytes only if more than its second has passed.
    private static func rangeHolds(_ headers: HTTPHeaders, _ resource: ServedResource, _ now: HTTPDate) -> Bool {
        let lines = headers.all("If-Range")
        guard let validator = headers.only("If-Range") else { return lines.isEmpty }
        if let tag = EntityTag(parsing: validator) { return resource.etag?.matchesStrongly(tag) ?? false }
        guard let date = HTTPDate(validator), date == resource.lastModified else { return false }
        return date < now
    }

    /// Returns nil for a malformed date, as if the field were missing.
    private static func date(_ name: String, _ headers: HTTPHeaders) -> HTTPDate? {
        headers.only(name).flatMap { HTTPDate($0) }
    }
}
