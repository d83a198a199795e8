import Checksums
import HTTPClient
import HTTPText
import Storage

extension S3Dialect {
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, as write: RemoteWrite, if conditions: Preconditions
    ) -> RemoteRequest {
        var write = write
        (write.md5, write.crc32c) = (checksum.md5, checksum.crc32c)
        var headers = headers(upload.metadata, S3Mark(write), of: upload.reference)
        headers.add("Content-MD5", checksum.md5.base64)
        // Most servers check these with the write; the others ignore or refuse them. Ceph wants the tag without quotes.
        if conditions.generation == 0 { headers.add("If-None-Match", "*") }
        if let tag = write.replacedTag { headers.add("If-Match", tag) }
        return RemoteRequest(
            method: "PUT", target: target(upload.reference), headers: headers, body: .bytes(bytes), subject: .bucket,
            hasChecksum: true)
    }

    /// All metadata goes with the creation: it cannot change later.
    func open(_ upload: Upload, as write: RemoteWrite, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(
            method: "POST", target: target(upload.reference) + "?uploads",
            headers: headers(upload.metadata, S3Mark(write), of: upload.reference), subject: .bucket)
    }

    func session(in response: HTTPResponse, to request: RemoteRequest) throws(GarbledAnswer) -> RemoteSession {
        guard let id = XMLElement(answer: response)?["UploadId"], !id.isEmpty, id.utf8.count <= 1024 else {
            throw GarbledAnswer("no upload ID")
        }
        let target =
            request.target.hasSuffix("?uploads") ? request.target.dropLast("?uploads".count) : request.target[...]
        return RemoteSession(text: "\(target)?uploadId=\(id.escaped)")
    }

    func cancel(_ session: RemoteSession) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: session.text, subject: .session)
    }

    func isCancelled(in response: HTTPResponse) -> Bool { response.isAboutEndedSession || response.isSuccess }
}

extension S3Dialect: PartDialect {
    func send(part number: Int, to session: RemoteSession, _ body: HTTPBody, md5: [UInt8]) -> RemoteRequest {
        RemoteRequest(
            method: "PUT", target: "\(session.text)&partNumber=\(number)", headers: ["Content-MD5": md5.base64],
            body: body, subject: .session, hasChecksum: true)
    }

    func tag(in response: HTTPResponse) throws(GarbledAnswer) -> String {
        guard let tag = response.headers["ETag"]?.entityTag, !tag.isEmpty else { throw GarbledAnswer("no ETag") }
        return tag
    }

    func parts(of session: RemoteSession, after number: Int) -> RemoteRequest {
        RemoteRequest(
            method: "GET", target: "\(session.text)&max-parts=1000&part-number-marker=\(number)", subject: .session)
    }

    func parts(in response: HTTPResponse) throws(GarbledAnswer) -> PartPage {
        guard let root = XMLElement(answer: response), root.name == "ListPartsResult" else {
            throw GarbledAnswer("no list of parts")
        }
        var parts: [PartPage.Part] = []
        for child in root.children where child.name == "Part" {
            guard let number = child["PartNumber"].flatMap({ Int($0) }),
                let size = child["Size"].flatMap({ Int64($0) }),
                let tag = child["ETag"]?.entityTag, number > 0, size >= 0
            else { throw GarbledAnswer("a part without a number, a size or a tag") }
            parts.append(PartPage.Part(number: number, size: size, tag: tag))
        }
        guard root["IsTruncated"] == "true" else { return PartPage(parts: parts, next: nil) }
        guard let next = root["NextPartNumberMarker"].flatMap({ Int($0) }) else {
            throw GarbledAnswer("a list of parts that does not say how it continues")
        }
        return PartPage(parts: parts, next: next)
    }

    func complete(_ session: RemoteSession, _ tags: [String]) -> RemoteRequest {
        let parts = tags.enumerated().map { index, tag in
            XMLElement("Part", ["PartNumber": "\(index + 1)", "ETag": "\"\(tag)\""])
        }
        return RemoteRequest(
            method: "POST", target: session.text, headers: ["Content-Type": "application/xml"],
            body: .bytes(XMLElement("CompleteMultipartUpload", parts).document()), subject: .session)
    }

    /// A server may send the status 200 before it makes the object.
    func errorOfCompletion(in response: HTTPResponse) throws(GarbledAnswer) -> HTTPResponse? {
        guard let root = XMLElement(answer: response) else { throw GarbledAnswer("no result") }
        guard root.name == "Error" else { return nil }
        return response.asError
    }

    /// A conflict without a code may be one with a Complete that is being carried out.
    func isFinal(_ response: HTTPResponse) -> Bool {
        (400..<500).contains(response.status) && ![408, 429].contains(response.status)
            && S3Error(response).map { !$0.isPassing } ?? (response.status != 409)
    }

    /// A refusal with another code, or without one, may come from a proxy while the server carries Complete out: an abort
    /// could then remove the object.
    func changesNothing(_ response: HTTPResponse) -> Bool {
        response.status == 401 || S3Error(response)?.isAboutRequest == true
    }
}

