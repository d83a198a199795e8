import HTTPClient
import HTTPText
import JSONText
import Storage

/// One part of an upload.
struct S3Part: Sendable {
    var bytes: [UInt8]
    var etag: String
}

/// An upload in parts.
struct S3Upload: Sendable {
    enum State: Sendable {
        case open, aborted
        /// The object is stored. Ceph lists the upload until the answer has left: what a request does to the upload
        /// meanwhile is done to the object's bytes.
        case completed(isListed: Bool)
        /// A wrong request has removed the bytes of the object.
        case destroyed
    }

    let metadata: S3Metadata
    var parts: [Int: S3Part] = [:]
    var state = State.open

    var isListed: Bool {
        switch state {
        case .open, .completed(isListed: true): true
        case .aborted, .completed(isListed: false), .destroyed: false
        }
    }

    var numbers: [Int] { parts.keys.sorted() }

    /// The number of bytes of the parts before this one.
    func offset(of number: Int) -> Int64 {
        parts.reduce(0) { $1.key < number ? $0 + Int64($1.value.bytes.count) : $0 }
    }

    /// The bytes of the first parts without a gap.
    var persisted: Int64 {
        var (number, total) = (1, Int64(0))
        while let part = parts[number] {
            total += Int64(part.bytes.count)
            number += 1
        }
        return total
    }
}

/// Uploads in parts, with what Ceph does after an answer that was lost: a second Complete, or an Abort, succeeds and
/// destroys the object.
extension FixtureState {
    mutating func s3Upload(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        switch call.kind {
        case .start: return try startS3(call)
        case .chunk: return try storePart(body, call)
        case .copyPart: return try copyPart(call)
        case .query: return try partsOfS3(listableUpload(call), call)
        case .finalize: return try completeS3(call, body)
        case .cancel: return try abortS3(call)
        default: return try s3Uploads(call)
        }
    }

    private mutating func startS3(_ call: Call) throws(Answer) -> Answer {
        let name = call.name ?? ""
        guard name.utf8.count <= 1024 else { throw .s3(400, "KeyTooLongError") }
        let metadata = try S3Metadata(call, s3.server)
        let id = "2~\(sessionOrder.count + 1)+/=&\(call.bucket.utf8.count)"
        var session = ResumableSession(
            id: id, dialect: .s3, bucket: call.bucket, name: name, metadata: [:], contentType: nil, ifGeneration: nil)
        session.upload = S3Upload(metadata: metadata)
        sessions[id] = session
        sessionOrder.append(id)
        return .s3(
            S3Element(
                "InitiateMultipartUploadResult",
                [S3Element("Bucket", call.bucket), S3Element("Key", name), S3Element("UploadId", id)]))
    }

    /// The upload of the request, whatever its state. A gone one is not found.
    private func anyUpload(_ call: Call) throws(Answer) -> (ResumableSession, S3Upload) {
        guard let session = call.session.flatMap({ sessions[$0] }), let upload = session.upload,
            session.bucket == call.bucket, session.name == call.name
        else { throw .s3(404, "NoSuchUpload") }
        if case .forgotten(let status) = session.state { throw .s3(status, "NoSuchUpload") }
        return (session, upload)
    }

    private func openUpload(_ call: Call) throws(Answer) -> (ResumableSession, S3Upload) {
        let (session, upload) = try anyUpload(call)
        guard upload.isListed else { throw .s3(404, "NoSuchUpload") }
        return (session, upload)
    }

    private mutating func change(_ id: String, _ upload: S3Upload) {
        sessions[id]?.upload = upload
        sessions[id]?.persisted = upload.persisted
    }
}

// MARK: Parts

extension FixtureState {
    private mutating func storePart(_ bytes: [UInt8], _ call: Call) throws(Answer) -> Answer {
        let part = try addPart(bytes, call)
        return Answer(headers: ["ETag": "\"\(part.etag)\""])
    }

    private mutating func addPart(_ bytes: [UInt8], _ call: Call) throws(Answer) -> S3Part {
        let (session, found) = try openUpload(call)
        var upload = found
        guard let number = call.query["partNumber"].flatMap({ Int($0) }), (1...s3.server.mostParts).contains(number)
        else { throw .s3(400, "InvalidArgument", "partNumber") }
        let part = S3Part(
            bytes: bytes, etag: StoredObject("", "", bytes, generation: Int64(number)).s3ETag(s3.server))
        upload.parts[number] = part
        change(session.id, upload)
        return part
    }

