import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads of Firebase Storage: in one request, raw or multipart, or resumable by the protocol of `X-Goog-Upload`.
@Loop struct FirebaseUploads: Answering {
    let call: Call

    func answer() async throws -> HTTPServerResponse { try await service.deniedByCondition(upload) }

    private func upload() async throws -> HTTPServerResponse {
        let commands = request.uploadCommands
        if let id = request["upload_id"] {
            let session = try await UploadSessionState(
                id, service.transfers, bucket: bucket, name: request["name"] ?? call.name)
            return try await commanded.answer(about: session)
        }
        let type = request.header("X-Goog-Upload-Protocol") ?? request["uploadType"] ?? request["upload_protocol"]
        switch type?.lowercased() {
        case "resumable": return try await startSession()
        case "multipart": return try await store(isMultipart: true)
        case nil, "raw", "media":
            guard commands.isEmpty || commands == ["start"] else {
                throw GatewayError.badRequest("A command needs the upload_id of its session.")
            }
            return try await commands.isEmpty ? store(isMultipart: false) : startSession()
        case let other?: throw GatewayError.badRequest("There is no upload protocol \(other).")
        }
    }

    private func store(isMultipart: Bool) async throws -> HTTPServerResponse {
        let upload = try await call.wholeUpload(isMultipart)
        let object = try destination(upload.resource)
        let conditions = try await service.uploadConditions(to: object, for: request)
        return .json(
            try await service.store(upload.bytes, to: object, upload.change, if: conditions, upload.expected).firebase)
    }

    private func startSession() async throws -> HTTPServerResponse {
        let json = try await call.json()
        let object = try destination(json)
        // The access rules at the start apply to the whole session.
        return try await commanded.startSession(
            object, json, MetadataChange(resource: json), if: service.uploadConditions(to: object, for: request),
            at: "/v0/b/\(bucket.escaped)/o?name=\(object.object.escaped)")
    }

    /// The object of an upload. Throws 400 where the body names another one than the query.
    private func destination(_ json: JSON) throws -> Reference {
        let object = try call.destination(json)
        try json.checkName(object)
        return object
    }

    private var commanded: CommandedUpload {
        CommandedUpload(service: service, request: request, resource: \.firebase)
    }
}
