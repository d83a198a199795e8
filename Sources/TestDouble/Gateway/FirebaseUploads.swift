import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads of Firebase Storage: in one request, raw or multipart, or resumable by the protocol of `X-Goog-Upload`.
@Loop struct FirebaseUploads {
    /// In bytes, as Google's servers demand of all chunks but the last.
    private static let granularity = 262_144
    /// The headers that say how long the object is: of the web, and of Android.
    private static let announcements = ["X-Goog-Upload-Header-Content-Length", "X-Goog-Upload-Content-Length"]

    let service: GatewayService
    let request: GatewayRequest
    let bucket: String
    /// Of the path.
    let name: String?

    func answer() async throws -> HTTPServerResponse {
        let commands = Set(
            (request.header("X-Goog-Upload-Command") ?? "").split(separator: ",")
                .map { $0.filter { $0 != " " }.lowercased() })
        if let id = request["upload_id"] { return try await continueSession(with: id, commands) }
        let type = request.header("X-Goog-Upload-Protocol") ?? request["uploadType"] ?? request["upload_protocol"]
        switch type?.lowercased() {
        case "resumable":
            guard commands == ["start"] else { throw GatewayError.badRequest("The first command is start.") }
            return try await start()
        case "multipart": return try await multipart()
        case nil, "raw", "media":
            guard commands.isEmpty || commands == ["start"] else {
                throw GatewayError.badRequest("A command needs the upload_id of its session.")
            }
            return try await commands.isEmpty ? raw() : start()
        case let other?: throw GatewayError.badRequest("There is no upload protocol \(other).")
        }
    }

    private func reference(_ json: JSON) throws -> Reference {
        try json.checkBucket(bucket)
        let (asked, named) = (request["name"], try json.text("name"))
        if let asked, let name, asked != name {
            throw GatewayError.badRequest("The object has two names: \(asked), \(name).")
        }
        guard let name = asked ?? name ?? named, !name.isEmpty else {
            throw GatewayError.badRequest("The object has no name.")
        }
        return try Reference(bucket: bucket, object: name)
    }

    // MARK: - In one request

    private func raw() async throws -> HTTPServerResponse {
        try request.checkHasLength()
        for header in Self.announcements { try request.checkAnnounced(header) }
        var change = MetadataChange()
        if let type = request.header("Content-Type") { change.content[.contentType] = type }
        return try await store(request.body, [:], change, .init(request.http.headers))
    }

    private func multipart() async throws -> HTTPServerResponse {
        for header in Self.announcements { try request.checkAnnounced(header, isWhole: false) }
        let upload = try await MultipartUpload(request)
        return try await store(upload, upload.resource, upload.change, upload.expected)
    }

    private func store(
        _ source: any ByteSource, _ json: JSON, _ change: MetadataChange,
        _ expected: IncomingBytes.Expected
    ) async throws -> HTTPServerResponse {
        let object = try reference(json)
        try await service.checkUpload(to: object, for: request)
        return .json(
            try await service.store(source, to: object, change, if: Preconditions(), expected).firebase)
    }

    // MARK: - Resumable

