import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads of Firebase Storage: in one request, raw or multipart, or resumable by the protocol of `X-Goog-Upload`.
@Loop struct FirebaseUploads {
    let service: GatewayService
    let request: GatewayRequest
    let bucket: String
    /// Of the path.
    let name: String?

    func answer() async throws -> HTTPServerResponse {
        let commands = request.uploadCommands
        if let id = request["upload_id"] {
            let session = try await UploadSessionState(
                id, service.transfers, bucket: bucket, name: request["name"] ?? name)
            return try await service.deniedByCondition { try await commanded.answer(about: session) }
        }
        let type = request.header("X-Goog-Upload-Protocol") ?? request["uploadType"] ?? request["upload_protocol"]
        switch type?.lowercased() {
        case "resumable": return try await start()
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
        for header in CommandedUpload.announcements { try request.checkAnnounced(header) }
        var change = MetadataChange()
        if let type = request.header("Content-Type") { change.content[.contentType] = type }
        return try await store(request.body, [:], change, .init(request.http.headers))
    }

    private func multipart() async throws -> HTTPServerResponse {
        for header in CommandedUpload.announcements { try request.checkAnnounced(header, isWhole: false) }
        let upload = try await MultipartUpload(request)
        return try await store(upload, upload.resource, upload.change, upload.expected)
    }

    private func store(
        _ source: any ByteSource, _ json: JSON, _ change: MetadataChange,
        _ expected: IncomingBytes.Expected
    ) async throws -> HTTPServerResponse {
        let object = try reference(json)
        return try await service.allowedUpload(to: object, for: request) { conditions in
            .json(try await service.store(source, to: object, change, if: conditions, expected).firebase)
        }
    }

    // MARK: - Resumable

    private func start() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        let object = try reference(json)
        // What the table allows the start, it allows the whole session.
        return try await service.allowedUpload(to: object, for: request) { conditions in
            try await commanded.start(
                object, json, MetadataChange(resource: json), if: conditions,
                at: "/v0/b/\(bucket.escaped)/o?name=\(object.object.escaped)")
        }
    }

    private var commanded: CommandedUpload {
        CommandedUpload(service: service, request: request, resource: \.firebase)
    }
}
