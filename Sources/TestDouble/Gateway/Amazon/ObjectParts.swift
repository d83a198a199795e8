import Checksums
import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Uploads in parts at `/BUCKET/NAME`: a start, parts in any order, and an end, which composes the object or drops the
/// parts.
@Loop struct ObjectParts: Answering {
    private static let numbers: ClosedRange<Int64> = 1...10_000
    /// The maximum size of a part, in bytes.
    private static let largest: Int64 = 5 << 30
    /// The minimum size of all parts but the last, in bytes.
    private static let smallest: Int64 = 5 << 20
    /// The maximum size of the list of parts at the end, in bytes.
    private static let mostXML = 4 << 20

    let call: Call

    private var multiparts: Multiparts { service.multiparts }

    /// The upload that the request is about. Throws 404 for none.
    private func upload() async throws -> Multipart {
        let id = request["uploadId"] ?? ""
        guard let upload = try await multiparts.upload(id, of: call.object) else {
            throw GatewayError.noSuchUpload
        }
        try checkRepetitions(of: upload)
        return upload
    }

    /// Python's client repeats the metadata of the start in all requests. Throws 400 for other metadata.
    private func checkRepetitions(of upload: Multipart) throws(GatewayError) {
        let known = try upload.fields
        for field in request.http.headers.fields where ObjectHeaders.isRepeated(field.name, field.value) {
            guard known.contains(where: { isSameName($0.name, field.name) && $0.value == field.value }) else {
                throw .badRequest("\(field.name) is not what the start of the upload has said.")
            }
        }
        try AnnouncedObject(request).checkType(known.first { isSameName($0.name, "Content-Type") }?.value)
    }

    func start() async throws -> HTTPServerResponse {
        let object = try call.object
        try await request.checkIsEmpty("The start of an upload in parts has no body.")
        let fields = request.http.headers.fields.filter { MetadataChange.hasProperty(named: $0.name) }
        try AnnouncedObject(request).checkType(request.header("Content-Type"))
        try MetadataChange(fields: fields.map { ($0.name, $0.value) }).check()
        try await service.admit(.open, object)
        try await service.engine.checkBucket(of: object)
        let metadata = JSON.array(fields.map { .array([.string($0.name), .string($0.value)]) }).text
        let upload = try await multiparts.start(object, metadata: metadata)
        let result = XMLElement(
            "InitiateMultipartUploadResult",
            ["Bucket": object.bucket, "Key": object.object, "UploadId": upload.id])
        var response = HTTPServerResponse.xml(result.document())
        // Node's client reads no other type of XML.
        response.headers["Content-Type"] = "text/xml; charset=UTF-8"
        return response
    }

    // MARK: - Parts

    func put() async throws -> HTTPServerResponse {
        let (upload, number) = (try await upload(), try number)
        try request.checkHasLength()
        let source = try request.byteSource()
        let part = try await store(source, as: number, of: upload) { try request.declaredChecksums(of: source) }
        return HTTPServerResponse(200, headers: part.headers)
    }

    func copy() async throws -> HTTPServerResponse {
        let (upload, number) = (try await upload(), try number)
        let part = try await store(copiedBytes(of: request.copySource()), as: number, of: upload)
        let result = XMLElement("CopyPartResult", ["LastModified": part.stored.rfc3339, "ETag": part.entityTag])
        return .xml(result.document(), headers: part.headers)
    }

    private var number: Int {
        get throws(GatewayError) {
            guard let number = try request.integer("partNumber"), Self.numbers.contains(number) else {
                throw .badRequest("partNumber is 1 to \(Self.numbers.upperBound).")
            }
            return Int(number)
        }
    }

    /// - Parameter declared: returns the checksums that the client declares for the bytes, which have them, by the names
    /// of their headers.
    private func store(
        _ source: any ByteSource, as number: Int, of upload: Multipart,
        declaring declared: @Loop () throws -> [String: String] = { [:] }
    ) async throws -> MultipartPart {
        let object = upload.reference
        let expected = try Checksums(request.http.headers)
        let part = try await multiparts.using(upload.id) {
            try await service.admit(.send, object)
            let file = try await multiparts.makePart()
            do {
                try await receive(source, into: file)
                try expected.check(Checksums(md5: file.md5, crc32c: file.crc32c), of: object)
            } catch {
                file.discard()
                throw error
            }
            guard let part = try await multiparts.store(file, as: number, of: upload, declared: try declared()) else {
                throw GatewayError.noSuchUpload
            }
            return part
        }
        guard let part else { throw Self.busy }
        return part
    }