    private mutating func copyPart(_ call: Call) throws(Answer) -> Answer {
        let object = try s3Source(call)
        var bytes = object.bytes[...]
        if let text = call.headers["x-amz-copy-source-range"] {
            let ends = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            guard text.hasPrefix("bytes="), ends.count == 2, ends[0] <= ends[1] else {
                throw .s3(400, "InvalidArgument", "x-amz-copy-source-range")
            }
            guard ends[1] < bytes.count else {
                throw s3.server.isCeph ? .s3(416, "InvalidRange") : .s3(400, "InvalidArgument")
            }
            bytes = bytes[ends[0]...ends[1]]
        }
        let part = try addPart(Array(bytes), call)
        return .s3(
            S3Element(
                "CopyPartResult",
                [
                    S3Element("LastModified", Timestamp(microseconds: object.updated).rfc3339),
                    S3Element("ETag", "\"\(part.etag)\""),
                ]))
    }

    /// Swift lists the parts of a completed upload, too.
    private func listableUpload(_ call: Call) throws(Answer) -> S3Upload {
        let (_, upload) = try anyUpload(call)
        if case .completed = upload.state, s3.server == .swift { return upload }
        guard upload.isListed else { throw .s3(404, s3.server.isCeph ? "NoSuchKey" : "NoSuchUpload") }
        return upload
    }

    func partsOfS3(_ parts: [(number: Int, size: String, etag: String)], _ call: Call) -> Answer {
        let most = call.query["max-parts"].flatMap { Int($0) } ?? 1000
        let marker = call.query["part-number-marker"].flatMap { Int($0) } ?? 0
        let rest = parts.filter { $0.number > marker }
        let page = rest.prefix(min(most, 1000))
        let elements = page.map { part in
            S3Element(
                "Part",
                [
                    S3Element("PartNumber", String(part.number)),
                    S3Element("LastModified", "2026-01-01T00:00:00.000Z"), S3Element("ETag", "\"\(part.etag)\""),
                    S3Element("Size", part.size),
                ])
        }
        return .s3(
            S3Element(
                "ListPartsResult",
                [
                    S3Element("Bucket", call.bucket), S3Element("Key", call.name ?? ""),
                    S3Element("UploadId", call.session ?? ""), S3Element("PartNumberMarker", String(marker)),
                    S3Element("NextPartNumberMarker", String(page.last?.number ?? 0)),
                    S3Element("MaxParts", String(most)), S3Element("IsTruncated", String(page.count < rest.count)),
                ] + elements))
    }

    private func partsOfS3(_ upload: S3Upload, _ call: Call) -> Answer { partsOfS3(upload.listed, call) }

    /// The parts of an upload in a wrong list.
    func lying(
        _ lie: StorageFixture.Fault.FalseOffset, about session: ResumableSession
    ) -> [(number: Int, size: String, etag: String)] {
        var parts = session.upload?.listed ?? []
        let next = ((parts.last?.number ?? 0) + 1, parts.last?.etag ?? String(repeating: "0", count: 32))
        switch lie {
        case .granules(let count) where count < 0: parts.removeLast(min(-count, parts.count))
        case .granules: parts.append((next.0, parts.last?.size ?? "1", next.1))
        case .beyondTotal: parts.append((next.0, String(1 << 50), next.1))
        case .text(let text): parts.append((next.0, text, next.1))
        }
        return parts
    }
}

extension S3Upload {
    fileprivate var listed: [(number: Int, size: String, etag: String)] {
        numbers.compactMap { number in
            parts[number].map { (number, String($0.bytes.count), $0.etag) }
        }
    }
}

// MARK: The end

extension FixtureState {
    private mutating func completeS3(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        let (session, found) = try anyUpload(call)
        var upload = found
        let wanted = try wantedParts(body)
        switch upload.state {
        case .open: break
        case .completed(isListed: true):
            guard s3.lockedCompletes == 0 else {
                s3.lockedCompletes -= 1
                throw .s3(500, "InternalError")
            }
            destroy(session.id)
            return completed(session, etag: session.etag(wanted.map(\.etag)))
        case .completed: return try completeAgain(session, upload)
        case .aborted, .destroyed: throw s3.server.isCeph ? .s3(500, "InternalError") : .s3(404, "NoSuchUpload")
        }
        try check(wanted, upload)
        if s3.server == .aws { try checkConditions(call) }
        if s3.server == .swift, call.headers["if-match"] != nil || call.headers["if-none-match"] != nil {
            let isMet = call.headers["if-match"] == nil && stored[session.bucket, session.name] == nil
            guard isMet else { throw .s3(412, "InvalidRequest") }
        }
        let parts = wanted.compactMap { upload.parts[$0.number] }
        let md5s = parts.flatMap { StoredObject("", "", $0.bytes, generation: 0).md5 }
        let etag = "\(StoredObject("", "", md5s, generation: 0).md5.hexadecimal)-\(parts.count)"
        let object = try s3Store(
            parts.flatMap(\.bytes), session.bucket, session.name, upload.metadata, etag: etag, upload: session.id)
        upload.state = .completed(isListed: s3.server.isCeph)
        change(session.id, upload)
        sessions[session.id]?.state = .final(object)
        return completed(session, etag: s3.server.isCeph ? "" : object.s3ETag(s3.server))
    }

