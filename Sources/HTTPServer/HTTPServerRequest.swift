import HTTPText

/// A request. Path and query are decoded only on demand.
public struct HTTPServerRequest: Sendable, Equatable {
    public enum Method: String, Sendable { case get = "GET", head = "HEAD" }

    public var method: Method
    /// Percent-encoded, begins with a slash, and is well-formed.
    public var path: String
    /// The percent-encoded query; nil where there is no question mark.
    public var query: String?
    public var headers: HTTPHeaders
    /// The client's `address:port`.
    public var remoteAddress: String
    /// Whether the client wants to keep the connection open.
    var keepsAlive: Bool
    var isHTTP10: Bool

    public init(
        _ path: String, method: Method = .get, query: String? = nil, headers: HTTPHeaders = [:],
        remoteAddress: String = ""
    ) {
        (self.method, self.path, self.query, self.headers) = (method, path, query, headers)
        self.remoteAddress = remoteAddress
        (keepsAlive, isHTTP10) = (true, false)
    }

    public var queryItems: [QueryItem] {
        (query ?? "").split(separator: "&").map { pair in
            let cut = pair.utf8.firstIndex(of: 0x3D)
            return QueryItem(
                rawName: String(pair[..<(cut ?? pair.endIndex)]),
                rawValue: cut.map { String(pair[pair.index(after: $0)...]) })
        }
    }

    /// A pair of a query, percent-encoded.
    public struct QueryItem: Sendable, Equatable {
        public var rawName: String
        /// Nil without an equals sign.
        public var rawValue: String?

        /// Decoded; nil where it is malformed or not UTF-8. The same holds for `value`.
        public var name: String? { percentDecoded(rawName, plusIsSpace: true) }
        public var value: String? { rawValue.flatMap { percentDecoded($0, plusIsSpace: true) } }
    }
}
