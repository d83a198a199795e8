import HTTPText

/// One request. It is sent as it stands: no redirect is followed, no `Expect` is added, nothing is compressed.
public struct HTTPRequest: Sendable {
    public var method: String
    /// Absolute, `http` or `https`, escaped. Dots in its path stay as they are.
    public var url: String
    /// Without those that the body decides: `Content-Length`, `Transfer-Encoding` and `Expect` are refused.
    public var headers: HTTPHeaders
    public var body: HTTPBody
    /// Where the body of the answer goes if the sink accepts it; into memory otherwise.
    public var sink: (any HTTPBodySink)?
    public var limits: HTTPLimits
    /// Fails where a kept connection dies before its answer, instead of being sent again on another one: for requests
    /// that are not idempotent.
    public var isSentOnce = false
    /// Told how many bytes of the body the system has taken for sending, on the transfer thread: must be quick.
    /// The number falls when the body is sent anew on another connection.
    public var onSent: (@Sendable (Int64) -> Void)?

    public init(
        _ method: String, _ url: String, headers: HTTPHeaders = [:], body: HTTPBody = .none,
        sink: (any HTTPBodySink)? = nil, limits: HTTPLimits = HTTPLimits()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.sink = sink
        self.limits = limits
    }
}

/// How long a request may take, and how large its answer may be.
public struct HTTPLimits: Sendable, Equatable {
    /// From looking up the name until the request can be sent, TLS included. Waiting for a free connection is not.
    public var connect: Duration = .seconds(15)
    /// How long not one byte may move, either way, while neither the source nor the sink is holding it up.
    public var stall: Duration = .seconds(30)
    /// How long the answer may take to begin once the whole request is sent.
    public var answer: Duration = .seconds(120)
    /// For all of it, waiting for a connection included.
    public var total: Duration?
    /// For a body that is held in memory, in bytes.
    public var answerBytes = 1 << 20

    public init() {}
}

extension HTTPRequest {
    /// What the request would break, said without any value of a header.
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

    /// Host and port, for people: without credentials, path and query.
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
