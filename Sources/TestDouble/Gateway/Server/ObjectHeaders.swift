import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// The headers of Google Cloud Storage's XML API that have a meaning. A header that no row serves is refused by name.
enum ObjectHeaders {
    static let conditions: Set = ["x-goog-if-generation-match", "x-goog-if-metageneration-match"]
    static let source = "x-goog-copy-source"
    static let copy: Set = [
        source, "x-goog-copy-source-generation", "x-goog-copy-source-if-generation-match",
        "x-goog-copy-source-if-metageneration-match", "x-goog-copy-source-if-match",
        "x-goog-copy-source-if-none-match", "x-goog-copy-source-if-modified-since",
        "x-goog-copy-source-if-unmodified-since", "x-goog-metadata-directive",
    ]
    /// The headers of an answer about an object that clients send back with a copy of it. They are compared.
    static let answered: Set = [
        "x-goog-generation", "x-goog-metageneration", "x-goog-hash", "x-goog-stored-content-encoding",
        "x-goog-stored-content-length",
    ]
    /// The name of the checksum that the request has.
    static let namedChecksum = "x-amz-sdk-checksum-algorithm"
    /// The size of all parts together.
    static let sizeOfParts = "x-amz-mp-object-size"
    /// The headers about a body with bytes that clients of Amazon S3 send.
    static let bytes = BodyChecksums.amazonHeaders.union(["x-amz-decoded-content-length", "x-amz-trailer"])
    /// The headers of a request that copies a part.
    static let partCopy = copy.subtracting(["x-goog-metadata-directive"]).union(["x-amz-copy-source-range"])
    static let customTime = "x-goog-custom-time"
    static let storageClass = "x-goog-storage-class"
    /// Properties of an object besides its metadata.
    static let kept: Set = [customTime, storageClass]
    static let put: Set = conditions.union(copy).union(kept).union(["x-goog-hash"])
    static let custom = "x-goog-meta-"

