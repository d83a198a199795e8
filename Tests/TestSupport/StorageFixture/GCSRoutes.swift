import HTTPClient
import HTTPText
import JSONText
import Storage

/// The JSON API v1 of Google Cloud Storage.
extension FixtureState {
    mutating func gcs(_ call: Call, _ body: [UInt8], _ corruptByte: Int64?) throws(Answer) -> Answer {
        switch call.kind {
        case .start: return try startGCS(call, body)
        case .query: return progressGCS(of: try session(call), call)
        case .cancel: return try cancelGCS(call)
        case .multipart, .raw:
            let wanted = try number("ifGenerationMatch", call)
            try checkMetageneration(call, call.name)
            return .json(try uploadAtOnce(call, body, corruptByte, ifGeneration: wanted).gcs(at: call.base))
        case .list: return try listGCS(call)
        case .getMetadata, .media, .patch, .delete: return try gcsObject(call, body)
        case .rewrite: return try rewrite(call, body)
        case .buckets: return listBuckets(call)
        case .chunk, .finalize, .token, .headBucket, .location, .uploads, .deleteMany, .copyPart, .unknown:
            throw call.dialect.refusal(404)
        }
    }

    private mutating func gcsObject(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        var object = try object(call)
        if let generation = try number("generation", call), generation != object.generation {
            throw call.dialect.refusal(404, "No such object: \(object.bucket)/\(object.name)#\(generation)")
        }
        for (wanted, found) in [
            (try number("ifGenerationMatch", call), object.generation),
            (try number("ifMetagenerationMatch", call), object.metageneration),
        ] where wanted ?? found != found { throw call.dialect.refusal(412) }
        switch call.kind {
        case .media: return media(object, call)
        case .delete: return try delete(call)
        case .patch:
            guard object.apply(try metadata(body, .gcs)) else { throw call.dialect.refusal(400) }
            change(&object)
        default: break
        }
        return .json(object.gcs(at: call.base))
    }

    /// Copies so many bytes a call.
    private mutating func rewrite(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        let object = try object(call)
        guard let copy = call.copy, try number("sourceGeneration", call) ?? object.generation == object.generation
        else {
            throw call.dialect.refusal(404)
        }
        let wanted = try number("ifSourceMetagenerationMatch", call)
        guard wanted ?? object.metageneration == object.metageneration else { throw call.dialect.refusal(412) }
        let done = try rewritten(call, of: object) + bytesPerRewrite
        let progress: [(String, JSON?)] = [
            ("kind", "storage#rewriteResponse"), ("objectSize", .string(String(object.bytes.count))),
            ("totalBytesRewritten", .string(String(min(done, object.bytes.count)))),
        ]
        guard done >= object.bytes.count else {
            let token = "\(object.generation)-\(done)"
            return .json(JSON(members: progress + [("done", .bool(false)), ("rewriteToken", .string(token))]))
        }
        var metadata: JSON = [:]
        if body.isEmpty {
            let json = object.gcs(at: call.base)
            let kept =
                ContentProperty.allCases.map { ($0.rawValue, json[$0.rawValue]) } + [("metadata", json["metadata"])]
            metadata = JSON(members: kept)
        } else {
            metadata = try self.metadata(body, .gcs)
        }
        let stored = try store(
            object.bytes, copy.bucket, copy.name, metadata, contentType: nil, for: .gcs,
            ifGeneration: try number("ifGenerationMatch", call))
        return .json(
            JSON(members: progress + [("done", .bool(true)), ("resource", stored.gcs(at: call.base))]))
    }

    /// The bytes that the calls before have copied. Throws for a token of another copy.
    private func rewritten(_ call: Call, of object: StoredObject) throws(Answer) -> Int {
        guard let token = call.query["rewriteToken"] else { return 0 }
        let parts = token.split(separator: "-").compactMap { Int64($0) }
        guard parts.count == 2, parts[0] == object.generation else {
            throw call.dialect.refusal(400, "The rewrite token is invalid.")
        }
        return Int(parts[1])
    }

    private func listGCS(_ call: Call) throws(Answer) -> Answer {
        let listing = try list(call)
        let items = listing.items.map { $0.gcs(at: call.base) }
        return .json(
            JSON(members: [
                ("kind", "storage#objects"), ("nextPageToken", listing.token),
                ("prefixes", listing.prefixes.isEmpty ? nil : .array(listing.prefixes.map { .string($0) })),
                ("items", items.isEmpty ? nil : .array(items)),
            ]))
    }

