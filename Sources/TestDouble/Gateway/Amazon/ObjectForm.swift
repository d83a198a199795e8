import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

/// A form of a browser at `/BUCKET`: `key` names the object, and `file`, the last field, has its bytes. A `policy` is
/// fulfilled; signatures are not looked at.
@Loop struct ObjectForm: Answering {
    /// The maximum size of all fields but the file, in bytes.
    private static let mostFieldBytes = 64 << 10
    private static let mostFields = 200

    let call: Call

    func answer() async throws -> HTTPServerResponse {
        do {
            return try await stored()
        } catch let failure as HTTPRequestBody.Failure {
            var error = failure.gatewayError
            if case .refused = failure, error.code == "InvalidRequest" { error.code = "MalformedPOSTRequest" }
            throw error
        }
    }

    private func stored() async throws -> HTTPServerResponse {
        let reader = try request.multipart()
        var fields = FormFields()
        var bytesLeft = Self.mostFieldBytes
        while let headers = try await reader.nextPart() {
            let (field, file) = try Self.names(of: headers)
            try headers.checkPart()
            if field.lowercased() == "file" {
                return try await store(reader, named: file, headers, fields)
            }
            guard fields.all.count < Self.mostFields else {
                throw GatewayError.badRequest("The form has too many fields.")
            }
            bytesLeft -= field.utf8.count
            guard bytesLeft >= 0 else { throw HTTPRequestBody.Failure.tooLarge }
            let bytes = try await reader.readAll(atMost: bytesLeft)
            bytesLeft -= bytes.count
            try fields.add(field, bytes)
        }
        throw GatewayError.badRequest("The form has no file.")
    }

    /// The names of a field and of its file: `form-data; name="file"; filename="a.txt"`.
    private static func names(of headers: HTTPHeaders) throws(GatewayError) -> (field: String, file: String) {
        let text = headers["Content-Disposition"] ?? ""
        let rest = text[(text.firstIndex(of: ";") ?? text.endIndex)...]
        guard let names = HeaderParameters.all("name", of: rest), names.count == 1,
            let files = HeaderParameters.all("filename", of: rest), files.count <= 1
        else { throw .badRequest("A field of the form has no name: \(text.prefix(200))") }
        return (names[0], files.first ?? "")
    }

    private static func flaw(of follower: HTTPHeaders) throws(GatewayError) -> String {
        "The field \(try names(of: follower).field) follows the file, which must be the last."
    }

    /// The name of the object: the key with the name of the file. Throws 400 for a long one before it is composed.
    private static func name(_ key: String, file: String) throws(GatewayError) -> String {
        let parts = key.parts(between: "${filename}")
        let bytes = parts.reduce(0) { $0 + $1.utf8.count } + (parts.count - 1) * file.utf8.count
        guard bytes <= Reference.maxPathBytes else {
            throw .badRequest("The key of the form has \(bytes) bytes, but at most \(Reference.maxPathBytes).")
        }
        return parts.joined(separator: file)
    }

    private func store(
        _ reader: MultipartReader, named fileName: String, _ headers: HTTPHeaders, _ fields: FormFields
    ) async throws -> HTTPServerResponse {
        guard let key = fields["key"], !key.isEmpty else {
            throw GatewayError.badRequest("The form has no key before its file.")
        }
        if let other = fields["bucket"], other != bucket {
            throw GatewayError.badRequest(
                "The bucket is \(other) in the form, but \(bucket) in the path of the request.")
        }
        let status = try fields.successStatus
        let isOfAmazon = fields["AWSAccessKeyId"] ?? fields["x-amz-algorithm"] != nil
        let policy = try fields["policy"].map { text throws(GatewayError) in
            try FormPolicy(text, isOfAmazon: isOfAmazon)
        }
        let object = try Reference.named(Self.name(key, file: fileName), in: bucket)
        try policy?.check(at: service.engine.clock.now(), fields.all.map(\.name)) { name in
            switch name {
            case "bucket": bucket
            // Amazon S3 compares the key with the name of the file in it.
            case "key" where isOfAmazon: object.object
            default: fields[HTTPServerRequest.googleName(of: name)]
            }
        }
        var change = try MetadataChange(fields: fields.all)
        if change.content[.contentType] == nil, let type = headers["Content-Type"] {
            change.content[.contentType] = type
        }
        change.makeNoDownloadToken()
        let size = try headers.partLength()
        let file = LastPart(reader, request.body, follower: Self.flaw) { count, isWhole throws(GatewayError) in
            try policy?.check(count: count, isWhole: isWhole)
            if isWhole, let size, size != count { throw HTTPHeaders.wrongLength(size, count) }
        }
        let stored = try await service.store(
            file, to: object, change, if: Preconditions(),
            Checksums(headers).adding(md5: headers["Content-MD5"]))
        if let target = fields["success_action_redirect"] {
            return HTTPServerResponse(303, headers: ["Location": target])
        }
        var kept = stored.objectHeaders
        let url = request.url(of: object)
        kept["Location"] = url
        guard status == 201 else { return HTTPServerResponse(status, headers: kept) }
        let result = XMLElement(
            "PostResponse",
            [
                "Location": url, "Bucket": bucket, "Key": object.object,
                "ETag": stored.entityTag?.description ?? "",
            ])
        return .xml(result.document(namespace: nil), status: status, headers: kept)
    }
}

