import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

/// The protocol of Amazon S3, as its servers agree on it: signatures of version 4, bodies verified by `Content-MD5`,
/// uploads in parts, and a mark of this engine in the metadata of each object (`S3Mark`).
///
/// Servers ignore conditions and the headers `x-amz-checksum-…` that they do not know, so nothing relies on them.
struct S3Dialect: Dialect {
    let authorization: [Token.Kind] = [.accessKey]
    let takesAppCheck = false
    let bindsWrites = false
    let marksWrites = true
    let signIn = "auth/setToken, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or a profile of ~/.aws/credentials"
    let endpoint: Endpoint
    let signer: S3Signer
    let library: CryptoLibrary
    /// In bytes: larger objects are copied in parts.
    let largestCopy: Int64

    func authorize(_ request: inout HTTPRequest, with tokens: [Token], userProject: String?) {
        request.url = signer.located(request.url)
        signer.adapt(&request)
        guard let key = tokens.compactMap(\.accessKey).first else { return }
        signer.sign(&request, with: key)
    }

    /// A response to HEAD has no body, and does not say why the request is refused.
    func refusesToken(_ response: HTTPResponse) -> Bool {
        response.status == 401 || S3Error(response)?.isAboutKey == true
    }

    func adapts(to response: HTTPResponse, of request: RemoteRequest, at url: String) -> Bool {
        signer.adapts(to: response, S3Error(response)?.code, of: request, at: url)
    }

    func checksConditions(in bucket: String) -> Bool { signer.checksConditions(at: url(of: bucket)) }

    func knowsBucket(_ name: String) -> Bool { signer.knowsBucket(at: url(of: name)) }

    func url(of bucket: String) -> String {
        let url = self.bucket(bucket)
        return url.hasPrefix("/") ? endpoint.url + url : url
    }

    var writeTime: Timestamp? { signer.time }

    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest {
        RemoteRequest(method: "HEAD", target: target(reference))
    }

    func metadata(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> ObjectMetadata {
        guard let size = response.headers["Content-Length"].flatMap({ Int64(digits: $0) }) else {
            throw GarbledAnswer("no size")
        }
        return try metadata(in: response.headers, of: reference, size: size)
    }

    /// An object has the headers of the request that has written it.
    func metadata(
        writtenBy request: RemoteRequest, _ response: HTTPResponse, of reference: Reference, size: Int64?
    ) throws(GarbledAnswer) -> ObjectMetadata {
        var headers = request.headers
        headers["ETag"] = response.headers["ETag"] ?? XMLElement(answer: response)?["ETag"]
        return try metadata(in: headers, of: reference, size: size ?? request.body.count)
    }

    func isNewer(_ object: ObjectMetadata, than other: ObjectMetadata) -> Bool { object.generation > other.generation }

    /// A service of S3 changes metadata by a copy of the object onto itself, which replaces all of it.
    func update(
        _ reference: Reference, _ change: MetadataChange, of object: ObjectMetadata?, if conditions: Preconditions
    ) throws(StorageError) -> RemoteRequest? {
        guard let object else { return nil }
        guard object.size <= largestCopy else {
            throw .invalidArgument(
                "metadata",
                "The metadata of an object of more than \(largestCopy) bytes cannot be changed at S3, except by a copy to "
                    + "another name.")
        }
        guard object.keptHeaders[Self.tagCount] == nil else {
            throw .invalidArgument(
                "metadata", "The object has tags, which the server, a Ceph, removes with each change of metadata.")
        }
        var settable = object.settable
        try settable.apply(change)
        try check(settable)
        let mark = S3Mark(changing: object, at: signer.time, by: object.writeID ?? "")
        var request = copyRequest(of: object, to: reference, settable, mark)
        for field in object.keptHeaders.fields { request.headers.add(field.name, field.value) }
        return request
    }

    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest {
        RemoteRequest(method: "DELETE", target: target(reference))
    }

    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest? { nil }

    func checkDeleted(in response: HTTPResponse) throws(GarbledAnswer) {
        guard [200, 204].contains(response.status), response.body.isEmpty else {
            throw GarbledAnswer("a text about something else than a deletion")
        }
    }

    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    {
        var request = RemoteRequest.media(target(reference), isGzip: false, from: offset, to: end)
        // The service sends the bytes as they are stored.
        request.headers["Accept-Encoding"] = nil
        return request
    }

    var describesMedia: Bool { true }

    func metadata(ofMedia headers: HTTPHeaders, of reference: Reference) -> ObjectMetadata? {
        let size =
            headers["Content-Range"].map { ContentRange($0)?.size }
            ?? headers["Content-Length"].map(Int64.init(digits:))
        return (size ?? nil).flatMap { try? metadata(in: headers, of: reference, size: $0) }
    }

    func description(in headers: HTTPHeaders, of reference: Reference) -> MediaDescription {
        metadata(ofMedia: headers, of: reference).map { MediaDescription($0) } ?? MediaDescription()
    }

    func error(in response: HTTPResponse) -> ServerError {
        guard let error = S3Error(response) else { return ServerError() }
        return ServerError(
            message: error.message, isMissingBucket: error.code == "NoSuchBucket",
            isMissingObject: error.code == "NoSuchKey", isPassing: error.isPassing,
            isAboutCaller: error.isAboutKey || error.code == "SignatureDoesNotMatch",
            isAboutClock: error.code == "RequestTimeTooSkewed",
            isWrongChecksum: ["BadDigest", "XAmzContentSHA256Mismatch"].contains(error.code))
    }

    var links: Links { .presigned(self) }
    var sessions: Sessions { .parts(self) }
    var copies: (any CopyDialect)? { self }

    // MARK: Targets

    func target(_ reference: Reference) -> String {
        "\(bucket(reference.bucket))/\(reference.object.escaped(keepsSlashes: true))"
    }

    /// The path of a bucket.
    func bucket(_ name: String) -> String { endpoint.bucketURL(name) ?? "/\(name.escaped)" }
}

extension S3Dialect: PresigningDialect {
    /// In seconds: a week.
    var longestLifetime: Int64 { 604_800 }

