import HTTPClient
import HTTPText
import Storage

/// Requests of Amazon S3 with the bucket in the path: `/BUCKET/KEY`.
extension Call {
    /// The place and the kind of the request. Names keep every slash and dot.
    mutating func readS3(_ raw: String, offset: (_ upload: String, _ part: Int) -> Int64?) {
        dialect = .s3
        let halves = raw.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = (halves.first ?? "").dropFirst().split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let words = path.map { percentDecoded($0) }
        guard raw.hasPrefix("/"), let pairs = Self.pairs(halves.dropFirst().first ?? ""), !words.contains(nil) else {
            refusal = .s3(400, "InvalidURI")
            return
        }
        (bucket, name) = ((words.first ?? nil) ?? "", words.count == 2 && words[1] != "" ? words[1] : nil)
        self.pairs = pairs
        query = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
        kind = s3Kind
        refusal = kind == .unknown ? .s3(405, "MethodNotAllowed") : s3Refusal
        if [.copyPart, .chunk].contains(kind), let upload = query["uploadId"], let part = query["partNumber"],
            let start = Int(part).flatMap({ offset(upload, $0) })
        {
            range = start..<start + Int64(length)
        }
    }

    /// The names and values in the form and order of the request. Nil for a plus, which servers read in different ways.
    private static func pairs(_ text: Substring) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard !pair.contains("+"), let name = percentDecoded(sides[0]),
                let value = percentDecoded(sides.dropFirst().first ?? ""), !pairs.contains(where: { $0.name == name })
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    private var s3Kind: StorageFixture.Kind {
        switch (method, bucket, name) {
        case ("GET", "", nil): return .buckets
        case (_, "", _): return .unknown
        case ("HEAD", _, nil): return .headBucket
        case ("GET", _, nil): return query["location"] != nil ? .location : query["uploads"] != nil ? .uploads : .list
        case ("POST", _, nil): return query["delete"] != nil ? .deleteMany : .unknown
        case (_, _, nil): return .unknown
        case ("HEAD", _, _): return .getMetadata
        case ("GET", _, _): return query["uploadId"] != nil ? .query : .media
        case ("DELETE", _, _): return query["uploadId"] != nil ? .cancel : .delete
        case ("POST", _, _): return query["uploads"] != nil ? .start : query["uploadId"] != nil ? .finalize : .unknown
        case ("PUT", _, _):
            let source = headers["x-amz-copy-source"]
            if query["partNumber"] != nil || query["uploadId"] != nil { return source == nil ? .chunk : .copyPart }
            guard let source else { return .multipart }
            let (from, to) = (Self.place(source), (bucket, name ?? ""))
            return from.map { $0 == to } == true ? .patch : .rewrite
        default: return .unknown
        }
    }

    /// The bucket and the name in `x-amz-copy-source`.
    static func place(_ source: String) -> (String, String)? {
        let path = source.hasPrefix("/") ? source.dropFirst() : source[...]
        guard !path.contains("?"), let text = percentDecoded(path),
            let slash = text.firstIndex(of: "/"), text.index(after: slash) < text.endIndex
        else { return nil }
        return (String(text[..<slash]), String(text[text.index(after: slash)...]))
    }

    /// The path with every byte but unreserved ones and slashes as an escape, and not normalised.
    var canonicalPath: String {
        guard !bucket.isEmpty else { return "/" }
        let segments = (name ?? "").split(separator: "/", omittingEmptySubsequences: false)
        let isBucket = name == nil && !target.prefix { $0 != "?" }.dropFirst().contains("/")
        return "/" + bucket.percentEncoded
            + (isBucket ? "" : "/" + segments.map { String($0).percentEncoded }.joined(separator: "/"))
    }
}

// MARK: What is not understood

extension Call {
    private static let everywhere: Set<String> = [
        "host", "user-agent", "accept", "authorization", "content-length", "connection", "x-amz-date",
        "x-amz-content-sha256", "x-amz-security-token",
    ]
    private static let signature: Set<String> = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature",
        "X-Amz-Security-Token",
    ]
    static let contents: [(header: String, property: ContentProperty)] = [
        ("content-type", .contentType), ("cache-control", .cacheControl), ("content-disposition", .contentDisposition),
        ("content-encoding", .contentEncoding), ("content-language", .contentLanguage),
    ]
    static let metadataPrefix = "x-amz-meta-"
    /// The other headers that are stored with an object.
    static let kept: Set<String> = [
        "expires", "x-amz-website-redirect-location", "x-amz-storage-class", "x-amz-tagging",
    ]

    /// A refusal of a header or a param that this kind of request does not have.
    private var s3Refusal: Answer? {
        let headersTaken = Self.everywhere.union(headersOfKind)
        for field in headers.fields {
            let name = field.name.lowercased()
            let isMetadata =
                name.hasPrefix(Self.metadataPrefix) || Self.contents.contains { $0.header == name }
                || Self.kept.contains(name)
            guard headersTaken.contains(name) || isMetadata && takesMetadata || name == "content-type" && length > 0
            else { return .s3(400, "InvalidArgument", "The fixture knows no header \(field.name) of \(kind).") }
        }
        let params = paramsOfKind.union(query["X-Amz-Algorithm"] == nil ? [] : Self.signature)
        if let other = pairs.first(where: { !params.contains($0.name) }) {
            return .s3(400, "InvalidArgument", "The fixture knows no param \(other.name) of \(kind).")
        }
        return nil
    }

    private var takesMetadata: Bool {
        switch kind {
        case .multipart, .start: true
        case .patch, .rewrite: headers["x-amz-metadata-directive"] == "REPLACE"
        default: false
        }
    }

    private var headersOfKind: Set<String> {
        let copies: Set<String> = ["x-amz-copy-source", "x-amz-copy-if-match", "x-amz-copy-source-if-match"]
        switch kind {
        case .multipart: return ["content-md5", "if-match", "if-none-match"]
        case .chunk: return ["content-md5"]
        case .copyPart: return copies.union(["x-amz-copy-source-range"])
        case .patch, .rewrite: return copies.union(["x-amz-metadata-directive", "if-match", "if-none-match"])
        case .finalize: return ["if-match", "if-none-match", "content-md5"]
        case .media: return ["range", "if-match"]
        case .getMetadata: return ["if-match", "x-amz-checksum-mode"]
        case .delete: return ["if-match"]
        case .deleteMany: return ["content-md5"]
        default: return []
        }
    }

    private var paramsOfKind: Set<String> {
        switch kind {
        case .list:
            return [
                "list-type", "prefix", "delimiter", "max-keys", "encoding-type", "continuation-token", "start-after",
            ]
        case .uploads: return ["uploads", "prefix", "max-uploads", "encoding-type", "key-marker", "upload-id-marker"]
        case .location: return ["location"]
        case .deleteMany: return ["delete"]
        case .start: return ["uploads"]
        case .chunk, .copyPart: return ["partNumber", "uploadId"]
        case .query: return ["uploadId", "max-parts", "part-number-marker"]
        case .finalize, .cancel: return ["uploadId"]
        case .media: return ["response-content-type", "response-content-disposition"]
        default: return []
        }
    }
}
