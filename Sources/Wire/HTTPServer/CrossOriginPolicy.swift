import HTTPText

/// Lets web pages of accepted origins use the server (the CORS protocol of the Fetch standard). It does not allow
/// credentials, such as cookies.
package struct CrossOriginPolicy: Sendable {
    package var origins: AcceptedOrigins
    package var methods: [HTTPServerRequest.Method]
    /// The headers of answers that pages may read, besides the few that they always may.
    package var exposedHeaders: [String]
    /// The time that browsers remember a preflight, in seconds.
    package var maxAge: Int

    package init(
        _ origins: AcceptedOrigins, methods: [HTTPServerRequest.Method], exposedHeaders: [String] = [],
        maxAge: Int = 3600
    ) {
        (self.origins, self.methods, self.exposedHeaders, self.maxAge) = (origins, methods, exposedHeaders, maxAge)
    }

    /// The headers of the answer to a preflight, which has the status 204. An accepted origin may send all headers that
    /// it asks for.
    package func preflightHeaders(_ request: HTTPHeaders) -> HTTPHeaders {
        var answer = originHeaders(request)
        guard answer["Access-Control-Allow-Origin"] != nil else { return answer }
        answer.add("Access-Control-Allow-Methods", methods.map(\.rawValue).joined(separator: ", "))
        let requested = request.list("Access-Control-Request-Headers").filter { isToken($0.utf8) }
        if !requested.isEmpty { answer.add("Access-Control-Allow-Headers", requested.joined(separator: ", ")) }
        if isSameName(request["Access-Control-Request-Private-Network"] ?? "", "true") {
            answer.add("Access-Control-Allow-Private-Network", "true")
        }
        answer.add("Access-Control-Max-Age", "\(maxAge)")
        return answer
    }

    /// The headers to add to every other answer.
    package func answerHeaders(_ request: HTTPHeaders) -> HTTPHeaders {
        var answer = originHeaders(request)
        if answer["Access-Control-Allow-Origin"] != nil, !exposedHeaders.isEmpty {
            answer.add("Access-Control-Expose-Headers", exposedHeaders.joined(separator: ", "))
        }
        return answer
    }

    /// The headers about the origin. An answer without an origin has Vary, too, because caches keep it.
    private func originHeaders(_ request: HTTPHeaders) -> HTTPHeaders {
        guard let origin = origins.allowed(request) else { return ["Vary": "Origin"] }
        return ["Access-Control-Allow-Origin": origin, "Vary": "Origin"]
    }
}
