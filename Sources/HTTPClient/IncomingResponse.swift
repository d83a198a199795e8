import HTTPText

/// A response while it arrives.
struct IncomingResponse {
    static let largestHead = 256 << 10

    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private(set) var isHeadComplete = false
    private var headBytes = 0
    var body: [UInt8] = []
    /// Whether the sink takes the body; nil before the header is complete.
    var isForSink: Bool?

    var hasBegun: Bool { headBytes > 0 }

    /// Takes a line of the header; ignores the trailer. False when the header is too large.
    mutating func take(line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.largestHead else { return false }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if text.starts(with: "HTTP/".utf8) {
            beginHead(text)
        } else if !isHeadComplete {
            text.isEmpty ? endHead() : takeField(text)
        }
        return true
    }

    /// Each interim response starts a new header, and so does a response on another connection.
    private mutating func beginHead(_ line: Slice<UnsafeRawBufferPointer>) {
        let number = line.drop { $0 != 0x20 }.dropFirst().prefix { $0 != 0x20 }
        status = Int(String(decoding: number, as: UTF8.self)) ?? 0
        headers = HTTPHeaders()
        isHeadComplete = false
        body = []
        isForSink = nil
    }

    private mutating func endHead() { isHeadComplete = status >= 200 }

    private mutating func takeField(_ line: Slice<UnsafeRawBufferPointer>) {
        if line.first == 0x20 || line.first == 0x09 { return headers.extendLast(line.trimmed) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        headers.add(line[..<colon].trimmed, line[line.index(after: colon)...].trimmed)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Its text without white space around it.
    fileprivate var trimmed: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let start = drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) }
        return String(decoding: end.map { start[...$0] } ?? start[start.endIndex...], as: UTF8.self)
    }
}
