import HTTPText

/// A response while it arrives.
struct IncomingResponse {
    static let largestHead = 256 << 10

    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private(set) var isHeadComplete = false
    private var headBytes = 0
    var body: [UInt8] = []
    /// Whether the sink receives the body; nil before the header is complete.
    var isForSink: Bool?

    var hasBegun: Bool { headBytes > 0 }

    /// Adds a line of the header; ignores the trailer. Returns false if the header is too large.
    mutating func take(line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.largestHead else { return false }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if text.starts(with: "HTTP/".utf8) {
            beginHead(text)
        } else if !isHeadComplete {
            if text.isEmpty { isHeadComplete = status >= 200 } else { takeField(text) }
        }
        return true
    }

    /// Each interim response starts a new header, and so does a response on another connection.
    private mutating func beginHead(_ line: Slice<UnsafeRawBufferPointer>) {
        let number = line.drop { $0 != 0x20 }.dropFirst().prefix { $0 != 0x20 }
        status = Int(String(decoding: number, as: UTF8.self)) ?? 0
        (headers, isHeadComplete, body, isForSink) = (HTTPHeaders(), false, [], nil)
    }

    private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) {
        let text = String(decoding: line, as: UTF8.self)
        if line.first == 0x20 || line.first == 0x09 { return headers.extendLast(String(trimmed(text[...]))) }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = text[text.utf8.index(after: colon)...]
        headers.add(String(trimmed(text[..<colon])), String(trimmed(value)))
    }
}
