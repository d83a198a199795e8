import HTTPServer
import HTTPText
import JSONText
import Storage

/// A request of an SDK, with its decoded path and query. A class, since what answers a request passes it on often.
final class GatewayRequest: Sendable {
    let http: HTTPServerRequest
    let target: RequestTarget
    let body: HTTPRequestBody
    /// The values of the query's params without those that stand for headers; nil without an equals sign.
    let params: [String: String?]
    /// The lengths of the params' names, as bits. Few names that are looked up have one of them.
    private let lengths: UInt64

    /// Throws 400 where a header is not UTF-8, the path or the query is not percent-encoded UTF-8, or a param has two
    /// values.
    init(
        _ sent: HTTPServerRequest, _ body: HTTPRequestBody, at target: RequestTarget? = nil
    ) throws(GatewayError) {
        (self.target, self.body) = (target ?? RequestTarget(sent), body)
        var http = self.target.api == .xml ? sent.withGoogleHeaders : sent
        if let name = http.unreadableHeader { throw .badRequest("The value of the header \(name) is not UTF-8.") }
        if let flaw = self.target.flaw { throw flaw }
        var params: [String: String?] = [:]
        for item in http.queryItems {
            guard let name = item.name else { throw .badRequest("The query is not UTF-8: \(item.rawName)") }
            guard item.rawValue == nil || item.value != nil else {
                throw .badRequest("The value of \(name) is not UTF-8.")
            }
            // Each value names another permission.
            if name == "permissions" {
                params[name] = item.value
            } else if let other = params.updateValue(item.value, forKey: name), other != item.value {
                throw .badRequest("The param \(name) has two values.")
            }
        }
        if self.target.api == .xml {
            for (name, value) in params.sorted(by: { $0.key < $1.key }) where QueryParams.isHeader(name) {
                http.headers.add(HTTPServerRequest.googleName(of: name), value ?? "")
                params[name] = nil
            }
        }
        (self.params, self.http) = (params, http)
        lengths = params.keys.reduce(0) { $0 | Self.lengthBit($1) }
        try http.headers.checkRepetitions()
    }

    /// The value of a param; nil where it is absent or empty.
    subscript(name: String) -> String? {
        guard mayHave(name), let value = params[name] ?? nil, !value.isEmpty else { return nil }
        return value
    }

    /// Whether the query has the param, with a value or without.
    func has(_ name: String) -> Bool { mayHave(name) && params[name] != nil }

    private func mayHave(_ name: String) -> Bool { lengths & Self.lengthBit(name) != 0 }

    private static func lengthBit(_ name: String) -> UInt64 { 1 << UInt64(name.utf8.count & 63) }

    var isRead: Bool { http.isRead }

    func header(_ name: String) -> String? { http.headers[name] }

    /// The start of URLs in answers. A proxy tells whether its clients use TLS.
    var base: String {
        let isSecure = http.headers.list("X-Forwarded-Proto").first?.lowercased() == "https"
        return "\(isSecure ? "https" : "http")://\(header("Host") ?? "localhost")"
    }

    /// The URL of an object in the XML API.
    func url(of object: Reference) -> String { "\(base)/\(object.bucket.escaped)/\(object.object.escaped)" }

    /// The number of entries that the param allows a page to have, up to `most`. Throws 400 where it must be positive
    /// and is not.
    func pageSize(
        _ param: String, atMost most: Int64 = 1000, isPositive: Bool = true
    ) throws(GatewayError) -> Int {
        let size = try integer(param) ?? most
        guard size > 0 || !isPositive else { throw .badRequest("\(param) is at least 1.") }
        return Int(min(size, most))
    }

    /// A number of the query. Throws 400 for another text.
    func integer(_ name: String) throws(GatewayError) -> Int64? {
        try number(self[name], name)
    }

    /// A number of a header. Throws 400 for another text.
    func length(_ header: String) throws(GatewayError) -> Int64? {
        try number(self.header(header), header)
    }

    private func number(_ text: String?, _ name: String) throws(GatewayError) -> Int64? {
        guard let text else { return nil }
        guard let value = Int64(digits: text) else { throw .badRequest("\(name) is no number: \(text)") }
        return value
    }

