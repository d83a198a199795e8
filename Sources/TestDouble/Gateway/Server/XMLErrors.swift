import HTTPServer
import HTTPText
import Platform
import Storage

// Errors of Google Cloud Storage's XML API.
extension GatewayError {
    /// An error whose code is not the usual one of the status.
    init(_ status: Int, code: String, _ message: String) {
        self.init(status, message)
        self.code = code
    }

    static func malformedXML(_ why: String) -> GatewayError {
        GatewayError(
            400, code: "MalformedXML", "The XML of the body is not well-formed or not what it must be: \(why).")
    }

    static let noSuchUpload = GatewayError(
        404, code: "NoSuchUpload", "There is no upload with this uploadId: it may be complete, aborted or expired.")

    /// The name of the error for clients of the XML API.
    var xmlCode: String { code ?? Self.codes[status] ?? (status < 500 ? "InvalidRequest" : "InternalError") }

    private static let codes = [
        400: "InvalidArgument", 401: "AuthenticationRequired", 403: "AccessDenied", 404: "NoSuchKey",
        405: "MethodNotAllowed", 408: "RequestTimeout", 409: "OperationAborted", 411: "MissingContentLength",
        412: "PreconditionFailed", 413: "EntityTooLarge", 416: "InvalidRange", 501: "NotImplemented",
        503: "ServiceUnavailable",
    ]

    /// The code for an error of the engine; nil for the usual code of the status.
    static func xmlCode(of error: StorageError) -> String? {
        switch error.code {
        case .bucketNotFound: "NoSuchBucket"
        case .nonMatchingChecksum: "BadDigest"
        case .objectNotFound where error.httpStatus == nil: "NoSuchKey"
        case .invalidArgument where error.param == "bucket": "InvalidBucketName"
        default: nil
        }
    }

    /// The answer of the XML API. Amazon S3 names the condition that does not hold.
    func xmlResponse(to request: HTTPServerRequest) -> HTTPServerResponse {
        if dropsConnection { return .dropped }
        if status == 304 { return HTTPServerResponse(304, headers: headers) }
        let condition = status == 412 ? ["If-None-Match", "If-Match"].first { request.headers[$0] != nil } : nil
        // The words of Google's servers, which are those of Amazon's, too.
        let isAboutMissingObject = code == "NoSuchKey"
        let error = XMLElement(
            "Error",
            [
                "Code": xmlCode, "Message": isAboutMissingObject ? "The specified key does not exist." : message,
                "Details": isAboutMissingObject ? message : nil, "Condition": condition,
            ])
        return .xml(error.document(namespace: nil), status: status, headers: headers)
    }
}

extension HTTPServerResponse {
    static func xml(_ document: [UInt8], status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPServerResponse {
        var headers = headers
        headers["Content-Type"] = "application/xml; charset=UTF-8"
        return HTTPServerResponse(status, headers: headers, body: .bytes(document))
    }
}

extension GatewayRequest {
    /// The root of a body that is XML. Throws 400 for another name, and 413 for more bytes.
    @Loop func xmlBody(_ root: String, atMost limit: Int) async throws -> XMLElement {
        try XMLElement.root(of: await body.readAll(atMost: limit), named: root)
    }
}

extension XMLElement {
    /// Throws 400 where the bytes are no document with this root.
    static func root(of bytes: [UInt8], named root: String) throws(GatewayError) -> XMLElement {
        let element: XMLElement
        do { element = try XMLReader.root(of: bytes) } catch { throw .malformedXML(error.why) }
        guard element.name == root else {
            throw .malformedXML("its root is \(element.name.prefix(200)), not \(root)")
        }
        return element
    }

    /// The texts of the children by name. Throws 501 for a child of another name, and 400 for two of the same.
    func members(_ names: Set<String>) throws(GatewayError) -> [String: String] {
        var members: [String: String] = [:]
        for child in children {
            guard names.contains(child.name), child.children.isEmpty else {
                throw GatewayError(501, "The element \(child.name.prefix(200)) of \(name) is not served here.")
            }
            guard members.updateValue(child.text, forKey: child.name) == nil else {
                throw .malformedXML("\(name) has two elements \(child.name)")
            }
        }
        return members
    }
}
