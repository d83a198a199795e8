import HTTPText
import Platform

/// The answer of a handler. The server adds Content-Length, Date and Connection.
package struct HTTPServerResponse: Sendable {
    /// A HEAD request gets the length of the body only.
    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        case file(ServedFile)
        /// A body that is sent in chunks, which HTTP/1.0 does not have.
        case unpacked(UnpackedBody)
        /// The length of an unopened body, for HEAD only. A GET gets a 500.
        case unopened(Int64)
    }

    /// 200 to 599; anything else is sent as a 500.
    package var status: Int
    /// Control characters in values are removed, as are fields whose names are no tokens, and Content-Length,
    /// Transfer-Encoding, Connection and similar fields, which the server sets.
    package var headers: HTTPHeaders
    package var body: Body
    /// Closes the connection without an answer.
    package var dropsConnection = false

    package init(_ status: Int, headers: HTTPHeaders = [:], body: Body = .none) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// A response that closes the connection without an answer, as if the answer were lost.
    package static var dropped: HTTPServerResponse {
        var response = HTTPServerResponse(500)
        response.dropsConnection = true
        return response
    }
}

/// A range of an open file, which stays open while `owner` is retained.
package struct ServedFile: Sendable {
    package let owner: any AnyObject & Sendable
    package let descriptor: Int32
    package let offset: Int64
    package let count: Int64
    /// If set, the last bytes are sent only if it matches all bytes.
    package let checksum: Checksum?

    package struct Checksum: Sendable {
        let crc32c: UInt32
        let report: @Sendable (Fault) -> Void

        /// `report` is called on any thread, before the connection ends.
        package init(crc32c: UInt32, report: @escaping @Sendable (Fault) -> Void) {
            (self.crc32c, self.report) = (crc32c, report)
        }
    }

    /// The reason why a file was not sent completely.
    package enum Fault: Sendable, Equatable, CustomStringConvertible {
        case wrongBytes
        case unreadable(errno: Int32)

        /// Follows the name of the file.
        package var description: String {
            switch self {
            case .wrongBytes: "its bytes do not have its CRC32C"
            case .unreadable(let code): "its bytes cannot be read: \(SystemError(code: code).reason)"
            }
        }
    }

    package init(
        _ descriptor: Int32, of owner: any AnyObject & Sendable, offset: Int64, count: Int64, checksum: Checksum? = nil
    ) {
        (self.descriptor, self.owner, self.offset, self.count) = (descriptor, owner, offset, count)
        self.checksum = checksum
    }
}

extension HTTPServerResponse.Body {
    /// The length; nil where it is invalid, or not known before.
    var count: Int64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file):
            file.count >= 0 && file.offset >= 0 && file.offset <= Int64.max - file.count ? file.count : nil
        case .unopened(let count): count >= 0 ? count : nil
        case .unpacked: nil
        }
    }

    var bytesInMemory: Int { if case .bytes(let bytes) = self { bytes.count } else { 0 } }

    var isChunked: Bool { if case .unpacked = self { true } else { false } }

    var isUnopened: Bool { if case .unopened = self { true } else { false } }
}

enum ResponseHead {
    enum Persistence { case close, keepAlive, asUsual }

    static func bytes(_ response: HTTPServerResponse, _ persistence: Persistence, date: String) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(512)
        head.add("HTTP/1.1 ")
        head.add(String(response.status))
        head.add(" ")
        head.add(reasons[response.status] ?? "")
        head.endLine()
        head.add("Date", date)
        if mayHaveBody(response.status) {
            if let count = response.body.count { head.add("Content-Length", String(count)) }
            if response.body.isChunked { head.add("Transfer-Encoding", "chunked") }
        }
        response.headers.add(to: &head) { !isReserved($0) }
        switch persistence {
        case .close: head.add("Connection", "close")
        case .keepAlive: head.add("Connection", "keep-alive")
        case .asUsual: break
        }
        head.endLine()
        return head
    }

    static func mayHaveBody(_ status: Int) -> Bool { status != 204 && status != 304 }

    /// Whether only the server sets the field. The length excludes most names.
    private static func isReserved(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: isSameName(name, "Date")
        case 7: isSameName(name, "Trailer") || isSameName(name, "Upgrade")
        case 10: isSameName(name, "Connection") || isSameName(name, "Keep-Alive")
        case 14: isSameName(name, "Content-Length")
        case 17: isSameName(name, "Transfer-Encoding")
        default: false
        }
    }

    private static let reasons = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
        308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 499: "Client Closed Request",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}

extension HTTPHeaders {
    /// One line for each field, without control characters in values and without fields whose names are no tokens.
    package var lines: [UInt8] {
        var lines: [UInt8] = []
        add(to: &lines) { _ in true }
        return lines
    }

    fileprivate func add(to lines: inout [UInt8], of isWanted: (String) -> Bool) {
        for index in fields.indices where isWanted(fields[index].name) {
            lines.add(fields[index].name, fields[index].value)
        }
    }
}

// Lines of a head.
extension [UInt8] {
    /// Appends a text without control characters.
    fileprivate mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { text in
            if HTTPHeaders.hasControls(text) { self += text.filter(Self.isText) } else { self += text }
        }
    }

    /// Appends a line, unless the name is no token.
    fileprivate mutating func add(_ name: String, _ value: String) {
        var name = name
        let isName = name.withUTF8 { name in
            let isName = isToken(name)
            if isName { self += name }
            return isName
        }
        guard isName else { return }
        add(": ")
        add(value)
        endLine()
    }

    fileprivate mutating func endLine() {
        append(0x0D)
        append(0x0A)
    }

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }
}
