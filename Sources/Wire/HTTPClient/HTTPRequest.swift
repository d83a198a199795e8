import HTTPText

/// One request, sent unchanged: no redirects, no `Expect`, no compression.
package struct HTTPRequest: Sendable {
    package var method: String
    /// An absolute, escaped `http` or `https` URL. Dots in its path are not resolved.
    package var url: String
    /// `Content-Length`, `Transfer-Encoding` and `Expect` are refused, since the client sets them.
    package var headers: HTTPHeaders
    package var body: HTTPBody
    /// Receives the response body if it accepts the header. Otherwise the body is held in memory.
    package var sink: (any HTTPBodySink)?
    package var limits: HTTPLimits
    /// Fails instead of resending if a reused connection closes before the response: for requests that are not
    /// idempotent.
    package var isSentOnce = false
    /// Called on the transfer thread with the number of body bytes sent so far. It must not block. The number decreases
    /// when the body is resent on another connection.
    package var onSent: (@Sendable (Int64) -> Void)?

    package init(
        _ method: String, _ url: String, headers: HTTPHeaders = [:], body: HTTPBody = .none,
        sink: (any HTTPBodySink)? = nil, limits: HTTPLimits = HTTPLimits()
    ) {
        (self.method, self.url, self.headers, self.body, self.sink) = (method, url, headers, body, sink)
        self.limits = limits
    }
}

package struct HTTPLimits: Sendable, Equatable {
    /// The limit of name resolution, connection and TLS, without the wait for a free connection.
    package var connect: Duration = .seconds(15)
    /// The limit of the time without a transferred byte, while neither the source nor the sink waits.
    package var stall: Duration = .seconds(30)
    /// The limit from the end of the request to the start of the response, and then of a response that is held in
    /// memory.
    package var answer: Duration = .seconds(120)
    /// The limit of everything, including the wait for a connection.
    package var total: Duration?
    /// The maximum size of a response body in memory, in bytes.
    package var answerBytes = 1 << 20

    package init() {}
}

extension HTTPRequest {
    /// What is wrong with the request, without any header value; nil if nothing is.
    var flaw: HTTPError.Kind? {
        guard isURLSound else { return .badURL }
        guard isToken(method.utf8) else { return .badRequest("the method is not a token") }
        for field in headers.fields {
            guard isToken(field.name.utf8) else { return .badRequest("a header's name is not a token") }
            guard !field.value.utf8.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
                return .badRequest("the header \(field.name) has a line break or a NUL in it")
            }
            if ["Content-Length", "Transfer-Encoding", "Expect"].contains(where: { isSameName($0, field.name) }) {
                return .badRequest("the header \(field.name) is not the caller's to set")
            }
        }
        return nil
    }

    /// The host and port, for error messages.
    var host: String {
        let rest = url.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        let authority = rest.prefix { ![UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
        return String(decoding: host ?? authority, as: UTF8.self)
    }

    private var isURLSound: Bool {
        let lowered = url.prefix(8).lowercased()
        guard lowered.hasPrefix("http://") || lowered.hasPrefix("https://") else { return false }
        return url.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !host.isEmpty
    }
}

/// A server's response with any status.
package struct HTTPResponse: Sendable, Equatable {
    package var status: Int
    package var headers: HTTPHeaders
    /// Empty if the sink has received it.
    package var body: [UInt8]
    /// The number of body bytes of the request that were sent when the response was complete.
    package var bytesSent: Int64
    /// Secrets that the response's texts may contain; messages hide them.
    package var secrets: [String] = []
    /// Texts of the request that the response may repeat; messages hide the secrets in them.
    package var requestTexts: [String] = []

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], bytesSent: Int64 = 0) {
        (self.status, self.headers, self.body, self.bytesSent) = (status, headers, body, bytesSent)
    }
}