extension HTTPResponse {
    /// A response with an error behind a status of success, as its status should have been.
    fileprivate var asError: HTTPResponse {
        var response = self
        response.status = S3Error(in: self).map { $0.isPassing ? 503 : 400 } ?? 503
        return response
    }
}

extension S3Dialect: CopyDialect {
    /// In bytes: the size of the parts of a copy, as long as 10,000 of them suffice.
    private static let copiedPart: Int64 = 1 << 30

    func copyRequest(
        of object: ObjectMetadata, to reference: Reference, _ metadata: SettableMetadata, _ mark: S3Mark
    ) -> RemoteRequest {
        var headers = headers(metadata, mark, of: reference)
        for field in source(object).fields { headers.add(field.name, field.value) }
        headers.add("x-amz-metadata-directive", "REPLACE")
        return RemoteRequest(method: "PUT", target: target(reference), headers: headers)
    }

    /// The headers that name the object to copy. Its tag is a condition, since the mark of the copy describes these bytes.
    private func source(_ object: ObjectMetadata) -> HTTPHeaders {
        var headers: HTTPHeaders = ["x-amz-copy-source": object.reference.copySource]
        if let tag = object.tagOfBytes {
            for name in signer.copyConditions(at: url(of: object.reference.bucket)) { headers.add(name, tag) }
        }
        return headers
    }

    func copiesAtOnce(_ object: ObjectMetadata) -> Bool { object.size <= largestCopy }

    var repeatsMetadata: Bool { true }

    func copy(
        _ object: ObjectMetadata, as upload: Upload, _ write: RemoteWrite, after token: String?,
        if conditions: Preconditions
    ) -> RemoteRequest {
        var write = write
        (write.md5, write.crc32c) = (object.checksums.md5, object.checksums.crc32c)
        // Some servers keep the tag of the parts.
        write.partSize = object.checksums.parts?.size
        let metadata = upload.copiedMetadata(of: object)
        if copiesAtOnce(object) {
            var request = copyRequest(of: object, to: upload.reference, metadata, S3Mark(write))
            request.headers["Expires"] = object.keptHeaders["Expires"]
            return request
        }
        guard let token, let progress = CopyProgress(token) else {
            write.partSize = partSize(of: object)
            var upload = upload
            upload.metadata = metadata
            var request = open(upload, as: write, if: conditions)
            request.headers["Expires"] = object.keptHeaders["Expires"]
            return request
        }
        let session = RemoteSession(text: progress.session)
        let first = Int64(progress.tags.count) * partSize(of: object)
        guard first < object.size else { return complete(session, progress.tags) }
        let last = min(first + partSize(of: object), object.size) - 1
        var headers = source(object)
        headers.add("x-amz-copy-source-range", "bytes=\(first)-\(last)")
        return RemoteRequest(
            method: "PUT", target: "\(session.text)&partNumber=\(progress.tags.count + 1)", headers: headers)
    }

    func session(of token: String, copying object: ObjectMetadata) -> RemoteSession? {
        CopyProgress(token).map { RemoteSession(text: $0.session, granularity: partSize(of: object)) }
    }

    private func partSize(of object: ObjectMetadata) -> Int64 {
        PartSizes().size(of: object.size, wanted: min(Self.copiedPart, largestCopy))
    }

    func copied(
        _ response: HTTPResponse, by request: RemoteRequest, of object: ObjectMetadata, to reference: Reference,
        after token: String?
    ) throws(GarbledAnswer) -> CopyStatus {
        guard let root = XMLElement(answer: response) else { throw GarbledAnswer("no result") }
        switch root.name {
        case "Error": return .refused(response.asError)
        case "CopyObjectResult":
            return .done(try metadata(writtenBy: request, response, of: reference, size: object.size))
        case "InitiateMultipartUploadResult":
            let progress = CopyProgress(session: try session(in: response, to: request).text, tags: [])
            return .copied(0, token: progress.text)
        case "CopyPartResult":
            guard var progress = token.flatMap(CopyProgress.init), let tag = root["ETag"]?.entityTag, !tag.isEmpty
            else {
                throw GarbledAnswer("no ETag")
            }
            progress.tags.append(tag)
            let end = Int64(progress.tags.count) * partSize(of: object)
            return .copied(min(end, object.size), token: progress.text)
        case "CompleteMultipartUploadResult": return .stored
        default: throw GarbledAnswer("no result of a copy")
        }
    }
}

/// The state of a copy in parts, as the token between its requests.
private struct CopyProgress {
    let session: String
    var tags: [String]

    init(session: String, tags: [String]) { (self.session, self.tags) = (session, tags) }

    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let session = lines.first, !session.isEmpty else { return nil }
        (self.session, tags) = (String(session), lines.dropFirst().map(String.init))
    }

    var text: String { ([session] + tags).joined(separator: "\n") }
}

extension Upload {
    /// The metadata of a copy of this object.
    fileprivate func copiedMetadata(of object: ObjectMetadata) -> SettableMetadata {
        source.copy?.request.metadata(metadata, of: object.settable) ?? metadata
    }
}

extension Reference {
    /// The value of the header `x-amz-copy-source`.
    fileprivate var copySource: String { "/\(bucket.escaped)/\(object.escaped(keepsSlashes: true))" }
}
