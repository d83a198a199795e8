import Checksums
import HTTPClient
import HTTPText
import JSONText
import Storage

/// The JSON API of Google Cloud Storage, v1, with uploads by Content-Range.
struct GCSDialect: GoogleDialect {
    let authorization: [Token.Kind] = [.accessToken]
    let takesAppCheck = false
    let bindsWrites = true
    let takesFinalChecksum = true
    let signIn = "auth/setToken, --service-account, --access-token-file or GOOGLE_APPLICATION_CREDENTIALS"

    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest {
        let query = generation.map { "?generation=\($0)" } ?? ""
        return RemoteRequest(method: "GET", target: object(reference) + query)
    }

    func update(
        _ reference: Reference, _ change: MetadataChange, of known: ObjectMetadata?, if conditions: Preconditions
    ) -> RemoteRequest? {
        RemoteRequest(
            method: "PATCH", target: object(reference) + conditions.query(after: "?"), headers: json,
            body: .bytes(change.wire.bytes))
    }

    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: object(reference) + conditions.query(after: "?"))
    }

    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest? {
        RemoteRequest(method: "DELETE", target: object(reference) + "?generation=\(generation)")
    }

    func list(_ query: ListQuery) -> RemoteRequest {
        let reference = query.reference
        var target = "/storage/v1/b/\(reference.bucket.escaped)/o?prefix=\(reference.prefix.escaped)\(query.delimiter)"
        let items = query.wantsMetadata ? "items" : "items(name)"
        target += "&maxResults=\(query.maxResults)&fields=\("\(items),prefixes,nextPageToken".escaped)"
        if let pageToken = query.pageToken { target += "&pageToken=\(pageToken.escaped)" }
        return RemoteRequest(
            method: "GET", target: target, answerBytes: RemoteRequest.largestListing, subject: .listing)
    }

    func buckets(of project: String, after pageToken: String?) -> RemoteRequest? {
        var target = "/storage/v1/b?project=\(project.escaped)&fields=\("items(name),nextPageToken".escaped)"
        if let pageToken { target += "&pageToken=\(pageToken.escaped)" }
        return RemoteRequest(
            method: "GET", target: target, answerBytes: RemoteRequest.largestListing, subject: .listing)
    }

    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?) {
        guard let json = JSON(wire: response.body), json.object != nil else { throw GarbledAnswer("no listing") }
        var names: [String] = []
        for item in try json.read("items", "a list", \.array) ?? [] {
            guard let name = item["name"]?.string, !name.isEmpty else { throw GarbledAnswer("a bucket has no name") }
            names.append(name)
        }
        let token = try json.read("nextPageToken", "a text", \.string) ?? ""
        return (names, token.isEmpty ? nil : token)
    }

    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    {
        let query = "?alt=media" + (generation.map { "&generation=\($0)" } ?? "")
        return .media(object(reference) + query, isGzip: isGzip, from: offset, to: end)
    }

    var links: Links { .signatures(self) }

    private func object(_ reference: Reference) -> String {
        "/storage/v1/b/\(reference.bucket.escaped)/o/\(reference.object.escaped)"
    }

    private var json: HTTPHeaders { ["Content-Type": "application/json; charset=utf-8"] }
}

extension GCSDialect: SignatureDialect {
    /// In seconds: a week.
    var longestLifetime: Int64 { 604_800 }

    func downloadURL(_ link: DownloadLink, signedBy signer: any URLSigner) async throws(StorageError) -> String {
        try await link.signed(by: signer)
    }
}