    /// The answer of an end whose answer has arrived already.
    private func completeAgain(_ session: ResumableSession, _ upload: S3Upload) throws(Answer) -> Answer {
        if let object = stored[session.bucket, session.name], object.upload == session.id {
            return completed(session, etag: object.s3ETag(s3.server))
        }
        throw s3.server.isCeph ? .s3(500, "InternalError") : .s3(404, "NoSuchUpload")
    }

    private func wantedParts(_ body: [UInt8]) throws(Answer) -> [(number: Int, etag: String)] {
        guard let root = S3Element(body), root.name == "CompleteMultipartUpload", !root.children.isEmpty else {
            throw .s3(400, "MalformedXML")
        }
        var wanted: [(number: Int, etag: String)] = []
        for part in root.children {
            guard part.name == "Part", let number = part.child("PartNumber").flatMap({ Int($0) }),
                let etag = part.child("ETag"), part.children.count == 2
            else { throw .s3(400, "MalformedXML") }
            guard number > wanted.last?.number ?? 0 else { throw .s3(400, "InvalidPartOrder") }
            wanted.append((number, etag.filter { $0 != "\"" }))
        }
        return wanted
    }

    /// Every part must be named, with its ETag, and all but the last have a smallest size.
    private func check(_ wanted: [(number: Int, etag: String)], _ upload: S3Upload) throws(Answer) {
        guard wanted.map(\.number) == upload.numbers,
            wanted.allSatisfy({ upload.parts[$0.number]?.etag == $0.etag })
        else { throw .s3(400, "InvalidPart") }
        let sizes = wanted.compactMap { upload.parts[$0.number]?.bytes.count }
        guard sizes.dropLast().allSatisfy({ $0 >= s3.smallestPart }) else { throw .s3(400, "EntityTooSmall") }
        guard s3.server == .equalParts, let first = sizes.first else { return }
        guard sizes.dropLast().allSatisfy({ $0 == first }), sizes.last ?? 0 <= first else {
            throw .s3(400, "InvalidPart")
        }
    }

    private func completed(_ session: ResumableSession, etag: String) -> Answer {
        var answer = Answer.s3(
            S3Element(
                "CompleteMultipartUploadResult",
                [
                    S3Element("Location", "\(url)/\(session.bucket)/\(session.name.percentEncoded)"),
                    S3Element("Bucket", session.bucket), S3Element("Key", session.name),
                    S3Element("ETag", etag.isEmpty ? "" : "\"\(etag)\""),
                ]))
        // Amazon sends blanks after the declaration until it is done.
        if s3.server == .aws {
            let text = String(decoding: answer.body, as: UTF8.self).replacing(
                "?>", with: "?>\n   \n", maxReplacements: 1)
            answer.body = Array(text.utf8)
        }
        return answer
    }

    private mutating func abortS3(_ call: Call) throws(Answer) -> Answer {
        let (session, upload) = try openUpload(call)
        if case .completed = upload.state {
            destroy(session.id)
        } else {
            sessions[session.id]?.upload?.state = .aborted
            sessions[session.id]?.upload?.parts = [:]
            sessions[session.id]?.state = .cancelled
        }
        return Answer(status: 204)
    }

    /// Removes the bytes of the object that the upload has stored, and leaves its entry.
    private mutating func destroy(_ id: String) {
        guard let session = sessions[id] else { return }
        sessions[id]?.upload?.state = .destroyed
        if stored[session.bucket, session.name]?.upload == id {
            stored[session.bucket, session.name]?.isDestroyed = true
        }
    }

    /// The answer to a request has left.
    mutating func isAnswered(_ call: Call) {
        guard call.kind == .finalize, let id = call.session, case .completed = sessions[id]?.upload?.state else {
            return
        }
        sessions[id]?.upload?.state = .completed(isListed: false)
    }
}

extension ResumableSession {
    /// The ETag of an object of these parts. It has no meaning once the parts are gone.
    fileprivate func etag(_ parts: [String]) -> String {
        if case .final(let object) = state, let etag = object.composedETag { return etag }
        return "\(String(repeating: "0", count: 32))-\(parts.count)"
    }
}
