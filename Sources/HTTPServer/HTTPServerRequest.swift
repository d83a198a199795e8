/// One request as it came: nothing is decoded until asked for.
public struct HTTPServerRequest: Sendable, Equatable {
    public enum Method: String, Sendable { case get = "GET", head = "HEAD" }

    public var method: Method
    /// Still escaped, begins with a slash; its escapes are well formed.
    public var path: String
    /// What follows the first question mark, still escaped; nil where there is none.
    public var query: String?
    public var headers: HTTPServerHeaders
    /// The peer, as `address:port`.
    public var remoteAddress: String
    /// Whether the peer wants to go on after this.
    var keepsAlive: Bool
    var isHTTP10: Bool

    public init(
        _ path: String, method: Method = .get, query: String? = nil, headers: HTTPServerHeaders = [:],
        remoteAddress: String = ""
    ) {
        (self.method, self.path, self.query, self.headers) = (method, path, query, headers)
        self.remoteAddress = remoteAddress
        (keepsAlive, isHTTP10) = (true, false)
    }

    /// Between slashes, each percent-decoded; nil where one is not UTF-8.
    public var segments: [String]? {
        let raw = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let decoded = raw.compactMap { percentDecoded($0) }
        return decoded.count == raw.count ? decoded : nil
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

/// Nil where an escape is no escape, or where the bytes are no UTF-8. A plus is a blank in queries only.
public func percentDecoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
        if byte == 0x25 {
            guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
            bytes.append(high << 4 | low)
        } else {
            bytes.append(plusIsSpace && byte == 0x2B ? 0x20 : byte)
        }
    }
    return String(validating: bytes, as: UTF8.self)
}

func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
}
