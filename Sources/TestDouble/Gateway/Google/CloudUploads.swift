import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads of Google Cloud Storage: in one request, raw or multipart, or resumable by `Content-Range` or the protocol
/// of `X-Goog-Upload`.
@Loop struct CloudUploads: Answering {
    let call: Call
    /// Writes the answer to a complete session; nil for the answer of the JSON API.
    var form: ((ObjectMetadata) -> HTTPServerResponse)?

    init(call: Call) { self.call = call }

    func upload() async throws -> HTTPServerResponse {
        if isInsertion { return try await insert() }
        let type = try type()
        guard type == "resumable" || request.uploadCommands.isEmpty else {
            throw GatewayError(501, "The header X-Goog-Upload-Command is not served here for an upload in one request.")
        }
        switch type {
        case "resumable": return try await startSession()
        case "multipart", "media", "raw":
            return try await store(call.wholeUpload(type == "multipart"))
        case let other: throw GatewayError.badRequest("There is no upload type \(other).")
        }
    }

    /// Whether the request inserts an object by its resource alone: it names no kind of upload.
    private var isInsertion: Bool {
        request.http.path.hasPrefix("/storage/") && request.uploadCommands.isEmpty && request["uploadType"] == nil
            && request["upload_protocol"] == nil && request.header("X-Goog-Upload-Protocol") == nil
    }

    /// Stores an object without bytes, whose resource is the body.
    private func insert() async throws -> HTTPServerResponse {
        let json = try await call.json()
        return try await store(
            WholeUpload(
                bytes: NoBytes(), resource: json, change: change(json), expected: .init(request.http.headers)))
    }

    /// The kind of the upload. Throws where the request names two.
    private func type() throws(GatewayError) -> String {
        let asked = request["uploadType"] ?? request["upload_protocol"]
        if let asked, let other = request["upload_protocol"], other != asked {
            throw .badRequest("The upload has two types: \(asked), \(other).")
        }
        guard let named = request.header("X-Goog-Upload-Protocol")?.lowercased() else {
            return asked ?? (request.uploadCommands.isEmpty ? "media" : "resumable")
        }
        guard ["raw", "multipart", "resumable"].contains(named) else {
            throw GatewayError(501, "The header X-Goog-Upload-Protocol is not served here as \(named).")
        }
        guard let asked, asked != named, asked != "media" || named != "raw" else { return named }
        throw .badRequest("The upload has two types: \(asked), \(named).")
    }

    /// The metadata in the resource and in the params.
    private func change(_ json: JSON) throws -> MetadataChange {
        var change = try MetadataChange(resource: json)
        if let encoding = request["contentEncoding"], json["contentEncoding"] == nil {
            change.content[.contentEncoding] = encoding
        }
        return change
    }

    private func store(_ upload: WholeUpload) async throws -> HTTPServerResponse {
        let object = try call.destination(upload.resource)
        var change = upload.change
        change.makeNoDownloadToken()
        return complete(
            try await service.store(upload.bytes, to: object, change, if: request.preconditions(), upload.expected))
    }

    private func complete(_ stored: ObjectMetadata) -> HTTPServerResponse {
        form?(stored) ?? .json(stored.cloud(request.base))
    }

    // MARK: - Resumable

    private func startSession() async throws -> HTTPServerResponse {
        let json = try await call.json()
        let object = try call.destination(json)
        var change = try change(json)
        let announced = try AnnouncedObject(request)
        if let type = announced.type, json["contentType"] == nil { change.content[.contentType] = type }
        change.makeNoDownloadToken()
        let path = "/upload/storage/v1/b/\(bucket.escaped)/o?uploadType=resumable&name=\(object.object.escaped)"
        if !request.uploadCommands.isEmpty {
            return try await commanded.startSession(object, json, change, if: request.preconditions(), at: path)
        }
        let id = try await service.startSession(
            request, object, change, of: announced.size, if: request.preconditions())
        return HTTPServerResponse(
            200, headers: ["Location": "\(request.base)\(path)&upload_id=\(id)", "X-GUploader-UploadID": id])
    }