    private func receive(_ source: any ByteSource, into file: PartFile) async throws {
        let body = UploadBody(source)
        while true {
            let (bytes, isEnd) = try await body.next()
            guard Int64(bytes.count) <= Self.largest - file.size else {
                throw GatewayError(400, code: "EntityTooLarge", "A part has at most \(Self.largest) bytes.")
            }
            try await file.append(bytes)
            if isEnd { return }
        }
    }

    private static let busy = GatewayError(
        409, code: "OperationAborted", "Another request uses or completes the upload.")

    // MARK: - The end

    func complete() async throws -> HTTPServerResponse {
        let (object, id) = (try call.object, request["uploadId"] ?? "")
        // An unknown upload is one before the body is read.
        if try await multiparts.end(of: id, to: object) == nil { _ = try await upload() }
        let wanted = try await wantedParts()
        let answer = try await multiparts.using(id, alone: true) {
            if let end = try await multiparts.end(of: id, to: object) {
                return try await stored(again: end, object, wanted)
            }
            return try await store(wanted, of: upload(), at: object)
        }
        guard let answer else { throw Self.busy }
        return completed(answer)
    }

    private func store(
        _ wanted: [WantedPart], of upload: Multipart, at object: Reference
    ) async throws -> ObjectMetadata {
        let parts = try Self.stored(wanted, of: try await multiparts.parts(of: upload))
        let size = parts.reduce(Int64(0)) { $0.addingSaturated($1.size) }
        guard try request.length(ObjectHeaders.sizeOfParts) ?? size == size else {
            throw GatewayError.badRequest("\(ObjectHeaders.sizeOfParts) is not the size of the parts: \(size).")
        }
        var change = try MetadataChange(fields: upload.fields)
        change.makeNoDownloadToken()
        change.kept.partsTag = "\(Checksum(of: parts.flatMap(\.md5)).md5.hexadecimal)-\(parts.count)"
        let stored = try await service.writing(object, for: request) { [change] in
            try await service.store(multiparts.bytes(of: parts, of: upload), at: object, change, if: $0)
        }
        // The object is stored; an upload whose parts cannot be removed now expires.
        try? await multiparts.complete(
            upload, .init(generation: stored.generation, selection: WantedPart.digest(of: wanted)))
        return stored
    }

    /// The object for a client that repeats the end of an upload, such as after a lost answer. Throws 404 where it names
    /// other parts, or the object is no longer there.
    private func stored(
        again end: Multiparts.End, _ object: Reference, _ wanted: [WantedPart]
    ) async throws -> ObjectMetadata {
        guard WantedPart.digest(of: wanted) == end.selection, let stored = try await service.version(of: object),
            stored.generation == end.generation
        else { throw GatewayError.noSuchUpload }
        return stored
    }

    private func completed(_ stored: ObjectMetadata) -> HTTPServerResponse {
        let object = stored.reference
        return .xml(
            XMLElement(
                "CompleteMultipartUploadResult",
                [
                    "Location": request.url(of: object), "Bucket": object.bucket, "Key": object.object,
                    "ETag": stored.entityTag?.description ?? "",
                ]
            ).document(), headers: stored.objectHeaders)
    }

    private struct WantedPart {
        let number: Int
        /// The ETag without quotes.
        let tag: String
        /// The checksums by the names of their headers.
        let checksums: [String: String]

        static func digest(of parts: [WantedPart]) -> [UInt8] {
            let all = parts.map { part in
                let sums = part.checksums.sorted { $0.key < $1.key }
                return JSON.array([JSON(Int64(part.number)), .string(part.tag), JSON(members: sums)])
            }
            return Checksum(of: Array(JSON.array(all).text.utf8)).md5
        }
    }

