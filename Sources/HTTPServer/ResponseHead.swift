import HTTPText

/// Formats the head of a response.
enum ResponseHead {
    /// The Connection header.
    enum Persistence { case close, keepAlive, asUsual }

    /// The fields that only the server sets.
    private static let reserved = [
        "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Trailer", "Date",
    ]

    static func bytes(_ response: HTTPServerResponse, _ persistence: Persistence, date: String) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(512)
        head += "HTTP/1.1 \(response.status) \(reason(response.status))\r\nDate: \(date)\r\n".utf8
        if mayHaveBody(response.status), let count = response.body.count {
            head += "Content-Length: \(count)\r\n".utf8
        }
        for field in response.headers.fields where isToken(field.name.utf8) && !isReserved(field.name) {
            head += field.name.utf8
            head += ": ".utf8
            head += field.value.utf8.lazy.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
            head += "\r\n".utf8
        }
        switch persistence {
        case .close: head += "Connection: close\r\n".utf8
        case .keepAlive: head += "Connection: keep-alive\r\n".utf8
        case .asUsual: break
        }
        head += "\r\n".utf8
        return head
    }

    static func mayHaveBody(_ status: Int) -> Bool { status != 204 && status != 304 }

    private static func isReserved(_ name: String) -> Bool { reserved.contains { isSameName($0, name) } }

    private static func reason(_ status: Int) -> String { reasons[status] ?? "" }

    private static let reasons = [
        200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found",
        303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 410: "Gone", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 416: "Range Not Satisfiable", 417: "Expectation Failed", 421: "Misdirected Request",
        429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
        503: "Service Unavailable", 505: "HTTP Version Not Supported",
    ]
}