    private func start() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        let object = try reference(json)
        // What the table allows the start, it allows the whole session.
        try await service.checkUpload(to: object, for: request)
        var change = try MetadataChange(resource: json)
        let type = request.header("X-Goog-Upload-Header-Content-Type") ?? request.header("X-Goog-Upload-Content-Type")
        if let type, json["contentType"] == nil { change.content[.contentType] = type }
        let sizes = try Self.announcements.compactMap { header throws(GatewayError) in try request.length(header) }
        guard Set(sizes).count < 2 else { throw GatewayError.badRequest("The upload has two lengths: \(sizes).") }
        let size = sizes.first
        try change.take(.init(request.http.headers))
        try await service.engine.checkBucket(of: object)
        let upload = try await service.transfers.upload(size: size, to: object, change)
        guard let id = upload.task?.id else { throw GatewayError(500, "The upload has ended.") }
        let place = "/v0/b/\(bucket.escaped)/o?name=\(object.object.escaped)"
        return HTTPServerResponse(
            200,
            headers: [
                "X-Goog-Upload-Status": "active",
                "X-Goog-Upload-URL": "\(request.base)\(place)&upload_id=\(id)&upload_protocol=resumable",
                "X-Goog-Upload-Control-URL": "", "X-Goog-Upload-Chunk-Granularity": "\(Self.granularity)",
                "X-GUploader-UploadID": id,
            ])
    }

    private func continueSession(with id: String, _ commands: Set<String>) async throws -> HTTPServerResponse {
        let session = try await UploadSessionState(
            id, service.transfers, bucket: bucket, name: request["name"] ?? name)
        return try await session.used {
            switch commands {
            case ["query"]: return try await status(of: session)
            case ["cancel"]: return try await cancel(session)
            case ["upload"], ["upload", "finalize"], ["finalize"]:
                return try await receive(
                    session, hasBytes: commands.contains("upload"), isLast: commands.contains("finalize"))
            default:
                throw GatewayError.badRequest("There is no such command: \(commands.sorted().joined(separator: ", "))")
            }
        }
    }

    private func receive(
        _ session: UploadSessionState, hasBytes: Bool, isLast: Bool
    ) async throws -> HTTPServerResponse {
        if hasBytes { try request.checkHasLength() }
        let upload: IncomingUpload
        switch session {
        case .active(let active): upload = active
        case .completed(let stored):
            guard isLast else { throw GatewayError.badRequest("The upload is complete.").final }
            return try await complete(again: stored)
        case .cancelled: throw GatewayError.badRequest("The upload was cancelled.").final
        case .failed(let error): throw GatewayError(error).final
        }
        let offset: Int64
        if let named = try request.length("X-Goog-Upload-Offset") {
            offset = named
        } else {
            offset = try await self.offset(of: upload)
        }
        let expected = try IncomingBytes.Expected(request.http.headers)
        guard isLast || expected.isEmpty else { throw GatewayError.hashBeforeEnd }
        let body = UploadBody(request.body, service.engine)
        switch try await body.send(to: upload, from: offset, isLast: isLast, expected) {
        case .received(let offset): return active(offset)
        case .ended(let stored):
            guard isLast else { throw GatewayError.badRequest("The upload is complete.").final }
            return try await complete(stored)
        case .completed(let stored): return try await complete(stored)
        case .failed(let error): return try await refusal(error, of: upload)
        }
    }

    /// Of a session that has ended: the client has no answer yet. What it sends must be what is stored. Without an offset
    /// its bytes are the last ones.
    private func complete(again stored: ObjectMetadata) async throws -> HTTPServerResponse {
        do {
            try IncomingBytes.Expected(request.http.headers).check(stored.md5, stored.crc32c, of: stored.reference)
            let start = try request.length("X-Goog-Upload-Offset") ?? max(0, stored.size - (request.body.length ?? 0))
            try await UploadBody(request.body, service.engine).compare(with: stored, from: start, isLast: true)
        } catch let error as StorageError {
            throw GatewayError(error).final
        } catch let error as GatewayError {
            throw error.final
        }
        return try await complete(stored)
    }

    private func offset(of upload: IncomingUpload) async throws -> Int64 {
        if case .received(let offset) = try await upload.query() { offset } else { 0 }
    }

    /// The offset, where the client may continue.
    private func refusal(_ error: StorageError, of upload: IncomingUpload) async throws -> HTTPServerResponse {
        var refusal = GatewayError(error)
        if refusal.dropsConnection { throw refusal }
        let isActive = upload.task?.state.isFinished == false
        refusal.headers["X-Goog-Upload-Status"] = isActive ? "active" : "final"
        if error.param == "offset" {
            refusal.headers["X-Goog-Upload-Size-Received"] = "\(try await offset(of: upload))"
        }
        throw refusal
    }

    private func active(_ offset: Int64) -> HTTPServerResponse {
        HTTPServerResponse(
            200, headers: ["X-Goog-Upload-Status": "active", "X-Goog-Upload-Size-Received": "\(offset)"])
    }

    private func complete(_ stored: ObjectMetadata) async throws -> HTTPServerResponse {
        .json(
            try await service.withTokens(stored).firebase,
            headers: ["X-Goog-Upload-Status": "final", "X-Goog-Upload-Size-Received": "\(stored.size)"])
    }

    private func status(of session: UploadSessionState) async throws -> HTTPServerResponse {
        switch session {
        case .active(let upload):
            switch try await upload.query() {
            case .received(let offset): return active(offset)
            case .completed(let stored), .ended(let stored): return try await complete(stored)
            case .failed(let error): return try await refusal(error, of: upload)
            }
        case .completed(let stored): return try await complete(stored)
        case .cancelled: return Self.cancelled
        case .failed(let error): throw GatewayError(error).final
        }
    }

    private static let cancelled = HTTPServerResponse(200, headers: ["X-Goog-Upload-Status": "cancelled"])

    private func cancel(_ session: UploadSessionState) async throws -> HTTPServerResponse {
        if case .completed = try await session.cancelled() {
            throw GatewayError.badRequest("The upload is complete.").final
        }
        return Self.cancelled
    }
}