/// The fields of a form before its file. Each has one value.
private struct FormFields {
    private(set) var all: [(name: String, value: String)] = []

    subscript(name: String) -> String? { all.first { isSameName($0.name, name) }?.value }

    /// The header with the meaning of the field `acl`.
    private static let acl = "x-goog-acl"
    /// The fields that a form may have besides metadata.
    private static let known: Set = [
        "key", "bucket", "policy", "success_action_redirect", "success_action_status", "awsaccesskeyid",
        "googleaccessid",
        "signature",
        "content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires",
    ]

    mutating func add(_ sent: String, _ bytes: [UInt8]) throws(GatewayError) {
        let name = HTTPServerRequest.googleName(of: sent)
        guard let value = String(validating: bytes, as: UTF8.self) else {
            throw .badRequest("The field \(name) is not UTF-8.")
        }
        do throws(GatewayError) { try check(name, value) } catch {
            throw isSameName(sent, "acl") ? error.named(sent, insteadOf: Self.acl) : error.naming(sent)
        }
        guard self[name] == nil else { throw .badRequest("The form has two fields \(sent).") }
        all.append((name, value))
    }

    private func check(_ name: String, _ value: String) throws(GatewayError) {
        let lower = name.lowercased()
        guard lower != "success_action_redirect" || value.isHeaderText else {
            throw .badRequest("\(name) has a character that no address has.")
        }
        if Self.known.contains(lower) || lower.hasPrefix("x-ignore-") { return }
        if BodyChecksums.isSHA256(lower, value) { throw GatewayError(501, "\(name) is not served here in a form.") }
        guard lower == "acl" || lower.hasPrefix("x-amz-") || ObjectHeaders.isKnown(lower) else {
            throw .badRequest("There is no field \(name) in a form.")
        }
        try ObjectHeaders.check(
            lower == "acl" ? Self.acl : name, value, served: ObjectHeaders.kept.union([ObjectHeaders.custom]))
    }

    /// The status of an answer without a redirect.
    var successStatus: Int {
        get throws(GatewayError) {
            let text = self["success_action_status"] ?? "204"
            guard let status = ["200": 200, "201": 201, "204": 204][text] else {
                throw .badRequest("success_action_status is 200, 201 or 204, not \(text).")
            }
            return status
        }
    }
}

extension MetadataChange {
    /// Whether a header, or the field of a form, is about metadata.
    static func hasProperty(named name: String) -> Bool {
        // A property also refuses this value, or has it.
        (try? MetadataChange(fields: [(name, "x")])) != MetadataChange()
    }

    /// The metadata that headers, or the fields of a form, name.
    init(fields: [(name: String, value: String)]) throws(GatewayError) {
        self.init()
        kept = try KeptChange(fields: fields)
        var entries: ByteKeyedDictionary<String?> = [:]
        for (name, value) in fields {
            switch name.lowercased() {
            case "content-type": content[.contentType] = value
            case "cache-control": content[.cacheControl] = value
            case "content-disposition": content[.contentDisposition] = value
            case "content-encoding":
                // The bytes are stored without it.
                let codings = value.split(separator: ",").map(trimmed)
                let kept = codings.filter { !isSameName($0, "aws-chunked") }
                if kept == codings {
                    content[.contentEncoding] = value
                } else if !kept.isEmpty {
                    content[.contentEncoding] = kept.joined(separator: ", ")
                }
            case "content-language": content[.contentLanguage] = value
            case let other where other.hasPrefix(ObjectHeaders.custom):
                entries[String(other.dropFirst(ObjectHeaders.custom.count))] = .some(value)
            default: break
            }
        }
        if !entries.isEmpty { custom = .merge(entries) }
    }
}
