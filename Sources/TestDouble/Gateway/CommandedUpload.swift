import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// A session of the protocol of `X-Goog-Upload`, which both APIs serve.
@Loop struct CommandedUpload {
    /// The headers that say how long the object is: of the web, and of Android.
    static let announcements = ["X-Goog-Upload-Header-Content-Length", "X-Goog-Upload-Content-Length"]
    private static let types = ["X-Goog-Upload-Header-Content-Type", "X-Goog-Upload-Content-Type"]

    let service: GatewayService
    let request: GatewayRequest
    /// The object in an answer.
    let resource: (ObjectMetadata) -> JSON

    /// Begins a session.
    ///
    /// - Parameter json: the resource in the request.
    /// - Parameter place: path and query of the session's URL, before its id.
    func start(
        _ object: Reference, _ json: JSON, _ change: MetadataChange, if conditions: Preconditions, at place: String
    ) async throws -> HTTPServerResponse {
        guard request.uploadCommands == ["start"] else { throw GatewayError.badRequest("The first command is start.") }
        var change = change
        let type = Self.types.lazy.compactMap { request.header($0) }.first
        if let type, json["contentType"] == nil { change.content[.contentType] = type }
        let sizes = try Self.announcements.compactMap { header throws(GatewayError) in try request.length(header) }
        guard Set(sizes).count < 2 else { throw GatewayError.badRequest("The upload has two lengths: \(sizes).") }
        let id = try await service.startSession(request, object, change, of: sizes.first, if: conditions)
        return HTTPServerResponse(
            200,
            headers: [
                "X-Goog-Upload-Status": "active",
                "X-Goog-Upload-URL": "\(request.base)\(place)&upload_id=\(id)&upload_protocol=resumable",
                "X-Goog-Upload-Control-URL": "", "X-Goog-Upload-Chunk-Granularity": "\(SentRange.granularity)",
                "X-GUploader-UploadID": id,
            ])
    }

    /// Answers a command about a session.
    func answer(about session: UploadSessionState) async throws -> HTTPServerResponse {
        let commands = request.uploadCommands
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
        let expected = try Checksums(request.http.headers)
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

    /// Of a session that has ended. Without an offset the bytes are the last ones.
    private func complete(again stored: ObjectMetadata) async throws -> HTTPServerResponse {
        let start = try request.length("X-Goog-Upload-Offset") ?? max(0, stored.size - (request.body.length ?? 0))
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
            resource(try await service.withTokens(stored)),
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

extension GatewayRequest {
    /// Those of `X-Goog-Upload-Command`.
    var uploadCommands: Set<String> { Set(http.headers.list("X-Goog-Upload-Command").map { $0.lowercased() }) }
}

extension GatewayError {
    /// The checksums are those of all bytes.
    static let hashBeforeEnd = GatewayError.badRequest("x-goog-hash is for the request with the last bytes.")

    /// The session takes nothing more.
    var final: GatewayError {
        var error = self
        error.headers["X-Goog-Upload-Status"] = "final"
        return error
    }
}