extension GCSDialect {
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, as write: RemoteWrite, if conditions: Preconditions
    ) -> RemoteRequest {
        let parts = upload.multipart(upload.wireMetadata(crc32c: checksum.crc32c), bytes, boundary: write.id)
        return RemoteRequest(
            method: "POST", target: start(upload, "multipart", conditions),
            headers: ["Content-Type": parts.contentType], body: parts.body, subject: .bucket, hasChecksum: true)
    }

    func open(_ upload: Upload, as write: RemoteWrite, if conditions: Preconditions) -> RemoteRequest {
        var headers = json.with("X-Upload-Content-Type", upload.headerContentType)
        if let size = upload.source.size { headers.add("X-Upload-Content-Length", String(size)) }
        return RemoteRequest(
            method: "POST", target: start(upload, "resumable", conditions), headers: headers,
            body: .bytes(upload.wireMetadata().bytes), subject: .bucket)
    }

    func send(
        _ range: Range<Int64>, of total: Int64?, to session: RemoteSession, _ body: HTTPBody, crc32c: UInt32?
    ) -> RemoteRequest {
        let bytes = range.isEmpty ? "*" : "\(range.lowerBound)-\(range.upperBound - 1)"
        var request = put(session, "bytes \(bytes)/\(total.map(String.init) ?? "*")", body)
        guard let crc32c else { return request }
        request.headers.add("X-Goog-Hash", "crc32c=\(crc32c.base64)")
        request.hasChecksum = true
        return request
    }

    /// A query is a final chunk without bytes: the server answers with its offset, or that the object is stored.
    func query(_ session: RemoteSession, total: Int64?) -> RemoteRequest {
        put(session, total.map { ContentRange.text(nil, of: $0) } ?? "bytes */*")
    }

    func cancel(_ session: RemoteSession) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: session.text, subject: .session)
    }

    func isCancelled(in response: HTTPResponse) -> Bool {
        response.isAboutEndedSession || response.isSuccess && response.hasNothing
    }

    private func put(_ session: RemoteSession, _ range: String, _ body: HTTPBody = .none) -> RemoteRequest {
        RemoteRequest(
            method: "PUT", target: session.text, headers: ["Content-Range": range], body: body, subject: .session)
    }

    private func start(_ upload: Upload, _ type: String, _ conditions: Preconditions) -> String {
        let reference = upload.reference
        return "/upload/storage/v1/b/\(reference.bucket.escaped)/o?uploadType=\(type)&name=\(reference.object.escaped)"
            + conditions.query(after: "&")
    }

    func session(in response: HTTPResponse, to request: RemoteRequest) throws(GarbledAnswer) -> RemoteSession {
        guard let url = response.headers["Location"], !url.isEmpty, !url.hasPrefix("/") else {
            throw GarbledAnswer("no upload session")
        }
        return RemoteSession(text: url)
    }

    func status(
        in response: HTTPResponse, after range: Range<Int64>?, of total: Int64?, _ session: inout RemoteSession
    ) -> UploadStatus? {
        switch response.status {
        case 200, 201: .stored
        case 308: persisted(response.headers["Range"])
        case 499: .ended
        default: nil
        }
    }

    /// The status in a Range header; without one no bytes have been received.
    private func persisted(_ range: String?) -> UploadStatus {
        guard let range else { return .received(upTo: 0) }
        guard let text = range.split(separator: "=").last, text.hasPrefix("0-"), let last = Int64(text.dropFirst(2)),
            last >= 0, last < .max
        else { return .garbled("Range: \(range)") }
        // An emulator reports one byte for none; the service keeps only whole granules.
        return .received(upTo: last == 0 ? 0 : last + 1)
    }
}

extension Preconditions {
    /// The query parameters after the mark.
    fileprivate func query(after mark: String) -> String {
        let parameters = [
            ("ifGenerationMatch", generation), ("ifMetagenerationMatch", metageneration),
            ("ifGenerationNotMatch", notGeneration), ("ifMetagenerationNotMatch", notMetageneration),
            ("generation", named),
        ]
        let text = parameters.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: "&")
        return text.isEmpty ? "" : mark + text
    }
}

extension GCSDialect: CopyDialect {
    var copies: (any CopyDialect)? { self }

    func copy(
        _ object: ObjectMetadata, as upload: Upload, _ write: RemoteWrite, after token: String?,
        if conditions: Preconditions
    ) -> RemoteRequest {
        let target = self.object(upload.reference).dropFirst("/storage/v1".count)
        var query = "?sourceGeneration=\(object.generation)" + conditions.query(after: "&")
        let copy = upload.source.copy?.request
        if let metageneration = copy?.preconditions.metageneration {
            query += "&ifSourceMetagenerationMatch=\(metageneration)"
        }
        if let token { query += "&rewriteToken=\(token.escaped)" }
        var request = RemoteRequest(
            method: "POST", target: "\(self.object(object.reference))/rewriteTo\(target)\(query)")
        guard copy?.keepsMetadata == false else { return request }
        (request.headers, request.body) = (json, .bytes(upload.wireMetadata().bytes))
        return request
    }

    func copied(
        _ response: HTTPResponse, by request: RemoteRequest, of object: ObjectMetadata, to reference: Reference,
        after token: String?
    ) throws(GarbledAnswer) -> CopyStatus {
        guard let json = JSON(wire: response.body) else { throw GarbledAnswer("no JSON") }
        if let resource = json["resource"] { return .done(try ObjectMetadata(wire: resource, reference)) }
        guard let copied = try json.read("totalBytesRewritten", "a number", \.digits), copied >= 0,
            let token = try json.read("rewriteToken", "a text", \.string)
        else { throw GarbledAnswer("neither a resource nor a token") }
        return .copied(copied, token: token)
    }
}
