import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

/// A form of a browser at `/BUCKET`: `key` names the object, and `file`, the last field, has its bytes. A `policy` is
/// fulfilled; signatures are not looked at.
@Loop struct ObjectForm: Answering {
    /// Of all fields but the file together.
    private static let mostFieldBytes = 64 << 10
    private static let mostFields = 200

    let call: Call

    func answer() async throws -> HTTPServerResponse {
        let reader = try request.multipart()
        var fields = FormFields()
        var bytesLeft = Self.mostFieldBytes
        do {
            while let headers = try await reader.nextPart() {
                let (field, file) = try Self.names(of: headers)
                if field.lowercased() == "file" {
                    return try await store(FormFile(reader, request.body), named: file, headers, fields)
                }
                guard fields.all.count < Self.mostFields else {
                    throw GatewayError.badRequest("The form has too many fields.")
                }
                bytesLeft -= field.utf8.count
                guard bytesLeft >= 0 else { throw MultipartReader.Failure.body(.tooLarge) }
                let bytes = try await reader.readAll(atMost: bytesLeft)
                bytesLeft -= bytes.count
                try fields.add(field, bytes)
            }
        } catch let error as MultipartReader.Failure {
            throw error.gatewayError
        }
        throw GatewayError.badRequest("The form has no file.")
    }

    /// The name of a field, and that of the file that it has; such as `form-data; name="file"; filename="a.txt"`.
    fileprivate static func names(of headers: HTTPHeaders) throws(GatewayError) -> (field: String, file: String) {
        let text = headers["Content-Disposition"] ?? ""
        let rest = text[(text.firstIndex(of: ";") ?? text.endIndex)...]
        guard let names = HeaderParameters.all("name", of: rest), names.count == 1,
            let files = HeaderParameters.all("filename", of: rest), files.count <= 1
        else { throw .badRequest("A field of the form has no name: \(text.prefix(200))") }
        return (names[0], files.first ?? "")
    }

    /// The name of the object. Throws 400 where it is too long, before it is made.
    private static func name(_ key: String, file: String) throws(GatewayError) -> String {
        let parts = key.parts(between: "${filename}")
        let bytes = parts.reduce(0) { $0 + $1.utf8.count } + (parts.count - 1) * file.utf8.count
        guard bytes <= Reference.maxPathBytes else {
            throw .badRequest("The key of the form has \(bytes) bytes, but at most \(Reference.maxPathBytes).")
        }
        return parts.joined(separator: file)
    }

    private func store(
        _ source: FormFile, named file: String, _ headers: HTTPHeaders, _ fields: FormFields
    ) async throws -> HTTPServerResponse {
        guard let key = fields["key"], !key.isEmpty else {
            throw GatewayError.badRequest("The form has no key before its file.")
        }
        if let other = fields["bucket"], other != bucket {
            throw GatewayError.badRequest(
                "The bucket is \(other) in the form, but \(bucket) in the path of the request.")
        }
        let status = try fields.successStatus
        let policy = try fields["policy"].map { text throws(GatewayError) in try FormPolicy(text) }
        try policy?.check(at: service.engine.clock.now()) { name in
            name == "bucket" ? bucket : fields[HTTPServerRequest.googleName(of: name)]
        }
        try headers.checkPart()
        let object = try Reference(bucket: bucket, object: Self.name(key, file: file))
        var change = try MetadataChange(fields: fields.all)
        if change.content[.contentType] == nil, let type = headers["Content-Type"] {
            change.content[.contentType] = type
        }
        change.makeNoDownloadToken()
        source.policy = policy
        let stored = try await service.store(
            source, to: object, change, if: Preconditions(),
            Checksums().adding(md5: headers["Content-MD5"]))
        if let target = fields["success_action_redirect"] {
            return HTTPServerResponse(303, headers: ["Location": target])
        }
        var kept = stored.objectHeaders
        let place = "\(request.base)/\(bucket.escaped)/\(object.object.escaped)"
        kept["Location"] = place
        guard status == 201 else { return HTTPServerResponse(status, headers: kept) }
        let result = XMLElement(
            "PostResponse",
            [
                "Location": place, "Bucket": bucket, "Key": object.object,
                "ETag": stored.entityTag?.description ?? "",
            ])
        return .xml(result.document(namespace: nil), status: status, headers: kept)
    }
}

/// The fields of a form before its file. Each has one value.
private struct FormFields {
    private(set) var all: [(name: String, value: String)] = []

    subscript(name: String) -> String? { all.first { isSameName($0.name, name) }?.value }

    /// What a form may say besides metadata.
    private static let known: Set = [
        "key", "bucket", "policy", "success_action_redirect", "success_action_status", "googleaccessid", "signature",
        "content-type", "cache-control", "content-disposition", "content-encoding", "content-language",
    ]

    mutating func add(_ sent: String, _ bytes: [UInt8]) throws(GatewayError) {
        let name = HTTPServerRequest.googleName(of: sent)
        guard let value = String(validating: bytes, as: UTF8.self) else {
            throw .badRequest("The field \(name) is not UTF-8.")
        }
        try check(name, value)
        guard self[name] == nil else { throw .badRequest("The form has two fields \(name).") }
        all.append((name, value))
    }

    private func check(_ name: String, _ value: String) throws(GatewayError) {
        let lower = name.lowercased()
        if Self.known.contains(lower) || lower.hasPrefix("x-ignore-") { return }
        guard lower == "acl" || lower.hasPrefix("x-amz-") || ObjectHeaders.isKnown(lower) else {
            throw .badRequest("There is no field \(name) in a form.")
        }
        try ObjectHeaders.check(
            lower == "acl" ? "x-goog-acl" : name, value, served: ObjectHeaders.kept.union([ObjectHeaders.custom]))
    }

    /// Without a redirect.
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

/// The bytes of a form's file. Throws 400 where another field follows them.
@Loop private final class FormFile: ByteSource {
    private let reader: MultipartReader
    private let body: HTTPRequestBody
    var policy: FormPolicy?
    private var received: Int64 = 0

    init(_ reader: MultipartReader, _ body: HTTPRequestBody) { (self.reader, self.body) = (reader, body) }

    func mayKeep(_ bytes: Int) -> Bool { body.mayKeep(bytes) }

    func read(atMost count: Int) async throws -> [UInt8] {
        let (bytes, next): ([UInt8], HTTPHeaders?)
        do throws(MultipartReader.Failure) {
            bytes = try await reader.read()
            next = bytes.isEmpty ? try await reader.nextPart() : nil
        } catch {
            throw error.gatewayError
        }
        received += Int64(bytes.count)
        try policy?.check(count: received, isWhole: bytes.isEmpty)
        guard let next else { return bytes }
        throw try GatewayError.badRequest(
            "The field \(ObjectForm.names(of: next).field) follows the file, which must be the last.")
    }
}

extension MetadataChange {
    /// Whether a header, or the field of a form, is about metadata.
    static func takes(_ name: String) -> Bool {
        // A value that is refused is taken, too.
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
                let codings = value.split(separator: ",").map(trimmed).filter { !isSameName($0, "aws-chunked") }
                if !codings.isEmpty || value.isEmpty { content[.contentEncoding] = codings.joined(separator: ",") }
            case "content-language": content[.contentLanguage] = value
            case let other where other.hasPrefix(ObjectHeaders.custom):
                entries[String(other.dropFirst(ObjectHeaders.custom.count))] = .some(value)
            default: break
            }
        }
        if !entries.isEmpty { custom = .merge(entries) }
    }
}
