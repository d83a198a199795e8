import HTTPServer
import HTTPText
import Platform

// Clients of Google compress the bodies of requests, and send methods that proxies might refuse, and long queries, as a
// POST. The handlers get the request that is meant. In the XML API a coding is a property of the object.
extension GatewayRequest {
    private static let mostFormBytes = 64 << 10

    /// Throws 501 for a method or a coding that is not served.
    @Loop func decoded() async throws -> GatewayRequest {
        try await unpacked().overridden()
    }

    @Loop private func unpacked() throws(GatewayError) -> GatewayRequest {
        let codings = http.headers.list("Content-Encoding").map { $0.lowercased() }.filter { $0 != "identity" }
        guard !isRead, !codings.isEmpty else { return self }
        guard codings == ["gzip"] else {
            let names = codings.joined(separator: ", ")
            throw GatewayError(501, "A body with the Content-Encoding \(names) is not served here.")
        }
        guard let body = HTTPRequestBody(unpacking: body) else {
            throw GatewayError(501, "A body with the Content-Encoding gzip needs zlib, which is not here.")
        }
        return try GatewayRequest(http, body, at: target)
    }

    /// The request with the method that its header names, and with a long query, which is a form in the body.
    @Loop private func overridden() async throws -> GatewayRequest {
        guard let name = header("X-HTTP-Method-Override"), name.uppercased() != http.method.rawValue else {
            return self
        }
        guard http.method == .post || http.method == .put,
            let method = HTTPServerRequest.Method(rawValue: name.uppercased()),
            method != .options
        else {
            throw GatewayError(501, "X-HTTP-Method-Override is not served here as \(name.prefix(200)).")
        }
        var http = http
        http.method = method
        guard method == .get || method == .head else { return try GatewayRequest(http, body) }
        let form = try await body.readAll(atMost: Self.mostFormBytes)
        guard !form.isEmpty else { return try GatewayRequest(http, .empty) }
        let type = header("Content-Type")?.prefix { $0 != ";" }.lowercased() ?? ""
        guard type == "application/x-www-form-urlencoded", let text = String(validating: form, as: UTF8.self) else {
            throw GatewayError.badRequest("The body of a \(method.rawValue) must be the form of its query.")
        }
        http.query = [http.query, text].compactMap { $0 }.joined(separator: "&")
        return try GatewayRequest(http, .empty)
    }
}
