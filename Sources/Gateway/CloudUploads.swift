import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads of Google Cloud Storage: in one request, raw or multipart, or resumable by `Content-Range`.
@Loop struct CloudUploads {
    let service: GatewayService
    let request: GatewayRequest
    let bucket: String

    func answer() async throws -> HTTPServerResponse {
        try request.allow(QueryParams.upload)
        if let id = request["upload_id"] { return try await goOn(with: id) }
        guard request.http.method == .post else { throw GatewayError(405, "Method Not Allowed") }
        switch request["uploadType"] ?? request.header("X-Goog-Upload-Protocol") ?? "media" {
        case "resumable": return try await start()
        case "multipart":
            let upload = try await MultipartUpload(request)
            return try await store(upload, upload.resource, upload.change, .init(request.http.headers))
        case "media", "raw":
            var change = MetadataChange()
            if let type = request.header("Content-Type") { change.content[.contentType] = type }
            if let encoding = request["contentEncoding"] { change.content[.contentEncoding] = encoding }
            return try await store(
                request.body, [:], change, .init(request.http.headers, isWholeObject: true))
        case let other: throw GatewayError.badRequest("There is no upload type \(other).")
        }
    }

    private func reference(_ json: JSON) throws -> Reference {
        guard let name = request["name"] ?? json["name"]?.string, !name.isEmpty else {
            throw GatewayError.badRequest("Required: the name of the object.")
        }
        return try Reference(bucket: bucket, object: name)
    }

    private func store(
        _ source: any ByteSource, _ json: JSON, _ change: MetadataChange, _ expected: IncomingBytes.Expected
    ) async throws -> HTTPServerResponse {
        let object = try reference(json)
        return complete(
            try await service.store(source, to: object, change, if: request.preconditions(), expected))
    }

    private func complete(_ stored: ObjectMetadata) -> HTTPServerResponse { .json(stored.cloud(request.base)) }

    // MARK: - Resumable

    private func start() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        let object = try reference(json)
        var change = try MetadataChange(resource: json)
        if let type = request.header("x-upload-content-type"), json["contentType"] == nil {
            change.content[.contentType] = type
        }
        if let encoding = request["contentEncoding"], json["contentEncoding"] == nil {
            change.content[.contentEncoding] = encoding
        }
        let upload = try await service.transfers.upload(
            size: request.length("x-upload-content-length"), to: object, change, if: request.preconditions())
        guard let id = upload.task?.id else { throw GatewayError(500, "The upload has ended.") }
        let place = "/upload/storage/v1/b/\(bucket.escaped)/o?uploadType=resumable&name=\(object.object.escaped)"
        return HTTPServerResponse(
            200, headers: ["Location": "\(request.base)\(place)&upload_id=\(id)", "X-GUploader-UploadID": id])
    }

    private func goOn(with id: String) async throws -> HTTPServerResponse {
        let session = try await UploadSessionState(id, service.transfers)
        return try await session.used { try await answer(about: session) }
    }

    private func answer(about session: UploadSessionState) async throws -> HTTPServerResponse {
        if request.http.method == .delete {
            if case .completed = try await session.cancelled() { throw GatewayError(410, "The upload is complete.") }
            return HTTPServerResponse(499)
        }
        guard request.http.method == .put || request.http.method == .post else {
            throw GatewayError(405, "Method Not Allowed")
        }
        switch session {
        case .completed(let stored): return complete(stored)
        case .cancelled: return HTTPServerResponse(499)
        case .failed(let error): throw GatewayError(error)
        case .active(let upload): return try await receive(upload, ContentRange(request))
        }
    }

    private func receive(_ upload: IncomingUpload, _ range: ContentRange) async throws -> HTTPServerResponse {
        if let total = range.total, let announced = upload.announcedSize, total != announced {
            throw GatewayError.badRequest("The upload has \(announced) bytes, not \(total).")
        }
        guard let start = range.start else {
            guard request.body.length ?? 0 == 0 else { throw GatewayError.badRequest("The body has no place.") }
            return try await status(of: upload, total: range.total)
        }
        try range.check(request.body.length)
        let body = UploadBody(request.body, service.engine)
        let answer = try await body.send(
            to: upload, from: start, upTo: range.end, isLast: range.isLast, .init(request.http.headers))
        return try await response(answer, upload)
    }

    /// Without bytes: where is the upload? One whose bytes are all there ends.
    private func status(of upload: IncomingUpload, total: Int64?) async throws -> HTTPServerResponse {
        let answer = try await upload.query()
        guard case .received(let offset) = answer, offset == total else { return try await response(answer, upload) }
        return try await response(upload.send(.init([], at: offset), isLast: true), upload)
    }

    private func response(
        _ answer: IncomingUpload.Answer, _ upload: IncomingUpload
    ) async throws -> HTTPServerResponse {
        switch answer {
        case .completed(let stored): return complete(stored)
        case .received(let offset):
            // Without bytes there is no range.
            var headers: HTTPHeaders = offset == 0 ? [:] : ["Range": "bytes=0-\(offset - 1)"]
            // Clients in Go would follow a 308 as a redirect.
            guard request.header("X-GUploader-No-308")?.lowercased() == "yes" else {
                return HTTPServerResponse(308, headers: headers)
            }
            headers["X-HTTP-Status-Code-Override"] = "308"
            return HTTPServerResponse(200, headers: headers)
        case .failed(let error):
            var refusal = GatewayError(error)
            // A gap: the client asks where to go on.
            if error.param == "offset" { refusal.status = 503 }
            throw refusal
        }
    }

    /// `bytes 0-99/200`, `bytes 0-99/*`, `bytes 0-*/*`, `bytes */200` or `bytes */*`.
    private struct ContentRange {
        /// Nil for a request without bytes.
        var start: Int64?
        /// Nil where the bytes end with the body.
        var end: Int64?
        var total: Int64?
        var isLast = true

        /// Throws 400 where a body of this length does not have these bytes. Nothing of it has been read yet.
        func check(_ length: Int64?) throws(GatewayError) {
            guard let length, let start, let end, length != end - start else { return }
            throw .badRequest("The body has \(length) bytes, but its Content-Range says \(end - start).")
        }

        init(_ request: GatewayRequest) throws(GatewayError) {
            guard let text = request.header("Content-Range") else {
                start = 0
                return
            }
            let problem = GatewayError.badRequest("The Content-Range is malformed: \(text)")
            let words = text.split(separator: " ")
            guard words.count == 2, words[0] == "bytes" else { throw problem }
            let sides = words[1].split(separator: "/", omittingEmptySubsequences: false)
            guard sides.count == 2 else { throw problem }
            if sides[1] != "*" {
                guard let total = Int64(sides[1]), total >= 0 else { throw problem }
                self.total = total
            }
            if sides[0] == "*" { return }
            let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let start = Int64(ends[0]), start >= 0 else { throw problem }
            self.start = start
            guard ends[1] != "*" else {
                end = total
                return
            }
            guard let end = Int64(ends[1]), end >= start - 1, end < .max, total.map({ end < $0 }) ?? true else {
                throw problem
            }
            self.end = end + 1
            isLast = total == end + 1
        }
    }
}
