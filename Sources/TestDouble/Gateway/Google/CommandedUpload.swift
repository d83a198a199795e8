import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// A session of the protocol `X-Goog-Upload`, which Firebase Storage and Google Cloud Storage share.
@Loop struct CommandedUpload {
    /// The headers of the protocol that are served.
    nonisolated static let headers: Set = ["x-goog-upload-protocol", "x-goog-upload-command", "x-goog-upload-offset"]

    let service: GatewayService
    let request: GatewayRequest
    /// Writes the object into an answer.
    let resource: (ObjectMetadata) -> JSON

    /// Starts a session.
    ///
    /// - Parameter json: the resource in the request.
    /// - Parameter path: path and query of the session's URL, before its id.
    func startSession(
        _ object: Reference, _ json: JSON, _ change: MetadataChange, if conditions: Preconditions, at path: String
    ) async throws -> HTTPServerResponse {
        guard request.uploadCommands == ["start"] else { throw GatewayError.badRequest("The first command is start.") }
        try request.checkHasNoOffset()
        let announced = try AnnouncedObject(request)
        var change = change
        if let type = announced.type, json["contentType"] == nil { change.content[.contentType] = type }
        let id = try await service.startSession(request, object, change, of: announced.size, if: conditions)
        return HTTPServerResponse(
            200,
            headers: [
                "X-Goog-Upload-Status": "active",
                "X-Goog-Upload-URL": "\(request.base)\(path)&upload_id=\(id)&upload_protocol=resumable",
                "X-Goog-Upload-Control-URL": "", "X-Goog-Upload-Chunk-Granularity": "\(SentRange.granularity)",
                "X-GUploader-UploadID": id,
            ])
    }

    /// Answers a command about a session.
    func answer(about session: UploadSessionState) async throws -> HTTPServerResponse {
        let commands = request.uploadCommands
        if let other = request.header("X-Goog-Upload-Protocol"), other.lowercased() != "resumable" {
            throw GatewayError(501, "The header X-Goog-Upload-Protocol is not served here as \(other.prefix(200)).")
        }
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
            guard isLast else { throw Self.isComplete }
            return try await complete(again: stored, hasBytes: hasBytes)
        case .cancelled: throw GatewayError.badRequest("The upload was cancelled.").final
        case .failed(let error): throw GatewayError(error).final
        }
        let announced = try AnnouncedObject(request)
        try announced.checkType(upload.contentType)
        try announced.check(size: upload.size)
        let offset: Int64
        if let named = try request.length("X-Goog-Upload-Offset") {
            offset = named
        } else {
            // Bytes without an offset are the first ones: a request that is repeated must not add them again.
            offset = hasBytes ? 0 : try await self.offset(of: upload)
        }
        let expected = try Checksums(request.http.headers)
        guard isLast || expected.isEmpty else { throw GatewayError.hashBeforeEnd }
        if isLast, let length = request.body.length { try announced.check(size: offset.addingSaturated(length)) }
        let answer = try await service.receive(
            request, to: upload, of: announced.size, from: offset, upTo: isLast ? announced.size : nil, isLast: isLast,
            expected)
        if case .ended = answer, !isLast { throw Self.isComplete }
        return try await response(answer, upload)
    }

    private static let isComplete = GatewayError.badRequest("The upload is complete.").final

    private func response(
        _ answer: IncomingUpload.Answer, _ upload: IncomingUpload
    ) async throws -> HTTPServerResponse {
        switch answer {
        case .received(let offset):
            return HTTPServerResponse(
                200, headers: ["X-Goog-Upload-Status": "active", "X-Goog-Upload-Size-Received": "\(offset)"])
        case .completed(let stored), .ended(let stored): return try await complete(stored)
        case .failed(let error): throw try await refusal(error, of: upload)
        }
    }

    /// Answers a repeated end of a complete session.
    private func complete(again stored: ObjectMetadata, hasBytes: Bool) async throws -> HTTPServerResponse {
        let start = try request.length("X-Goog-Upload-Offset") ?? (hasBytes ? 0 : stored.size)
        do {
            return try await complete(service.stored(again: stored, request, from: start, isLast: true))
        } catch let error as StorageError {
            throw GatewayError(error).final
        } catch let error as GatewayError {
            throw error.final
        }
    }

    private func offset(of upload: IncomingUpload) async throws -> Int64 {
        if case .received(let offset) = try await upload.query() { offset } else { 0 }
    }

    /// The error of a step, with the offset if the client may continue there.
    private func refusal(_ error: StorageError, of upload: IncomingUpload) async throws -> GatewayError {
        var refusal = GatewayError(error)
        if refusal.dropsConnection { return refusal }
        let isActive = upload.task?.state.isFinished == false
        refusal.headers["X-Goog-Upload-Status"] = isActive ? "active" : "final"
        if isActive, error.code == .invalidArgument {
            refusal.headers["X-Goog-Upload-Size-Received"] = "\(try await offset(of: upload))"
        }
        return refusal
    }

    private func complete(_ stored: ObjectMetadata) async throws -> HTTPServerResponse {
        .json(
            resource(try await service.withTokens(stored)),
            headers: ["X-Goog-Upload-Status": "final", "X-Goog-Upload-Size-Received": "\(stored.size)"])
    }

    private func status(of session: UploadSessionState) async throws -> HTTPServerResponse {
        switch session {
        case .active(let upload): return try await response(upload.query(), upload)
        case .completed(let stored): return try await complete(stored)
        case .cancelled: return Self.cancelled
        case .failed(let error): throw GatewayError(error).final
        }
    }

    private static let cancelled = HTTPServerResponse(200, headers: ["X-Goog-Upload-Status": "cancelled"])

    private func cancel(_ session: UploadSessionState) async throws -> HTTPServerResponse {
        if case .completed = try await session.cancelled() { throw Self.isComplete }
        return Self.cancelled
    }
}

