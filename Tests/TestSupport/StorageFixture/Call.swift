import HTTPClient
import HTTPText

/// A request, understood by its head alone.
struct Call: Sendable {
    let method: String
    let target: String
    var headers: HTTPHeaders
    /// Of the body.
    let length: Int
    var dialect = StorageFixture.Dialect.firebase
    var kind = StorageFixture.Kind.unknown
    var bucket = ""
    var name: String?
    var query: [String: String] = [:]
    /// The items of the query in their order, at Amazon S3 alone.
    var pairs: [(name: String, value: String)] = []
    /// What follows from the head already.
    var refusal: Answer?
    /// The object's bytes that a chunk carries, where it says which.
    var range: Range<Int64>?
    /// Of the object, where a chunk says it.
    var total: Int64?

    /// The bucket and the name of the copy that a `rewrite` makes.
    var copy: (bucket: String, name: String)?

    var session: String? { query["upload_id"] ?? query["uploadId"] }
    /// Whether the body is bytes of an object.
    var carriesBytes: Bool { kind.carriesBytes && !(dialect == .s3 && kind == .finalize) }
    /// Whether a session keeps what has come of the body when the connection breaks.
    var isKeptInPieces: Bool { session != nil && kind.carriesBytes && dialect != .s3 }
    var base: String { "http://\(headers["Host"] ?? "")" }

    /// - Parameters:
    ///   - persisted: how much of a session there is.
    ///   - offset: where a part of an upload to Amazon S3 begins.
    init(
        _ head: FixturePeer.Request, persisted: (String) -> Int64?, offset: (_ upload: String, _ part: Int) -> Int64?
    ) {
        let words = head.line.split(separator: " ")
        (method, target) = (String(words.first ?? ""), words.count == 3 ? String(words[1]) : "")
        headers = head.headers
        length = headers["Content-Length"].flatMap { Int($0) } ?? 0
        guard words.count == 3, words[2] == "HTTP/1.1", let target = Target(target), length >= 0,
            headers["Transfer-Encoding"] == nil
        else {
            refusal = dialect.refusal(400)
            return
        }
        query = target.query
        let path = target.segments
        if path.starts(with: ["v0", "b"]) { readFirebase(path.dropFirst(2)) }
        if path.starts(with: ["storage", "v1", "b"]) { readGCS(path.dropFirst(3)) }
        if path.starts(with: ["download", "storage", "v1", "b"]) { readGCS(path.dropFirst(4)) }
        if path.starts(with: ["upload", "storage", "v1", "b"]) { readUpload(path.dropFirst(4), persisted) }
        let isGoogles = [["v0"], ["storage", "v1"], ["download", "storage"], ["upload", "storage"]].contains {
            path.starts(with: $0)
        }
        if !isGoogles { readS3(self.target, offset: offset) }
        if kind == .unknown, refusal == nil { refusal = dialect.refusal(404) }
    }

    /// BUCKET/o or BUCKET/o/NAME.
    private mutating func readPlace(_ path: ArraySlice<String>) -> Bool {
        guard (2...3).contains(path.count), let bucket = path.first, path.dropFirst().first == "o" else { return false }
        self.bucket = bucket
        if path.count == 3 { name = path.last }
        return !bucket.isEmpty && name != ""
    }

    private mutating func readObjectCall() {
        switch (method, name) {
        case ("GET", nil): kind = .list
        case ("GET", _): kind = query["alt"] == "media" ? .media : .getMetadata
        case ("PATCH", .some): kind = .patch
        case ("DELETE", .some): kind = .delete
        default: break
        }
    }
}

// MARK: Firebase

extension Call {
    private mutating func readFirebase(_ path: ArraySlice<String>) {
        guard readPlace(path) else { return }
        if session != nil { return readCommand() }
        guard method == "POST" else { return readObjectCall() }
        name = query["name"] ?? name
        if query["create_token"] != nil || query["delete_token"] != nil {
            kind = .token
        } else {
            switch (headers["X-Goog-Upload-Protocol"], headers["X-Goog-Upload-Command"]) {
            case ("resumable", "start"): kind = .start
            case ("multipart", _): kind = .multipart
            case (nil, nil): kind = .raw
            default: refusal = dialect.refusal(400)
            }
        }
    }

    private mutating func readCommand() {
        guard method == "POST" || method == "PUT" else { return }
        let words = (headers["X-Goog-Upload-Command"] ?? "").split(separator: ",")
        switch words.map({ $0.drop { $0 == " " } }) {
        case ["upload"]: kind = .chunk
        case ["upload", "finalize"]: kind = .finalize
        case ["finalize"] where length == 0: kind = .finalize
        case ["query"]: kind = .query
        case ["cancel"]: kind = .cancel
        default: refusal = dialect.refusal(400)
        }
        let offset = headers["X-Goog-Upload-Offset"].flatMap { Int64($0) }
        guard kind.carriesBytes, let offset, offset >= 0, offset < 1 << 50 else {
            if words.contains("upload") { refusal = dialect.refusal(400) }
            return
        }
        range = offset..<offset + Int64(length)
    }
}

// MARK: GCS

extension Call {
    private mutating func readGCS(_ path: ArraySlice<String>) {
        dialect = .gcs
        if let mark = path.firstIndex(of: "rewriteTo"), method == "POST", path.endIndex - mark == 5,
            readPlace(path[..<mark]), name != nil, path[mark + 1] == "b", path[mark + 3] == "o"
        {
            (kind, copy) = (.rewrite, (path[mark + 2], path[mark + 4]))
        } else if path.isEmpty, method == "GET", query["project"] != nil {
            kind = .buckets
        } else if readPlace(path) {
            readObjectCall()
        }
    }

    private mutating func readUpload(_ path: ArraySlice<String>, _ persisted: (String) -> Int64?) {
        dialect = .gcs
        guard readPlace(path), name == nil else { return }
        name = query["name"]
        switch (method, session, query["uploadType"]) {
        case ("PUT", let session?, _): readChunk(persisted(session))
        case ("DELETE", .some, _): kind = .cancel
        case ("POST", nil, "resumable"): kind = .start
        case ("POST", nil, "multipart"): kind = .multipart
        case ("POST", nil, "media"): kind = .raw
        default: refusal = dialect.refusal(400)
        }
    }

    private mutating func readChunk(_ persisted: Int64?) {
        let stated = headers["Content-Range"].map { ContentRange($0) } ?? ContentRange(whole: Int64(length))
        guard let stated, stated.range.map({ $0.count == length }) ?? (length == 0) else {
            refusal = dialect.refusal(400, "Failed to parse Content-Range header.")
            return
        }
        (range, total) = (stated.range, stated.total)
        let end = stated.range?.upperBound ?? persisted
        let completes = stated.total != nil && stated.total == end
        kind = completes ? .finalize : stated.range == nil ? .query : .chunk
    }
}

/// The value of `Content-Range`: `bytes FIRST-LAST/TOTAL`, each side of the slash perhaps `*`.
private struct ContentRange {
    var range: Range<Int64>?
    var total: Int64?

    init(whole length: Int64) { (range, total) = (0..<length, length) }

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let sides = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        if sides[1] != "*" {
            guard let total = Self.number(sides[1]) else { return nil }
            self.total = total
        }
        guard sides[0] != "*" else { return }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < total ?? .max else {
            return nil
        }
        range = first..<last + 1
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text), number < 1 << 50 else {
            return nil
        }
        return number
    }
}
