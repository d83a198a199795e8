import EmbeddedEngine
import HTTPServer
import Platform
import Storage
import Transfers

/// The state of a resumable upload, found by the id of its task.
@Loop enum UploadSessionState {
    case active(IncomingUpload)
    case completed(ObjectMetadata)
    case cancelled
    case failed(StorageError)

    /// Throws 404 for an unknown id, and for the id of an upload to another object.
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

    /// The state of a task that has ended.
    private init(_ task: UploadTask) {
        let snapshot = task.snapshot()
        switch (snapshot.state, snapshot.metadata) {
        case (.success, .stored(let metadata)?): self = .completed(metadata)
        case (.cancelled, _): self = .cancelled
        default: self = .failed(snapshot.error ?? StorageError(.unknown, "The upload has failed."))
        }
    }

    /// Cancels an active upload. Returns the state at the end of the session: the upload may have completed meanwhile.
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

extension GatewayService {
    /// Starts a session and returns its id.
    func startSession(
        _ request: GatewayRequest, _ object: Reference, _ change: MetadataChange, of size: Int64?,
        if conditions: Preconditions
    ) async throws -> String {
        var change = change
        try change.require(.init(request.http.headers))
        try await engine.checkBucket(of: object)
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: object, change, if: conditions, for: .gateway))
        guard let id = upload.task?.id else { throw GatewayError(500, "The upload has ended.") }
        return id
    }

    /// Passes the bytes of a request to its session.
    ///
    /// - Parameter size: the size of the object as the request says. A refused request does not bind the session to it.
    func receive(
        _ request: GatewayRequest, to upload: IncomingUpload, of size: Int64?, from start: Int64,
        upTo end: Int64? = nil, isLast: Bool, _ expected: Checksums
    ) async throws -> IncomingUpload.Answer {
        let answer = try await UploadBody(request.body).send(
            to: upload, at: engine, from: start, upTo: end, isLast: isLast,
            keeping: request.body.mayBeWrong ? .none : .wholeGranules, expected)
        if case .received = answer { upload.note(size: size) }
        return answer
    }

    /// Removes a bucket and the sessions of uploads to it. Returns false if the bucket has objects.
    func removeBucket(_ root: Reference, if conditions: Preconditions) async throws -> Bool {
        guard try await engine.removeBucket(root.bucket, if: conditions) else { return false }
        try await transfers.endSessions(in: root)
        return true
    }

    /// The object of a complete upload, for a client that repeats its last request or asks for the status. Throws if
    /// repeated checksums or bytes differ from those of the object. `start` is the offset of the bytes; nil without
    /// bytes.
    func stored(
        again stored: ObjectMetadata, _ request: GatewayRequest, from start: Int64?, upTo end: Int64? = nil,
        isLast: Bool
    ) async throws -> ObjectMetadata {
        if let start {
            try await UploadBody(request.body).compare(
                with: stored, at: engine, from: start, upTo: end, isLast: isLast)
        }
        try Checksums(request.http.headers).check(stored.checksums, of: stored.reference)
        return try await withTokens(stored)
    }

    /// The object of an upload with its current download tokens, which the record of an ended task lacks. Without
    /// tokens if the object has been replaced.
    func withTokens(_ stored: ObjectMetadata) async throws(StorageError) -> ObjectMetadata {
        guard stored.downloadTokens == nil else { return stored }
        do throws(StorageError) {
            let now = try await engine.metadata(of: stored.reference, for: caller)
            guard now.generation == stored.generation else { return stored }
            var stored = stored
            stored.downloadTokens = now.downloadTokens
            return stored
        } catch  where error.code == .objectNotFound {
            return stored
        }
    }
}