extension GatewayService {
    /// What an upload has stored, with the download tokens that the record of an ended task does not have. Without them
    /// where another object has the name by now.
    func withTokens(_ stored: ObjectMetadata) async throws(StorageError) -> ObjectMetadata {
        guard stored.downloadTokens == nil else { return stored }
        do throws(StorageError) {
            let now = try await engine.metadata(of: stored.reference, for: caller)
            return now.generation == stored.generation ? now : stored
        } catch  where error.code == .objectNotFound {
            return stored
        }
    }
}

extension GatewayError {
    /// The checksums are those of all bytes.
    static let hashBeforeEnd = GatewayError.badRequest("x-goog-hash is for the request with the last bytes.")

    /// The session takes nothing more.
    fileprivate var final: GatewayError {
        var error = self
        error.headers["X-Goog-Upload-Status"] = "final"
        return error
    }
}

/// A resumable upload by the id of its task.
@Loop enum UploadSessionState {
    case active(IncomingUpload)
    case completed(ObjectMetadata)
    case cancelled
    case failed(StorageError)

    /// Throws 404 for an unknown id, and for one that is at another object's URL.
    init(_ id: String, _ transfers: Transfers, bucket: String, name: String?) async throws {
        let upload = try await transfers.incomingUpload(id)
        guard let task = upload?.task ?? (try? transfers.uploads.task(id)) else { throw GatewayError.notFound }
        let reference = task.snapshot().reference
        guard reference.bucket == bucket, name ?? reference.object == reference.object else {
            throw GatewayError.notFound
        }
        if let upload, !task.state.isFinished {
            self = .active(upload)
            return
        }
        guard task.state.isFinished else { throw GatewayError.notFound }
        self.init(task)
    }

    /// Of a task that has ended.
    private init(_ task: UploadTask) {
        let snapshot = task.snapshot()
        switch (snapshot.state, snapshot.metadata) {
        case (.success, .stored(let metadata)?): self = .completed(metadata)
        case (.cancelled, _): self = .cancelled
        default: self = .failed(snapshot.error ?? StorageError(.unknown, "The upload has failed."))
        }
    }

    /// Cancels the upload if it is active. Returns how the session has ended: the upload may be complete all the same.
    func cancelled() async throws -> UploadSessionState {
        guard case .active(let upload) = self, let task = upload.task else { return self }
        return try await task.cancel() ? .cancelled : UploadSessionState(task)
    }

    /// The session is not idle while `body` answers a request about it.
    func used(_ body: @Loop () async throws -> HTTPServerResponse) async throws -> HTTPServerResponse {
        guard case .active(let upload) = self else { return try await body() }
        return try await upload.used(body)
    }
}
