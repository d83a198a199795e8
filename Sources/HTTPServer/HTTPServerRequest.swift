import HTTPText

/// One request as it came: nothing is decoded until asked for.
public struct HTTPServerRequest: Sendable, Equatable {
    public enum Method: String, Sendable { case get = "GET", head = "HEAD" }

    public var method: Method
    /// Still escaped, begins with a slash; its escapes are well formed.
    public var path: String
    /// What follows the first question mark, still escaped; nil where there is none.
    public var query: String?
    public var headers: HTTPHeaders
    /// The peer, as `address:port`.
    public var remoteAddress: String
    /// Whether the peer wants to go on after this.
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

    /// One pair of a query, still escaped.
    public struct QueryItem: Sendable, Equatable {
        public var rawName: String
        /// Nil where there is no equals sign.
        public var rawValue: String?

        /// Decoded; nil where it is badly escaped or not UTF-8. The same goes for `value`.
        public var name: String? { percentDecoded(rawName, plusIsSpace: true) }
        public var value: String? { rawValue.flatMap { percentDecoded($0, plusIsSpace: true) } }
    }
}