    /// The parts that the body names, in the order of their numbers.
    private func wantedParts() async throws -> [WantedPart] {
        let root = try await request.xmlBody("CompleteMultipartUpload", atMost: Self.mostXML)
        var parts: [WantedPart] = []
        for child in root.children {
            guard child.name == "Part" else {
                throw GatewayError(501, "The element \(child.name.prefix(200)) of \(root.name) is not served here.")
            }
            let members = try child.members(Set(["PartNumber", "ETag"]).union(BodyChecksums.elements.keys))
            guard let number = members["PartNumber"].flatMap({ Int64(digits: $0) }), Self.numbers.contains(number),
                let tag = members["ETag"]
            else { throw GatewayError.malformedXML("a part has no number or no ETag") }
            if let last = parts.last, last.number >= number {
                throw GatewayError(
                    400, code: "InvalidPartOrder", "The parts must be in the order of their numbers, each once.")
            }
            parts.append(
                WantedPart(
                    number: Int(number), tag: tag.filter { $0 != "\"" }.lowercased(),
                    checksums: .init(
                        uniqueKeysWithValues: BodyChecksums.elements.compactMap { element, header in
                            members[element].map { (header, $0) }
                        })))
        }
        guard !parts.isEmpty else { throw GatewayError.malformedXML("it names no parts") }
        return parts
    }

    private static func stored(_ wanted: [WantedPart], of stored: [MultipartPart]) throws(GatewayError)
        -> [MultipartPart]
    {
        let byNumber = Dictionary(stored.map { ($0.number, $0) }) { $1 }
        var parts: [MultipartPart] = []
        for part in wanted {
            guard let found = byNumber[part.number], found.md5.hexadecimal == part.tag,
                part.checksums.allSatisfy({ found.checksums[$0.key] == $0.value })
            else {
                throw GatewayError(
                    400, code: "InvalidPart", "The part \(part.number) is not there, or has another ETag or checksum.")
            }
            parts.append(found)
        }
        guard let small = parts.dropLast().first(where: { $0.size < smallest }) else { return parts }
        throw GatewayError(
            400, code: "EntityTooSmall",
            "The part \(small.number) has \(small.size) bytes: all but the last have at least \(smallest).")
    }

    func abort() async throws -> HTTPServerResponse {
        let upload = try await upload()
        let isThere = try await multiparts.using(upload.id) { try await multiparts.remove(upload) }
        guard let isThere else { throw Self.busy }
        guard isThere else { throw GatewayError.noSuchUpload }
        return HTTPServerResponse(204)
    }

    func list() async throws -> HTTPServerResponse {
        let upload = try await upload()
        let text = try ListText(request)
        let most = try request.pageSize("max-parts", isPositive: false)
        let marker = try request.integer("part-number-marker") ?? 0
        let found = try await multiparts.parts(of: upload, after: Int(marker), most: most + 1)
        let page = found.prefix(most)
        let elements = XMLElement.list([
            "Bucket": try text(bucket), "Key": try text(upload.reference.object), "UploadId": upload.id,
            "StorageClass": "STANDARD", "PartNumberMarker": "\(marker)",
            "NextPartNumberMarker": "\(page.last.map { Int64($0.number) } ?? marker)", "MaxParts": "\(most)",
            "IsTruncated": "\(most > 0 && found.count > most)", "EncodingType": text.encoding,
        ])
        let parts = page.map { part in
            XMLElement(
                "Part",
                [
                    "PartNumber": "\(part.number)", "LastModified": part.stored.rfc3339, "ETag": part.entityTag,
                    "Size": "\(part.size)",
                ])
        }
        return .xml(XMLElement("ListPartsResult", elements + parts).document())
    }
}

extension MultipartPart {
    /// The MD5 in hexadecimal digits and quotes.
    fileprivate var entityTag: String { "\"\(md5.hexadecimal)\"" }

    fileprivate var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["ETag": entityTag, "x-goog-hash": "crc32c=\(crc32c.base64),md5=\(md5.base64)"]
        headers.add(declared)
        return headers
    }

    /// The checksums that are known of the bytes, by the names of their headers.
    fileprivate var checksums: [String: String] {
        declared.merging(["x-amz-checksum-crc32c": crc32c.base64]) { $1 }
    }
}

extension Multipart {
    /// The headers of its start that are about the object.
    fileprivate var fields: [(name: String, value: String)] {
        get throws(GatewayError) {
            guard let fields = JSON(wire: Array(metadata.utf8))?.array else { throw Self.damaged }
            return try fields.map { field throws(GatewayError) in
                guard let name = field.array?.first?.string, let value = field.array?.last?.string else {
                    throw Self.damaged
                }
                return (name, value)
            }
        }
    }

    private static let damaged = GatewayError(500, "The metadata of the upload in parts is damaged.")
}
