import Checksums
import HTTPClient
import HTTPText
import JSONText
import Storage

/// The JSON API of Google Cloud Storage, v1, with uploads by Content-Range.
struct GCSDialect: Dialect {
    let authorization: [Token.Kind] = [.accessToken]
    let takesAppCheck = false
    let bindsWrites = true
    let takesFinalChecksum = true
    let signIn = "auth/setToken, --service-account, --access-token-file or GOOGLE_APPLICATION_CREDENTIALS"

    func sign(_ headers: inout HTTPHeaders, with token: Token) {
        headers["Authorization"] = "Bearer \(token.secret)"
    }

    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest {
        let query = generation.map { "?generation=\($0)" } ?? ""
        return RemoteRequest(method: "GET", target: object(reference) + query)
    }

    func update(_ reference: Reference, _ change: MetadataChange, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(
            method: "PATCH", target: object(reference) + conditions.query(after: "?"), headers: json,
            body: .bytes(change.wire.bytes))
    }

    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: object(reference) + conditions.query(after: "?"))
    }

    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: object(reference) + "?generation=\(generation)")
    }

    func list(_ query: ListQuery) -> RemoteRequest {
        let reference = query.reference
        var target = "/storage/v1/b/\(reference.bucket.escaped)/o?prefix=\(reference.prefix.escaped)&delimiter=%2F"
        target += "&maxResults=\(query.maxResults)&fields=\("items(name),prefixes,nextPageToken".escaped)"
        if let pageToken = query.pageToken { target += "&pageToken=\(pageToken.escaped)" }
        return RemoteRequest(
            method: "GET", target: target, answerBytes: RemoteRequest.largestListing, subject: .listing)
    }

    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64) -> RemoteRequest {
        let query = "?alt=media" + (generation.map { "&generation=\($0)" } ?? "")
        return .media(object(reference) + query, isGzip: isGzip, from: offset)
    }

    var links: Links { .signatures }

    private func object(_ reference: Reference) -> String {
        "/storage/v1/b/\(reference.bucket.escaped)/o/\(reference.object.escaped)"
    }

    private var json: HTTPHeaders { ["Content-Type": "application/json; charset=utf-8"] }
}

// MARK: - Uploads

extension GCSDialect {
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, boundary: String, if conditions: Preconditions
    ) -> RemoteRequest {
        let parts = Multipart(upload, upload.wireMetadata(crc32c: checksum.crc32c), bytes, boundary: boundary)
        return RemoteRequest(
            method: "POST", target: start(upload, "multipart", conditions), headers: ["Content-Type": parts.header],
            body: parts.body, subject: .bucket, hasChecksum: true)
    }

    func open(_ upload: Upload, if conditions: Preconditions) -> RemoteRequest {
        let headers = json.with("X-Upload-Content-Type", upload.headerContentType)
            .with("X-Upload-Content-Length", String(upload.source.size))
        return RemoteRequest(
            method: "POST", target: start(upload, "resumable", conditions), headers: headers,
            body: .bytes(upload.wireMetadata().bytes), subject: .bucket)
    }

    func send(
        _ range: Range<Int64>, of total: Int64, to session: ResumableSession, _ body: HTTPBody, crc32c: UInt32?
    ) -> RemoteRequest {
        let bytes = range.isEmpty ? "*" : "\(range.lowerBound)-\(range.upperBound - 1)"
        var request = put(session, "bytes \(bytes)/\(total)", body)
        guard let crc32c else { return request }
        request.headers.add("X-Goog-Hash", "crc32c=\(crc32c.wireChecksum)")
        request.hasChecksum = true
        return request
    }

    /// The same as a finalization without bytes: the service tells where it is, or that it is done.
    func query(_ session: ResumableSession, total: Int64) -> RemoteRequest {
        put(session, ContentRange.text(nil, of: total))
    }

    func cancel(_ session: ResumableSession) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: session.url, subject: .session)
    }

    private func put(_ session: ResumableSession, _ range: String, _ body: HTTPBody = .none) -> RemoteRequest {
        RemoteRequest(
            method: "PUT", target: session.url, headers: ["Content-Range": range], body: body, subject: .session)
    }

    private func start(_ upload: Upload, _ type: String, _ conditions: Preconditions) -> String {
        let reference = upload.reference
        return
            "/upload/storage/v1/b/\(reference.bucket.escaped)/o?uploadType=\(type)&name=\(reference.object.escaped)"
            + conditions.query(after: "&")
    }

    func opened(_ response: HTTPResponse) -> ResumableSession? {
        response.headers["Location"].flatMap { $0.isEmpty ? nil : ResumableSession(url: $0) }
    }

    func news(_ response: HTTPResponse, after range: Range<Int64>?, of total: Int64) -> UploadNews? {
        switch response.status {
        case 200, 201: .stored(response.body)
        case 308: persisted(response.headers["Range"])
        case 499: .ended
        default: nil
        }
    }

    /// No Range at all says that nothing is there yet.
    private func persisted(_ range: String?) -> UploadNews {
        guard let range else { return .received(upTo: 0) }
        guard let text = range.split(separator: "=").last, text.hasPrefix("0-"), let last = Int64(text.dropFirst(2)),
            last >= 0, last < .max
        else { return .garbled("Range: \(range)") }
        // One byte is what an emulator says of nothing; a service keeps whole granules.
        return .received(upTo: last == 0 ? 0 : last + 1)
    }
}

extension Preconditions {
    /// As parameters behind those that there are, or behind the path.
    fileprivate func query(after mark: String) -> String {
        let parameters = [("ifGenerationMatch", generation), ("ifMetagenerationMatch", metageneration)]
        let text = parameters.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: "&")
        return text.isEmpty ? "" : mark + text
    }
}
