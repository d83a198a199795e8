import Foundation
import HTTPClient
import HTTPText
import JSONText
import Storage

/// Amazon S3: buckets, objects, copies. Where servers differ, it answers as Ceph does, or as its settings say.
extension FixtureState {
    /// The time of the server, for `Date`. It runs, since signatures have the time of the client.
    var s3Date: String { HTTPDate(secondsSince1970: S3Signature.now(s3)).description }

    func checkS3(_ call: Call) throws(Answer) {
        try S3Signature.check(call, s3)
        guard call.kind == .buckets || buckets?.contains(call.bucket) ?? true else { throw .s3(404, "NoSuchBucket") }
    }

    mutating func s3(_ call: Call, _ body: [UInt8], _ corruptByte: Int64?) throws(Answer) -> Answer {
        var body = body
        if let corruptByte, case let index = Int(corruptByte - (call.range?.lowerBound ?? 0)), index < body.count {
            body[index] ^= 1
        }
        try checkBody(call, body)
        switch call.kind {
        case .buckets: return s3Buckets()
        case .headBucket: return Answer()
        case .location: return .s3(S3Element("LocationConstraint", s3.region ?? ""))
        case .list: return try s3List(call)
        case .deleteMany: return try deleteMany(call, body)
        case .getMetadata, .media: return try s3Object(call)
        case .multipart: return try s3Put(call, body)
        case .delete: return try s3Delete(call)
        case .patch, .rewrite: return try s3Copy(call)
        case .start, .chunk, .copyPart, .query, .finalize, .cancel, .uploads: return try s3Upload(call, body)
        case .raw, .token, .unknown: throw .s3(405, "MethodNotAllowed")
        }
    }

    /// Compares the checksums of the request.
    private func checkBody(_ call: Call, _ body: [UInt8]) throws(Answer) {
        if let content = call.headers["x-amz-content-sha256"], content != "UNSIGNED-PAYLOAD",
            content != SHA256.hash(body).hexadecimal
        {
            throw .s3(400, s3.server == .swift ? "BadDigest" : "XAmzContentSHA256Mismatch")
        }
        guard let text = call.headers["content-md5"] else { return }
        guard let told = [UInt8](base64: text), told.count == 16 else { throw .s3(400, "InvalidDigest") }
        guard told == StoredObject("", "", body, generation: 0).md5 else { throw .s3(400, "BadDigest") }
    }

    private func s3Buckets() -> Answer {
        let names = buckets.map { $0.sorted() } ?? Set(stored.all.map(\.bucket)).sorted()
        let list = names.map { name in
            S3Element("Bucket", [S3Element("Name", name), S3Element("CreationDate", "2026-01-01T00:00:00.000Z")])
        }
        return .s3(S3Element("ListAllMyBucketsResult", [S3Element("Buckets", list)]))
    }
}

// MARK: Objects

extension FixtureState {
    func s3Found(_ bucket: String, _ name: String?) throws(Answer) -> StoredObject {
        guard let name, let object = stored[bucket, name] else { throw .s3(404, "NoSuchKey") }
        return object
    }