    /// Answers a request about a session. Its URL may have the name of the object.
    func continueSession() async throws -> HTTPServerResponse {
        let session = try await UploadSessionState(
            request["upload_id"] ?? "", service.transfers, bucket: bucket,
            name: request["name"] ?? call.name)
        if !request.uploadCommands.isEmpty { return try await commanded.answer(about: session) }
        return try await session.used { try await answer(about: session) }
    }

    private var commanded: CommandedUpload {
        CommandedUpload(service: service, request: request) { [base = request.base] in $0.cloud(base) }
    }

    private func answer(about session: UploadSessionState) async throws -> HTTPServerResponse {
        if request.http.method == .delete {
            if case .completed = try await session.cancelled() { throw GatewayError(410, "The upload is complete.") }
            return HTTPServerResponse(499)
        }
        guard request.http.method == .put || request.http.method == .post else {
            throw GatewayError.methodNotAllowed
        }
        switch session {
        case .completed(let stored): return try await answer(again: stored)
        case .cancelled: return HTTPServerResponse(499)
        case .failed(let error): throw GatewayError(error)
        case .active(let upload): return try await receive(upload)
        }
    }

    /// Answers a request about a complete session.
    private func answer(again stored: ObjectMetadata) async throws -> HTTPServerResponse {
        let range = try SentRange(request)
        try range.check(request.body.length)
        let isQuery = range.end == nil && request.body.length == 0
        return try await complete(again: stored, range, from: isQuery ? nil : range.start)
    }

    private func complete(
        again stored: ObjectMetadata, _ range: SentRange, from start: Int64? = nil
    ) async throws -> HTTPServerResponse {
        let shown = try await service.stored(
            again: stored, request, from: start, upTo: range.end, isLast: range.isLast)
        try range.check(size: stored.size)
        return complete(shown)
    }

    private func receive(_ upload: IncomingUpload) async throws -> HTTPServerResponse {
        let range = try SentRange(request)
        if range.start != nil { try request.checkHasLength() }
        try range.check(size: upload.size)
        let announced = try AnnouncedObject(request)
        try announced.checkType(upload.contentType)
        try announced.check(size: upload.size ?? range.total)
        try range.check(request.body.length)
        try range.checkGranularity()
        let expected = try Checksums(request.http.headers)
        guard let start = range.start else { return try await status(of: upload, total: range.total, expected) }
        guard range.isLast || expected.isEmpty else { throw GatewayError.hashBeforeEnd }
        let answer = try await service.receive(
            request, to: upload, of: range.total, from: start, upTo: range.end, isLast: range.isLast, expected)
        return try await response(answer, upload)
    }

    /// Answers a request without bytes with the offset. An upload that has all bytes ends.
    private func status(
        of upload: IncomingUpload, total: Int64?, _ expected: Checksums
    ) async throws -> HTTPServerResponse {
        let answer = try await upload.query()
        guard case .received(let offset) = answer else { return try await response(answer, upload) }
        if let total, total < offset { throw GatewayError(.earlyEnd(total, before: offset)) }
        upload.note(size: total)
        guard offset == total else { return try await response(answer, upload) }
        return try await response(upload.send(.init([], at: offset), isLast: true, expected), upload)
    }

    private func response(
        _ answer: IncomingUpload.Answer, _ upload: IncomingUpload
    ) async throws -> HTTPServerResponse {
        switch answer {
        case .completed(let stored): return complete(stored)
        case .ended(let stored): return try await complete(again: stored, SentRange(request))
        case .received(let offset):
            // An upload at offset 0 has no range.
            var headers: HTTPHeaders = offset == 0 ? [:] : ["Range": "bytes=0-\(offset - 1)"]
            // Clients in Go would follow a 308 as a redirect.
            guard request.header("X-GUploader-No-308")?.lowercased() == "yes" else {
                return HTTPServerResponse(308, headers: headers)
            }
            headers["X-HTTP-Status-Code-Override"] = "308"
            return HTTPServerResponse(200, headers: headers)
        case .failed(let error):
            var refusal = GatewayError(error)
            // After a gap the client asks for the offset.
            if error.param == "offset" { refusal.status = 503 }
            throw refusal
        }
    }
}