    /// One bucket a page.
    private func listBuckets(_ call: Call) -> Answer {
        let names = Set(stored.all.map(\.bucket)).sorted().filter { $0 > call.query["pageToken"] ?? "" }
        let items = names.prefix(1).map { JSON(members: [("name", .string($0))]) }
        return .json(
            JSON(members: [
                ("kind", "storage#buckets"), ("items", .array(items)),
                ("nextPageToken", names.count > 1 ? .string(names[0]) : nil),
            ]))
    }

    private func checkMetageneration(_ call: Call, _ name: String?) throws(Answer) {
        let found = name.flatMap { stored[call.bucket, $0]?.metageneration } ?? 0
        guard try number("ifMetagenerationMatch", call) ?? found == found else { throw call.dialect.refusal(412) }
    }

    private func number(_ key: String, _ call: Call) throws(Answer) -> Int64? {
        guard let text = call.query[key] else { return nil }
        guard let number = Int64(text) else { throw call.dialect.refusal(400, "Invalid value for \(key).") }
        return number
    }
}

// MARK: Resumable uploads

extension FixtureState {
    private mutating func startGCS(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        let metadata = try metadata(body, .gcs)
        let name = try newName(call, metadata)
        let wanted = variant == .fakeGCS ? nil : try number("ifGenerationMatch", call)
        if variant != .fakeGCS { try checkMetageneration(call, name) }
        guard wanted ?? 0 == stored[call.bucket, name]?.generation ?? 0 || wanted == nil else {
            throw call.dialect.refusal(412)
        }
        let size = call.headers["X-Upload-Content-Length"]
        let total = size.flatMap { Int64($0) }
        guard size == nil || total ?? -1 >= 0 else { throw call.dialect.refusal(400) }
        let type = call.headers["X-Upload-Content-Type"]
        let id = begin(call, name, metadata, contentType: type, total: total, ifGeneration: wanted)
        let path = "/upload/storage/v1/b/\(call.bucket.percentEncoded)/o?uploadType=resumable"
        return Answer.text(200, "").with("X-GUploader-UploadID", id)
            .with("Location", "\(call.base)\(path)&name=\(name.percentEncoded)&upload_id=\(id)")
    }

    func progressGCS(of session: ResumableSession, _ call: Call) -> Answer {
        switch session.state {
        case .final(let object): return .json(object.gcs(at: call.base))
        case .cancelled: return call.dialect.refusal(cancelledStatus)
        case .forgotten(let status): return call.dialect.refusal(status)
        case .active:
            var answer = Answer(status: 308)
            if session.persisted > 0 { answer.headers["Range"] = "bytes=0-\(session.persisted - 1)" }
            guard call.headers["X-GUploader-No-308"] == "yes" else { return answer }
            answer.status = 200
            return answer.with("X-HTTP-Status-Code-Override", "308")
        }
    }

    private mutating func cancelGCS(_ call: Call) throws(Answer) -> Answer {
        let session = try session(call)
        guard case .active = session.state else { throw progressGCS(of: session, call) }
        sessions[session.id]?.state = .cancelled
        return Answer(status: 499)
    }

    /// Whether a chunk may come, by its head. What is stored already is answered with what is known.
    mutating func admitGCS(_ call: Call) throws(Answer) -> Receipt {
        let session = try session(call)
        guard case .active = session.state else { throw progressGCS(of: session, call) }
        guard session.total == nil || call.total == nil || session.total == call.total else {
            throw call.dialect.refusal(400, "The upload was declared with another size.")
        }
        let completes = call.kind == .finalize
        let range = call.range ?? session.persisted..<session.persisted
        guard range.upperBound <= session.total ?? call.total ?? .max,
            completes || range.upperBound % ResumableSession.granule == 0
        else { throw call.dialect.refusal(400, "Chunks but the last have to end at multiples of 262144 bytes.") }
        guard range.lowerBound <= session.persisted else { throw call.dialect.refusal(503) }
        guard completes || range.upperBound > session.persisted else { throw progressGCS(of: session, call) }
        sessions[session.id]?.total = session.total ?? call.total
        let skip = min(Int(session.persisted - range.lowerBound), range.count)
        return Receipt(session: session.id, turn: session.turn, skip: skip, completes: completes)
    }
}