extension GatewayRequest {
    /// The commands in `X-Goog-Upload-Command`, in lower case.
    var uploadCommands: Set<String> { Set(http.headers.list("X-Goog-Upload-Command").map { $0.lowercased() }) }

    /// Throws 400 for an offset in the first request of an upload, whose bytes begin at 0.
    func checkHasNoOffset() throws(GatewayError) {
        guard let offset = try length("X-Goog-Upload-Offset"), offset > 0 else { return }
        throw .badRequest("X-Goog-Upload-Offset needs the session of an upload.")
    }
}

/// What headers of an upload announce of its object.
struct AnnouncedObject {
    /// The headers with the size of the object.
    static let sizes = [
        "x-upload-content-length", "x-goog-upload-header-content-length", "x-goog-upload-content-length",
    ]
    static let uploadType = "x-upload-content-type"
    /// The headers with the type of the object.
    static let types = [uploadType, "x-goog-upload-header-content-type", "x-goog-upload-content-type"]
    static let headers = Set(sizes + types)

    let size: Int64?
    let type: String?

    /// Throws 400 where two headers announce different values.
    init(_ request: GatewayRequest) throws(GatewayError) {
        let sizes = try Self.sizes.map { header throws(GatewayError) in try request.length(header) }.compactMap { $0 }
        guard Set(sizes).count < 2 else { throw .badRequest("The upload has two lengths: \(sizes).") }
        let types = Self.types.compactMap { request.header($0) }
        guard Set(types).count < 2 else { throw .badRequest("The upload has two types of its bytes: \(types).") }
        (size, type) = (sizes.first, types.first)
    }

    /// Throws 501 for a type after the start of an upload, which is not that of the start. Python's client repeats it.
    func checkType(_ known: String?) throws(GatewayError) {
        guard let type, type != known else { return }
        throw GatewayError(501, "The type \(type.prefix(200)) is not that of the start of the upload.")
    }

    /// Throws 400 where the upload has another size.
    func check(size known: Int64?) throws(GatewayError) {
        guard let size, let known, size != known else { return }
        throw .badRequest("The upload has \(known) bytes, not \(size).")
    }
}

extension GatewayError {
    /// The refusal of checksums before the last bytes: they are about all bytes.
    static let hashBeforeEnd = GatewayError.badRequest("x-goog-hash is for the request with the last bytes.")

    /// The error with the state of a session that has ended.
    var final: GatewayError {
        var error = self
        error.headers["X-Goog-Upload-Status"] = "final"
        return error
    }
}