    private func s3Object(_ call: Call) throws(Answer) -> Answer {
        let object = try s3Found(call.bucket, call.name)
        let etag = object.s3ETag(s3.server)
        if let wanted = call.headers["if-match"], wanted != "\"\(etag)\"" { throw .s3(412, "PreconditionFailed") }
        var answer = Answer(status: 200, headers: object.s3Headers(s3.server))
        guard call.kind == .media else {
            answer.announced = object.bytes.count
            return answer
        }
        guard !object.isDestroyed else { throw .s3(404, "NoSuchKey") }
        if let type = call.query["response-content-type"] { answer.headers["Content-Type"] = type }
        if let text = call.query["response-content-disposition"] { answer.headers["Content-Disposition"] = text }
        switch BytesAsked(call.headers["Range"], of: object.bytes.count) {
        case .all: answer.body = object.bytes
        case .some(let range):
            answer.status = 206
            answer.headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.bytes.count)"
            answer.body = Array(object.bytes[range])
        case .none: throw .s3(416, "InvalidRange")
        }
        return answer
    }

    private mutating func s3Put(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        try checkConditions(call)
        let object = try s3Store(body, call.bucket, call.name ?? "", S3Metadata(call, s3.server))
        return Answer(headers: ["ETag": "\"\(object.s3ETag(s3.server))\""])
    }

    /// The conditions of a write of bytes. Ceph compares a tag in quotes with one without, so it never holds.
    func checkConditions(_ call: Call) throws(Answer) {
        let (match, noneMatch) = (call.headers["if-match"], call.headers["if-none-match"])
        guard match != nil || noneMatch != nil else { return }
        guard s3.server != .swift else { throw .s3(501, "NotImplemented") }
        let found = stored[call.bucket, call.name ?? ""]
        if let noneMatch {
            guard noneMatch == "*" else { throw .s3(501, "NotImplemented") }
            if found != nil { throw .s3(412, "PreconditionFailed") }
        }
        guard let match else { return }
        guard let found else { throw s3.server == .aws ? .s3(404, "NoSuchKey") : .s3(412, "PreconditionFailed") }
        let etag = found.s3ETag(s3.server)
        guard match == etag || match == "\"\(etag)\"" && s3.server == .aws else {
            throw .s3(412, "PreconditionFailed")
        }
    }

    mutating func s3Store(
        _ bytes: [UInt8], _ bucket: String, _ name: String, _ metadata: S3Metadata, etag: String? = nil,
        upload: String? = nil
    ) throws(Answer) -> StoredObject {
        guard name.utf8.count <= 1024 else { throw .s3(400, "KeyTooLongError") }
        var object = StoredObject(bucket, name, bytes, generation: stored.tick())
        (object.content, object.custom, object.kept) = (metadata.content, metadata.custom, metadata.kept)
        (object.composedETag, object.upload) = (etag, upload)
        object.content[.contentType] = object.content[.contentType] ?? "binary/octet-stream"
        stored[bucket, name] = object
        return object
    }

    /// A missing object is no error. Ceph ignores a condition.
    private mutating func s3Delete(_ call: Call) throws(Answer) -> Answer {
        if let match = call.headers["if-match"], !s3.server.isCeph {
            let etag = try s3Found(call.bucket, call.name).s3ETag(s3.server)
            guard match == "\"\(etag)\"" else { throw .s3(412, "PreconditionFailed") }
        }
        stored[call.bucket, call.name ?? ""] = nil
        return Answer(status: 204)
    }

    private mutating func deleteMany(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        guard call.headers["content-md5"] != nil else { throw .s3(400, "InvalidRequest", "Content-MD5 is missing.") }
        guard let root = S3Element(body), root.name == "Delete" else { throw .s3(400, "MalformedXML") }
        let objects = root.children.filter { $0.name == "Object" }
        let others = root.children.filter { $0.name != "Object" }
        guard (1...1000).contains(objects.count), objects.allSatisfy({ $0.child("Key")?.isEmpty == false }),
            others.allSatisfy({ $0.name == "Quiet" })
        else { throw .s3(400, "MalformedXML") }
        var results: [S3Element] = []
        for object in objects {
            let key = S3Element("Key", object.child("Key") ?? "")
            if s3.undeletable.contains(key.text) {
                results.append(S3Element("Error", [key, S3Element("Code", "AccessDenied"), S3Element("Message")]))
            } else {
                stored[call.bucket, key.text] = nil
                if root.child("Quiet") != "true" { results.append(S3Element("Deleted", [key])) }
            }
        }
        return .s3(S3Element("DeleteResult", results))
    }
}

// MARK: Copies

extension FixtureState {
    /// The object that a copy reads. Ceph ignores the condition under Amazon's name, and knows it under its own, but not for
    /// a part.
    func s3Source(_ call: Call) throws(Answer) -> StoredObject {
        guard let (bucket, name) = Call.place(call.headers["x-amz-copy-source"] ?? "") else {
            throw .s3(400, "InvalidArgument", "x-amz-copy-source")
        }
        guard buckets?.contains(bucket) ?? true else { throw .s3(404, "NoSuchBucket") }
        let object = try s3Found(bucket, name)
        let condition = call.headers[s3.server.isCeph ? "x-amz-copy-if-match" : "x-amz-copy-source-if-match"]
        let isChecked = !s3.server.isCeph || call.kind != .copyPart
        if isChecked, let condition, condition.filter({ $0 != "\"" }) != object.s3ETag(s3.server) {
            throw .s3(412, "PreconditionFailed")
        }
        guard !object.isDestroyed else { throw .s3(404, "NoSuchKey") }
        return object
    }

