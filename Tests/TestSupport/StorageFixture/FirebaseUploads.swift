import HTTPClient
import HTTPText
import JSONText

/// Uploads by X-Goog-Upload-Command.
extension FixtureState {
    mutating func startFirebase(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        let metadata = try metadata(body, .firebase)
        let name = try newName(call, metadata)
        let size = call.headers["X-Goog-Upload-Header-Content-Length"] ?? call.headers["X-Goog-Upload-Content-Length"]
        let total = size.flatMap { Int64($0) }
        guard size == nil || total ?? -1 >= 0 else { throw call.dialect.refusal(400) }
        let type = call.headers["X-Goog-Upload-Header-Content-Type"] ?? call.headers["X-Goog-Upload-Content-Type"]
        let id = begin(call, name, metadata, contentType: type, total: total)
        let path = "/v0/b/\(call.bucket.percentEncoded)/o?name=\(name.percentEncoded)"
        let url = "\(call.base)\(path)&upload_id=\(id)&upload_protocol=resumable"
        return progress(of: id, call)
            .with("X-Goog-Upload-URL", url).with("X-Goog-Upload-Control-URL", url)
            .with("X-Goog-Upload-Chunk-Granularity", "\(ResumableSession.granule)").with("X-GUploader-UploadID", id)
    }

    /// The session in an answer to another request than a query.
    func progress(of id: String, _ call: Call) -> Answer {
        guard let session = sessions[id] else { return call.dialect.refusal(404) }
        if call.dialect == .gcs { return progressGCS(of: session, call) }
        guard case .final(let object) = session.state else {
            return Answer.text(200, "").with("X-Goog-Upload-Status", "active")
        }
        return .json(object.firebase).with("X-Goog-Upload-Status", "final")
    }

    func session(_ call: Call) throws(Answer) -> ResumableSession {
        guard let session = call.session.flatMap({ sessions[$0] }), session.dialect == call.dialect,
            session.bucket == call.bucket
        else { throw call.dialect.refusal(404) }
        if case .forgotten(let status) = session.state { throw call.dialect.refusal(status) }
        return session
    }

    mutating func command(_ call: Call) throws(Answer) -> Answer {
        let session = try session(call)
        let isQuery = call.kind == .query
        switch session.state {
        case .active where isQuery:
            return progress(of: session.id, call)
                .with("X-Goog-Upload-Size-Received", "\(session.persisted)")
                .with("X-Goog-Upload-Chunk-Granularity", "\(ResumableSession.granule)")
        case .final where isQuery:
            return progress(of: session.id, call).with("X-Goog-Upload-Size-Received", "\(session.persisted)")
        case .final: throw call.dialect.refusal(400)
        case .active, .cancelled, .forgotten:
            if !isQuery { sessions[session.id]?.state = .cancelled }
            return Answer.text(200, "").with("X-Goog-Upload-Status", "cancelled")
        }
    }

    /// Whether a chunk may come, by its head.
    func admitFirebase(_ call: Call) throws(Answer) -> Receipt {
        let session = try session(call)
        guard case .active = session.state else { throw call.dialect.refusal(400) }
        let offset = call.range?.lowerBound ?? session.persisted
        guard offset == session.persisted else {
            throw .text(400, "Client uploaded to the wrong offset (\(offset) instead of \(session.persisted)).")
        }
        let end = offset + Int64(call.length)
        let completes = call.kind == .finalize
        guard completes ? end == session.total ?? end : end <= session.total ?? end else {
            throw call.dialect.refusal(400)
        }
        guard completes || end == session.total || end % ResumableSession.granule == 0 else {
            throw call.dialect.refusal(400)
        }
        return Receipt(session: session.id, turn: session.turn, skip: 0, completes: completes)
    }

    mutating func uploadFirebase(_ call: Call, _ body: [UInt8], _ corruptByte: Int64?) throws(Answer) -> Answer {
        .json(try uploadAtOnce(call, body, corruptByte).firebase)
    }

    /// Multipart, or the bytes alone.
    mutating func uploadAtOnce(
        _ call: Call, _ body: [UInt8], _ corruptByte: Int64?, ifGeneration: Int64? = nil
    ) throws(Answer) -> StoredObject {
        var (json, content, type) = ([UInt8](), body, call.headers["Content-Type"])
        if call.kind == .multipart {
            do throws(Multipart.Refusal) {
                let parts = try Multipart(body, contentType: type ?? "")
                (json, content, type) = (parts.metadata, parts.content, parts.contentType)
            } catch {
                throw call.dialect == .firebase ? .text(400, error.text) : call.dialect.refusal(400, error.text)
            }
        }
        let metadata = try metadata(json, call.dialect)
        return try store(
            content, call.bucket, newName(call, metadata), metadata, contentType: type, for: call.dialect,
            ifGeneration: ifGeneration, corruptByte: corruptByte)
    }
}