    /// The headers that identify a client, or sign a request.
    fileprivate static let harmless: Set = [
        "x-goog-algorithm", "x-goog-api-client", "x-goog-api-key", "x-goog-authenticated-user-email",
        "x-goog-authuser", "x-goog-content-sha256", "x-goog-credential", "x-goog-date",
        "x-goog-gcs-idempotency-token", "x-goog-iam-authorization-token", "x-goog-iam-authority-selector",
        "x-goog-project-id", "x-goog-request-params", "x-goog-request-reason", "x-goog-security-token",
        "x-goog-signature", "x-goog-user-project", "x-goog-visibilities", "x-amz-algorithm", "x-amz-content-sha256",
        "x-amz-credential", "x-amz-date", "x-amz-signature",
        "x-amz-security-token", "x-amz-user-agent",
        namedChecksum,
    ]
    /// The values of headers that change nothing.
    fileprivate static let harmlessValues: [String: Set<String>] = [
        "x-goog-api-version": ["1", "2"],
        "x-goog-acl": ["private", "project-private", "bucket-owner-read", "bucket-owner-full-control"],
        "x-goog-storage-class": ["standard"], "x-amz-api-version": ["2006-03-01"],
        "x-amz-bucket-object-lock-enabled": ["false"], "x-amz-object-ownership": ["bucketownerenforced"],
        "x-amz-expected-bucket-owner": [StoredBucket.projectNumber],
        "x-amz-source-expected-bucket-owner": [StoredBucket.projectNumber], "x-amz-request-payer": ["requester"],
        "x-amz-server-side-encryption": ["aes256"], "x-amz-server-side-encryption-bucket-key-enabled": ["false"],
        "x-amz-tagging-directive": ["copy"],
        "x-amz-checksum-mode": ["enabled"],
        // No object is retained.
        "x-amz-bypass-governance-retention": ["true", "false"],
    ]
    /// The headers with checksums that are not compared.
    fileprivate static let checksums: Set = ["content-digest", "digest", "repr-digest"]
    /// The headers with conditions on reading.
    fileprivate static let validators: Set = [
        "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]

    /// The headers that set properties of an object at its own URL, or are conditions for storing it.
    private static let properties: Set = [
        "x-goog-acl", "x-goog-content-length-range", "x-goog-custom-time", "x-goog-metadata-directive",
        "x-goog-resumable", "x-goog-storage-class", "x-goog-tagging",
    ]

    /// Whether the header is a checksum that is not compared.
    static func isAboutBytes(_ name: String) -> Bool { checksums.contains(name) || isAmazonChecksum(name) }

    fileprivate static func isAmazonChecksum(_ name: String) -> Bool {
        name.hasPrefix("x-amz-checksum-") || name == "x-amz-trailer"
    }

    /// The headers of requests at an object's own URL, or of its bytes, that a part of a body does not have.
    private static let ofRequests = validators.union([
        "cache-control", "content-language", "content-range", "expires", "transfer-encoding", "x-http-method-override",
    ])

    /// Whether the header would have a meaning for the part of a body.
    static func isUnservedInPart(_ name: String, _ value: String) -> Bool {
        if isAboutBytes(name) || ofRequests.contains(name) || BodyChecksums.isSHA256(name, value) { return true }
        if name == "content-disposition" { return !value.lowercased().hasPrefix("form-data") }
        return isOfAPI(name) && name != "x-goog-hash" && !isHarmless(name, value)
    }

    /// Whether the header has a meaning for the bytes before it, or for their object.
    static func isUnservedTrailer(_ name: String) -> Bool {
        isAboutBytes(name) || isOfAPI(name) || name == "content-md5"
    }

    /// Whether Google or Amazon may give the name a meaning.
    static func isOfAPI(_ name: String) -> Bool { ["x-goog-", "x-amz-", "x-upload-"].contains(where: name.hasPrefix) }

    fileprivate static func isHarmless(_ name: String, _ value: String) -> Bool {
        harmless.contains(name) || name.hasPrefix("x-goog-custom-audit-")
            || harmlessValues[name]?.contains(value.lowercased()) == true
    }

    /// Whether the header of a request about an upload in parts repeats what the start has said of the object.
    static func isRepeated(_ name: String, _ value: String) -> Bool {
        switch name.lowercased() {
        // Bytes in the coding of Amazon S3 are stored without it.
        case "content-encoding": !["identity", "aws-chunked"].contains(value.lowercased())
        case "content-disposition", "content-language", "expires": true
        case let lower: kept.contains(lower) || lower.hasPrefix(custom)
        }
    }

    /// Whether Google gives the name a meaning.
    static func isKnown(_ name: String) -> Bool {
        harmless.contains(name) || put.contains(name) || properties.contains(name) || name.hasPrefix(custom)
            || name.hasPrefix("x-goog-object-lock-") || name.hasPrefix("x-goog-encryption-")
            || name.hasPrefix("x-goog-copy-source-")
    }

    /// Throws 501 for a header, or a field of a form, that has a meaning and is not served.
    static func check(_ name: String, _ value: String, served: Set<String>) throws(GatewayError) {
        let lower = name.lowercased()
        guard isOfAPI(lower), !served.contains(lower) else { return }
        // The body would be in a coding of its own.
        let isCoded =
            lower.hasSuffix("content-sha256") && value.hasPrefix("STREAMING-") && !served.isSuperset(of: bytes)
        if isHarmless(lower, value), !isCoded { return }
        if lower.hasPrefix(custom), served.contains(custom) { return }
        throw GatewayError(501, "\(name) is not served here\(isCoded ? " as \(value)" : "").")
    }
}

extension GatewayRequest {
    /// Throws 501 for a key to encrypt the object with.
    func checkKeys() throws(GatewayError) {
        for field in http.headers.fields {
            let name = field.name.lowercased()
            guard name.hasPrefix("x-goog-encryption-") || name.hasPrefix("x-goog-copy-source-encryption-") else {
                continue
            }
            throw GatewayError(501, "This gateway encrypts no objects, so it refuses \(field.name).")
        }
    }

    /// Whether the body is in the coding `aws-chunked`.
    var isChunkedByAmazon: Bool { header("x-amz-content-sha256")?.hasPrefix("STREAMING-") == true }

