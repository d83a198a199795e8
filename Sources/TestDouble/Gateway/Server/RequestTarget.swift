import HTTPServer
import HTTPText

/// The API that a request is for, and the percent-decoded segments of its path in that API.
struct RequestTarget {
    enum API: Sendable, CaseIterable { case firebase, cloud, xml, `internal` }

    let api: API
    let path: [String]
    /// The refusal of a path that is not UTF-8 (400), or names no bucket (404).
    let flaw: GatewayError?

    /// The first segments of the paths of APIs. `/BUCKET/NAME` is served for buckets of these names only with a signature
    /// of Amazon's.
    private static let reserved: Set = ["b", "batch", "download", "internal", "resumable", "storage", "upload", "v0"]

    init(_ http: HTTPServerRequest) {
        var (segments, unreadable): ([String], GatewayError?) = ([], nil)
        for encoded in http.path.segments {
            let decoded = percentDecoded(encoded)
            if decoded == nil, unreadable == nil { unreadable = .badRequest("The path is not UTF-8: \(encoded)") }
            segments.append(decoded ?? "\u{FFFD}")
        }
        // Some clients put slashes around the segments before the bucket. Later slashes belong to names.
        let head = segments.firstIndex(of: "b") ?? segments.count
        var all = segments
        if all[..<head].contains("") { all.replaceSubrange(..<head, with: all[..<head].filter { !$0.isEmpty }) }
        switch all.first {
        // A signature of Amazon says which API is meant, whatever the name of the bucket is.
        case _ where http.isSignedForAmazon: (api, path, flaw) = (.xml, Self.xml(segments), unreadable)
        case "v0": (api, path, flaw) = (.firebase, Self.firebase(all.dropFirst()), unreadable)
        case "internal": (api, path, flaw) = (.internal, Array(all.dropFirst()), unreadable)
        case let first:
            if let path = Self.cloud(all[...], isRead: http.isRead) {
                (api, self.path, flaw) = (.cloud, path, unreadable)
            } else if let first, Self.reserved.contains(first) {
                (api, path, flaw) = (.cloud, all, unreadable)
            } else {
                (api, path) = (.xml, Self.xml(segments))
                let namesBucket = path.first?.isEmpty == false || http.path == "/" && http.isRead
                flaw = unreadable ?? (namesBucket ? nil : .notFound)
            }
        }
    }

    /// The name of an object is one segment: clients leave its slashes unescaped.
    private static func firebase(_ path: ArraySlice<String>) -> [String] {
        let name = path.dropFirst(3).joined(separator: "/")
        return path.prefix(3) + (name.isEmpty ? [] : [name])
    }

    /// The path behind `/storage/v1`, `/download/storage/v1`, `/upload/storage/v1` or `/resumable/upload/storage/v1`,
    /// each of which clients leave out. The path of an upload begins with `upload`.
    private static func cloud(_ path: ArraySlice<String>, isRead: Bool) -> [String]? {
        var rest = path
        let isUpload = rest.first == "upload" || rest.first == "resumable"
        if rest.starts(with: ["resumable", "upload"]) { rest = rest.dropFirst() }
        if rest.first == "download", !isRead { return nil }
        if isUpload || rest.first == "download" { rest = rest.dropFirst() }
        if rest.starts(with: ["storage", "v1"]) { rest = rest.dropFirst(2) }
        let isProject = rest.first == "projects" && ["hmacKeys", "serviceAccount"].contains(rest.dropFirst(2).first)
        guard rest.first == "b" || isProject && !isUpload else { return nil }
        // A list of buckets may end with a slash. A read behind `o/` is about an object without a name.
        if rest.count == 2 || rest.count == 4 && !isRead, rest.last == "" { rest.removeLast() }
        return isUpload ? ["upload"] + rest : Array(rest)
    }

    /// A bucket, and the name of an object with its slashes. Empty for the root.
    private static func xml(_ segments: [String]) -> [String] {
        let name = segments.dropFirst().joined(separator: "/")
        if segments == [""] { return [] }
        return segments.prefix(1) + (name.isEmpty ? [] : [name])
    }
}

extension HTTPServerRequest {
    var isRead: Bool { method == .get || method == .head }

    /// The request has a signature of Amazon's, of version 2 or 4, as a header or in its query.
    var isSignedForAmazon: Bool {
        if let field = headers["Authorization"] { return field.hasPrefix("AWS") }
        guard var query else { return false }
        return query.withUTF8 { query in
            query.split(separator: UInt8(ascii: "&")).contains { param in
                param.starts(with: "X-Amz-Algorithm=".utf8) || param.starts(with: "AWSAccessKeyId=".utf8)
            }
        }
    }
}

extension String {
    /// The parts between the slashes of a path that begins with one.
    fileprivate var segments: [String] {
        var path = self
        return path.withUTF8 { bytes in
            bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