    private mutating func s3Copy(_ call: Call) throws(Answer) -> Answer {
        let object = try s3Source(call)
        let replaces: Bool
        switch call.headers["x-amz-metadata-directive"] {
        case nil, "COPY": replaces = false
        case "REPLACE": replaces = true
        default: throw .s3(400, "InvalidArgument", "x-amz-metadata-directive")
        }
        guard replaces || call.kind == .rewrite else { throw .s3(400, "InvalidRequest", "The copy changes nothing.") }
        if s3.server == .swift, call.headers["if-match"] ?? call.headers["if-none-match"] != nil {
            throw .s3(501, "NotImplemented")
        }
        if s3.server == .aws { try checkConditions(call) }
        var metadata = try replaces ? S3Metadata(call, s3.server) : S3Metadata(of: object)
        // Ceph removes tags with the metadata.
        if !replaces || !s3.server.isCeph { metadata.kept["x-amz-tagging"] = object.kept["x-amz-tagging"] }
        let copy = try s3Store(
            object.bytes, call.bucket, call.name ?? "", metadata,
            etag: s3.server == .aws ? nil : object.composedETag)
        return .s3(S3Element("CopyObjectResult", copy.identity(s3.server)))
    }
}

// MARK: Metadata

/// What a request says about an object besides its bytes.
struct S3Metadata: Sendable {
    var content: [ContentProperty: String] = [:]
    var custom: ByteKeyedDictionary<String> = [:]
    var kept: HTTPHeaders = [:]

    /// A copy keeps neither the storage class nor the location of a redirect.
    init(of object: StoredObject) {
        (content, custom) = (object.content, object.custom)
        kept["expires"] = object.kept["expires"]
    }

    /// Keys come in lower case; Ceph turns their underscores into dashes. Throws at the limits of the server.
    init(_ call: Call, _ server: StorageFixture.S3Settings.Server) throws(Answer) {
        for (header, property) in Call.contents { content[property] = call.headers[header] }
        for header in Call.kept.sorted() { kept[header] = call.headers[header] }
        var size = 0
        for field in call.headers.fields {
            var key = field.name.lowercased()
            guard key.hasPrefix(Call.metadataPrefix) else { continue }
            key = String(key.dropFirst(Call.metadataPrefix.count))
            if server.isCeph { key = key.replacing("_", with: "-") }
            size += key.utf8.count + field.value.utf8.count
            guard custom[key] == nil, field.value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw .s3(400, "InvalidArgument", "The fixture takes one printable value of \(field.name).")
            }
            if server.isCeph, key.utf8.count > 81 { throw .s3(500, "UnknownError") }
            if server == .swift, field.value.utf8.count > 256 { throw .s3(500, "InternalError") }
            custom[key] = field.value
        }
        guard size <= (server == .aws ? 2048 : 15_000) else { throw .s3(400, "MetadataTooLarge") }
    }
}

extension StoredObject {
    func s3ETag(_ server: StorageFixture.S3Settings.Server) -> String {
        if server == .kms { return SHA256.hash(md5 + Array("\(generation)".utf8)).prefix(16).map(\.self).hexadecimal }
        return composedETag ?? md5.hexadecimal
    }

    func s3Headers(_ server: StorageFixture.S3Settings.Server) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Accept-Ranges": "bytes", "ETag": "\"\(s3ETag(server))\"", "Last-Modified": lastModified,
            "x-amz-request-id": "tx-fixture",
        ]
        if server.isCeph { headers["x-rgw-object-type"] = "Normal" }
        if server == .kms { headers["x-amz-server-side-encryption"] = "aws:kms" }
        for (header, property) in Call.contents { headers[header] = content[property] }
        for field in kept.fields where field.name != "x-amz-tagging" { headers.add(field.name, field.value) }
        if let tags = kept["x-amz-tagging"] {
            headers.add("x-amz-tagging-count", "\(tags.split(separator: "&").count)")
        }
        for (key, value) in custom { headers[Call.metadataPrefix + key.lowercased()] = value }
        return headers
    }

    /// The elements that every description of an object or a part has.
    func identity(_ server: StorageFixture.S3Settings.Server) -> [S3Element] {
        [
            S3Element("LastModified", Timestamp(microseconds: updated).rfc3339),
            S3Element("ETag", "\"\(s3ETag(server))\""),
        ]
    }
}

extension Answer {
    static func s3(_ element: S3Element) -> Answer {
        Answer(headers: ["Content-Type": "application/xml"], body: Array(element.document.utf8))
    }

    /// A refusal.
    static func s3(_ status: Int, _ code: String, _ message: String? = nil, also elements: [S3Element] = []) -> Answer {
        var answer = s3(
            S3Element(
                "Error",
                [S3Element("Code", code), S3Element("Message", message ?? "")] + elements + [
                    S3Element("RequestId", "tx-fixture")
                ]))
        answer.status = status
        return answer
    }
}
