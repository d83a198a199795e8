import HTTPServer
import HTTPText

/// Where a request is for: an API, and the segments of the path in it, which are decoded once.
struct Place {
    enum API: Sendable { case firebase, cloud, xml, `internal` }

    let api: API
    let path: [String]

    /// The first segments of the paths of APIs. `/BUCKET/NAME` is not served for buckets of these names.
    private static let reserved: Set = ["b", "batch", "download", "internal", "resumable", "storage", "upload", "v0"]

    /// Whether the request is one of the XML API, whose errors are XML.
    static func isXML(_ http: HTTPServerRequest) -> Bool {
        guard let first = http.path.split(separator: "/").first.map({ percentDecoded($0) }) else {
            return http.path == "/"
        }
        return first.map { !reserved.contains($0) } ?? true
    }

    /// Throws 400 where the path is not UTF-8, and 404 where it names no bucket.
    init(_ http: HTTPServerRequest) throws(GatewayError) {
        var segments: [String] = []
        for segment in http.path.split(separator: "/", omittingEmptySubsequences: false) {
            guard let decoded = percentDecoded(segment) else { throw .badRequest("The path is not UTF-8: \(segment)") }
            segments.append(decoded)
        }
        // Some clients put slashes around what stands before the bucket. Behind it each slash belongs to a name.
        let head = segments.prefix { $0 != "b" }
        let all = head.filter { !$0.isEmpty } + segments.dropFirst(head.count)
        switch all.first {
        case "v0": (api, path) = (.firebase, Self.firebase(all.dropFirst()))
        case "internal": (api, path) = (.internal, Array(all.dropFirst()))
        case let first:
            if let path = Self.cloud(all[...], isRead: http.isRead) {
                (api, self.path) = (.cloud, path)
            } else if let first, Self.reserved.contains(first) {
                (api, path) = (.cloud, all)
            } else {
                (api, path) = (.xml, try Self.xml(http))
            }
        }
    }

    /// A name may have slashes that are not escaped.
    private static func firebase(_ path: ArraySlice<String>) -> [String] {
        let name = path.dropFirst(3).joined(separator: "/")
        return path.prefix(3) + (name.isEmpty ? [] : [name])
    }

    /// The path behind `/storage/v1`, `/download/storage/v1`, `/upload/storage/v1` or `/resumable/upload/storage/v1`, each
    /// of which clients leave out. It begins with `upload` where it did.
    private static func cloud(_ path: ArraySlice<String>, isRead: Bool) -> [String]? {
        var rest = path
        let isUpload = rest.first == "upload" || rest.first == "resumable"
        if rest.starts(with: ["resumable", "upload"]) { rest = rest.dropFirst() }
        if rest.first == "download", !isRead { return nil }
        if isUpload || rest.first == "download" { rest = rest.dropFirst() }
        if rest.starts(with: ["storage", "v1"]) { rest = rest.dropFirst(2) }
        let isProject = rest.first == "projects" && ["hmacKeys", "serviceAccount"].contains(rest.dropFirst(2).first)
        guard rest.first == "b" || isProject && !isUpload else { return nil }
        // A list of buckets or objects may end with a slash.
        if rest.count == 2 || rest.count == 4, rest.last == "" { rest.removeLast() }
        return isUpload ? ["upload"] + rest : Array(rest)
    }

    /// A bucket, and the name of an object, where there is one.
    private static func xml(_ http: HTTPServerRequest) throws(GatewayError) -> [String] {
        let parts = http.path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            .compactMap { percentDecoded($0) }
        if http.path == "/", http.isRead { return [] }
        guard let bucket = parts.first, !bucket.isEmpty else { throw .notFound }
        return parts.last == "" ? [bucket] : parts
    }
}

extension HTTPServerRequest {
    var isRead: Bool { method == .get || method == .head }
}