    func downloadURL(of reference: Reference, signedWith token: Token, lifetime: Int64) -> String? {
        let target = target(reference)
        return token.accessKey.map {
            let url = target.hasPrefix("/") ? endpoint.url + target : target
            return signer.presigned(signer.located(url), with: $0, lifetime: lifetime)
        }
    }
}

/// An error of S3, by its code. Some servers leave the message empty, and proxies answer with HTML.
struct S3Error {
    let code: String
    let message: String?

    /// The error of a refusal; nil for any other response.
    init?(_ response: HTTPResponse) {
        guard response.status >= 300 else { return nil }
        self.init(in: response)
    }

    /// The error in a response with any status.
    init?(in response: HTTPResponse) {
        guard let element = XMLElement(answer: response), element.name == "Error", let code = element["Code"] else {
            return nil
        }
        self.code = code
        let message = element["Message"] ?? ""
        self.message = message.isEmpty ? code : "\(code): \(message)"
    }

    var isAboutKey: Bool {
        ["ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId"].contains(code)
    }

    /// The server has read the request, and has not begun to carry it out.
    var isAboutRequest: Bool {
        isAboutKey
            || [
                "InvalidPart", "InvalidPartOrder", "EntityTooSmall", "EntityTooLarge", "InvalidRequest",
                "InvalidArgument", "MalformedXML", "BadDigest", "InvalidDigest", "AccessDenied",
                "SignatureDoesNotMatch", "RequestTimeTooSkewed", "PreconditionFailed", "QuotaExceeded",
            ].contains(code)
    }

    var isPassing: Bool {
        [
            "SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "IncompleteBody", "OperationAborted",
            "ConditionalRequestConflict",
        ].contains(code)
    }
}

extension XMLElement {
    /// The root of a small XML document; nil if the body is none. Ceph writes names with characters that XML does not have
    /// where it does not escape them: in page tokens, and in answers about one upload.
    init?(answer response: HTTPResponse) {
        guard response.body.first(where: { $0 > 0x20 }) == UInt8(ascii: "<") else { return nil }
        let body = response.body.drop { $0 <= 0x20 }
        guard let root = try? XMLReader.root(of: Array(body), takesAllCharacters: true) else { return nil }
        self = root
    }
}