    /// Throws 501 for a condition, a source, a property, a checksum or a coding that the row does not serve, and 400 for
    /// the name of a checksum that the request does not have.
    func checkHeaders(_ route: Route) throws(GatewayError) {
        for field in http.headers.fields {
            if target.api == .xml { try ObjectHeaders.check(field.name, field.value, served: route.headers) }
            guard isUnserved(field.name.lowercased(), field.value, route) else { continue }
            throw GatewayError(501, "The header \(field.name) is not served here.")
        }
        if !isRead, target.api == .xml, let name = header(ObjectHeaders.namedChecksum) {
            let sum = "x-amz-checksum-\(name.lowercased())"
            guard header(sum) != nil || http.headers.list("x-amz-trailer").contains(where: { isSameName($0, sum) })
            else {
                throw GatewayError(
                    400, code: "InvalidRequest",
                    "\(ObjectHeaders.namedChecksum) is \(name.prefix(200)), but there is no \(sum.prefix(200)).")
            }
        }
        // At its own URL an object is stored with the coding that the header names, as the bytes have it already.
        guard !isRead, target.api == .xml, !(route.allowsAmazonChunks && isChunkedByAmazon),
            http.headers.list("Content-Encoding").contains(where: { $0.lowercased() == "aws-chunked" })
        else { return }
        throw GatewayError(501, "A body with the Content-Encoding aws-chunked is not served here.")
    }

    private func isUnserved(_ name: String, _ value: String, _ route: Route) -> Bool {
        let isJSON = target.api != .xml
        if ObjectHeaders.validators.contains(name) { return !route.comparesTags || isJSON && !isRead }
        if isJSON, name.hasPrefix("x-goog-") {
            return name != "x-goog-upload-protocol" && !route.headers.contains(name)
                && !ObjectHeaders.isHarmless(name, value)
        }
        return !isRead && isUnservedWrite(name, value, route)
    }

    private func isUnservedWrite(_ name: String, _ value: String, _ route: Route) -> Bool {
        let isJSON = target.api != .xml
        return switch name {
        case "content-range": !route.headers.contains(name) || isJSON && self["upload_id"] == nil
        case "x-goog-hash": !route.headers.contains(name)
        case "x-http-method-override": value.uppercased() != http.method.rawValue
        case "trailer":
            http.headers.list("Trailer").contains { ObjectHeaders.isUnservedTrailer($0.lowercased()) }
        // The URL of an object takes its properties from headers.
        case "expires": !isJSON && !route.takesProperties
        case "content-disposition", "content-language": isJSON || !route.takesProperties
        // A client of the JSON API compresses the body, which is unpacked before.
        case "content-encoding": !isJSON && !route.takesProperties && value.lowercased() != "identity"
        case _ where name.hasPrefix("x-upload-"): !route.headers.contains(name)
        default:
            ObjectHeaders.checksums.contains(name)
                || isJSON && name.hasPrefix("x-amz-") && !ObjectHeaders.isHarmless(name, value)
        }
    }
}

// Google Cloud Storage takes requests of Amazon S3 at `/BUCKET/NAME`: most of its headers have a twin.
extension HTTPServerRequest {
    /// The headers of Amazon S3 that mean what a header of Google does, without `x-amz-`.
    private static let twins: Set = [
        "acl", "storage-class", "metadata-directive", "copy-source", "copy-source-if-match",
        "copy-source-if-none-match", "copy-source-if-modified-since", "copy-source-if-unmodified-since",
    ]

    /// The name that Google has for a header of Amazon S3 with a twin; any other name stays.
    static func googleName(of name: String) -> String {
        let lower = name.lowercased()
        guard lower.hasPrefix("x-amz-"), case let rest = lower.dropFirst(6),
            twins.contains(String(rest)) || rest.hasPrefix("meta-")
        else { return name }
        // Keys of metadata keep their letters.
        return "x-goog-\(name.dropFirst(6))"
    }

    /// The request with Google's names of the headers.
    var withGoogleHeaders: HTTPServerRequest {
        var request = self
        request.headers = HTTPHeaders(headers.fields.map { .init(Self.googleName(of: $0.name), $0.value) })
        return request
    }
}
