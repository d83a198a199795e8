import Checksums
import HTTPClient
import HTTPText
import JSONText
import Storage

/// The REST protocol of Firebase Storage, v0, with uploads by X-Goog-Upload headers.
struct FirebaseDialect: GoogleDialect {
    let authorization: [Token.Kind] = [.idToken, .accessToken]
    let takesAppCheck = true
    let bindsWrites = false
    let takesFinalChecksum = false
    let signIn = "auth/setToken, --id-token-file or STORAGE_RPC_ID_TOKEN"
    let version: String

    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest {
        RemoteRequest(method: "GET", target: object(reference), headers: own)
    }

    func update(
        _ reference: Reference, _ change: MetadataChange, of known: ObjectMetadata?, if conditions: Preconditions
    ) -> RemoteRequest? {
        RemoteRequest(method: "PATCH", target: object(reference), headers: json, body: .bytes(change.wire.bytes))
    }

    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest? { nil }

    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: object(reference), headers: own)
    }

    func list(_ query: ListQuery) -> RemoteRequest {
        let (reference, most) = (query.reference, query.maxResults)
        var target = "\(bucket(reference))?prefix=\(reference.prefix.escaped)\(query.delimiter)&maxResults=\(most)"
        if let pageToken = query.pageToken { target += "&pageToken=\(pageToken.escaped)" }
        return RemoteRequest(
            method: "GET", target: target, headers: own, answerBytes: RemoteRequest.largestListing, subject: .listing)
    }

    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    {
        var request = RemoteRequest.media(object(reference) + "?alt=media", isGzip: isGzip, from: offset, to: end)
        for field in own.fields { request.headers.add(field.name, field.value) }
        return request
    }

    var links: Links { .tokens(self) }

    private func object(_ reference: Reference) -> String { "\(bucket(reference))/\(reference.object.escaped)" }

    private func bucket(_ reference: Reference) -> String { "/v0/b/\(reference.bucket.escaped)/o" }

    private var own: HTTPHeaders { ["X-Firebase-Storage-Version": version] }
    private var json: HTTPHeaders { own.with("Content-Type", "application/json; charset=utf-8") }
}

extension FirebaseDialect: TokenDialect {
    func createToken(for reference: Reference) -> RemoteRequest {
        RemoteRequest(method: "POST", target: object(reference) + "?create_token=true", headers: own)
    }

    func deleteToken(_ token: String, of reference: Reference) -> RemoteRequest {
        RemoteRequest(method: "POST", target: object(reference) + "?delete_token=\(token.escaped)", headers: own)
    }

    func tokens(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> [String] {
        _ = try metadata(in: response, of: reference)
        let tokens = try JSON(wire: response.body)?.read("downloadTokens", "a text", \.string) ?? ""
        return tokens.split(separator: ",").map(String.init)
    }

    func downloadURL(of reference: Reference, _ token: String, at endpoint: Endpoint) -> String {
        "\(endpoint.url)\(object(reference))?alt=media&token=\(token.escaped)"
    }
}

extension FirebaseDialect {
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, as write: RemoteWrite, if conditions: Preconditions
    ) -> RemoteRequest {
        let parts = upload.multipart(upload.wireMetadata(md5: checksum.md5), bytes, boundary: write.id)
        let headers = own.with("X-Goog-Upload-Protocol", "multipart").with("Content-Type", parts.contentType)
        return RemoteRequest(
            method: "POST", target: start(upload), headers: headers, body: parts.body, subject: .bucket,
            hasChecksum: true)
    }

    func open(_ upload: Upload, as write: RemoteWrite, if conditions: Preconditions) -> RemoteRequest {
        var headers = json
        headers.add("X-Goog-Upload-Protocol", "resumable")
        headers.add("X-Goog-Upload-Command", "start")
        if let size = upload.source.size { headers.add("X-Goog-Upload-Header-Content-Length", String(size)) }
        headers.add("X-Goog-Upload-Header-Content-Type", upload.headerContentType)
        return RemoteRequest(
            method: "POST", target: start(upload), headers: headers, body: .bytes(upload.wireMetadata().bytes),
            subject: .bucket)
    }

    func send(
        _ range: Range<Int64>, of total: Int64?, to session: RemoteSession, _ body: HTTPBody, crc32c: UInt32?
    ) -> RemoteRequest {
        let word = range.upperBound != total ? "upload" : range.isEmpty ? "finalize" : "upload, finalize"
        var request = command(word, session)
        request.headers.add("X-Goog-Upload-Offset", String(range.lowerBound))
        if !range.isEmpty { request.body = body }
        // The server compares the MD5 that the client has sent at the start.
        request.hasChecksum = range.upperBound == total
        return request
    }

    func query(_ session: RemoteSession, total: Int64?) -> RemoteRequest { command("query", session) }

    func cancel(_ session: RemoteSession) -> RemoteRequest { command("cancel", session) }

    /// The emulator answers only with the text of the status.
    func isCancelled(in response: HTTPResponse) -> Bool {
        if response.isAboutEndedSession { return true }
        guard response.isSuccess else { return false }
        return response.uploadStatus.map { $0 == "cancelled" }
            ?? (response.hasNothing || response.body == Array("OK".utf8))
    }

    private func command(_ word: String, _ session: RemoteSession) -> RemoteRequest {
        RemoteRequest(
            method: "POST", target: session.text,
            headers: own.with("X-Goog-Upload-Protocol", "resumable").with("X-Goog-Upload-Command", word),
            subject: .session)
    }

    private func start(_ upload: Upload) -> String {
        "\(bucket(upload.reference))?name=\(upload.reference.object.escaped)"
    }

    func session(in response: HTTPResponse, to request: RemoteRequest) throws(GarbledAnswer) -> RemoteSession {
        guard let url = response.headers["X-Goog-Upload-URL"], !url.isEmpty, !url.hasPrefix("/"),
            response.uploadStatus == "active"
        else { throw GarbledAnswer("no upload session") }
        guard let granularity = response.headers["X-Goog-Upload-Chunk-Granularity"] else {
            return RemoteSession(text: url)
        }
        guard let count = Int64(granularity), count > 0 else {
            throw GarbledAnswer("X-Goog-Upload-Chunk-Granularity: \(granularity)")
        }
        return RemoteSession(text: url, granularity: count)
    }

    func status(
        in response: HTTPResponse, after range: Range<Int64>?, of total: Int64?, _ session: inout RemoteSession
    ) -> UploadStatus? {
        guard (200..<300).contains(response.status) else { return nil }
        switch response.uploadStatus {
        case "final": return .stored
        case "active":
            guard let text = response.headers["X-Goog-Upload-Size-Received"] else {
                return range.map { .received(upTo: $0.upperBound) } ?? .garbled("no X-Goog-Upload-Size-Received")
            }
            guard let size = Int64(digits: text) else { return .garbled("X-Goog-Upload-Size-Received: \(text)") }
            return .received(upTo: size)
        case "cancelled": return .ended
        case let status?: return .garbled("X-Goog-Upload-Status: \(status)")
        case nil: return .garbled("no X-Goog-Upload-Status")
        }
    }
}

extension HTTPResponse {
    fileprivate var uploadStatus: String? { headers["X-Goog-Upload-Status"]?.lowercased() }
}

extension HTTPHeaders {
    func with(_ name: String, _ value: String) -> HTTPHeaders {
        var headers = self
        headers.add(name, value)
        return headers
    }
}
