import HTTPText

/// A request. Path and query are decoded only on demand.
package struct HTTPServerRequest: Sendable, Equatable {
    /// The methods in the order of the Allow header.
    package enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
    }

    package var method: Method
    /// Percent-encoded, begins with a slash, and is well-formed.
    package var path: String
    /// The percent-encoded query; nil where there is no question mark.
    package var query: String?
    package var headers: HTTPHeaders
    /// The name of a header whose value is not UTF-8: U+FFFD replaces some of its bytes.
    package internal(set) var unreadableHeader: String?
    /// The client's `address:port`.
    package var remoteAddress: String
    /// Empty for GET and HEAD.
    package var body: HTTPRequestBody
    /// Whether the client wants to keep the connection open.
    var keepsAlive: Bool
    package internal(set) var isHTTP10: Bool
    var framing = BodyFraming.length(0)
    /// Whether the client waits for 100 before it sends the body.
    var expectsContinue = false

    package init(
        _ path: String, method: Method = .get, query: String? = nil, headers: HTTPHeaders = [:],
        remoteAddress: String = "", body: HTTPRequestBody = .empty
    ) {
        (self.method, self.path, self.query, self.headers) = (method, path, query, headers)
        (self.remoteAddress, self.body) = (remoteAddress, body)
        (keepsAlive, isHTTP10) = (true, false)
    }

    package var queryItems: [QueryItem] {
        guard var query else { return [] }
        return query.withUTF8 { query in
            query.split(separator: UInt8(ascii: "&")).map { pair in
                let cut = pair.firstIndex(of: UInt8(ascii: "="))
                return QueryItem(
                    rawName: String(decoding: pair[..<(cut ?? pair.endIndex)], as: UTF8.self),
                    rawValue: cut.map { String(decoding: pair[($0 + 1)...], as: UTF8.self) })
            }
        }
    }

    /// A pair of a query, percent-encoded.
    package struct QueryItem: Sendable, Equatable {
        package var rawName: String
        /// Nil without an equals sign.
        package var rawValue: String?

        /// The decoded name; nil where it is malformed or not UTF-8.
        package var name: String? { percentDecoded(rawName, plusIsSpace: true) }
        /// The decoded value; nil where it is malformed, not UTF-8 or missing.
        package var value: String? { rawValue.flatMap { percentDecoded($0, plusIsSpace: true) } }
    }
}