    /// Throws 412 or 304 where `If-Match` or `If-None-Match` does not hold for the `etag` of a resource. Clients of
    /// Google leave out the quotation marks.
    func checkTags(_ tag: String) throws(GatewayError) {
        func names(_ header: String, isWeak: Bool) -> Bool? {
            guard self.header(header) != nil else { return nil }
            return http.headers.list(header).contains { text in
                let other = isWeak && text.hasPrefix("W/") ? text.dropFirst(2) : text
                return text == "*" || other == tag || other == "\"\(tag)\""
            }
        }
        if names("If-Match", isWeak: false) == false { throw GatewayError(412, "The object has the etag \(tag).") }
        guard names("If-None-Match", isWeak: true) == true else { return }
        var notModified = GatewayError(304, "Not Modified")
        notModified.headers["ETag"] = tag
        throw notModified
    }

    /// The preconditions for the object that the request is about.
    func preconditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            generation: try integer("ifGenerationMatch"), metageneration: try integer("ifMetagenerationMatch"),
            notGeneration: try integer("ifGenerationNotMatch"),
            notMetageneration: try integer("ifMetagenerationNotMatch"), named: try integer("generation"))
    }

    /// The preconditions for the source of a copy or a move.
    func sourcePreconditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            generation: try integer("ifSourceGenerationMatch"),
            metageneration: try integer("ifSourceMetagenerationMatch"),
            notGeneration: try integer("ifSourceGenerationNotMatch"),
            notMetageneration: try integer("ifSourceMetagenerationNotMatch"), named: try integer("sourceGeneration"))
    }
}

extension HTTPHeaders {
    /// The headers that may have one value only, besides those of the APIs.
    private static let single: Set = [
        "authorization", "cache-control", "content-disposition", "content-encoding", "content-language",
        "content-length", "content-md5", "content-range", "content-type", "if-modified-since", "if-range",
        "if-unmodified-since", "range", "x-forwarded-proto", "x-http-method-override",
    ]

    /// Throws 400 for a header of a request, or of a part of a body, with two values that may have one only.
    func checkRepetitions() throws(GatewayError) {
        for (index, field) in fields.enumerated() {
            let isRepeated = fields[..<index].contains { isSameName($0.name, field.name) && $0.value != field.value }
            if isRepeated, Self.hasOneValue(field.name.lowercased()) {
                throw .badRequest("The header \(field.name) has two values.")
            }
        }
    }

    private static func hasOneValue(_ name: String) -> Bool {
        if name == "x-goog-hash" || name == "x-goog-api-client" { return false }
        return single.contains(name) || ObjectHeaders.isOfAPI(name)
    }
}

extension Preconditions {
    /// Throws 412 where a value that must match does not, and 304 where a value matches that must not.
    func checkReading(_ object: ObjectMetadata) throws { try checkReading(object.version, at: object.reference) }

    func checkReading(_ version: ObjectVersion, at reference: Reference) throws {
        var matching = self
        (matching.notGeneration, matching.notMetageneration) = (nil, nil)
        try matching.check(version, at: reference)
        if notGeneration == version.generation || notMetageneration == version.metageneration {
            throw GatewayError(304, "Not Modified")
        }
    }
}

extension JSON {
    /// Throws 400 unless the bytes are a JSON object without repeated names; no bytes, and null, are an empty one.
    static func object(_ bytes: [UInt8]) throws(GatewayError) -> JSON {
        if bytes.isEmpty { return [:] }
        var repeatsName = false
        guard let json = JSON(wire: bytes, repeatsName: &repeatsName), json.isNull || json.object != nil else {
            throw .badRequest("The metadata is no JSON object.")
        }
        if repeatsName, let name = json.repeatedName {
            throw .badRequest("The member \(name.joined(separator: ".").prefix(200)) occurs twice.")
        }
        return json.isNull ? [:] : json
    }
}

extension GatewayError {
    /// The error for a path of an API that has no row in the table.
    static func noRoute(_ request: GatewayRequest) -> GatewayError {
        let path = request.http.path
        return GatewayError(404, "There is no \(request.http.method.rawValue) \(path.prefix(200)) here.")
    }
}
