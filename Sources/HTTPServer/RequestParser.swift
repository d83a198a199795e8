import HTTPText

/// Parses a stream of bytes into requests, as strictly as RFC 9112 allows.
///
/// A line ends with CR LF only, and has no control character but the tab. Nothing is parsed after the first error,
/// because the start of the next request would be uncertain.
struct RequestParser {
    enum Event: Equatable {
        /// More bytes are needed.
        case incomplete
        case request(HTTPServerRequest)
        /// The status to answer with before the connection ends.
        case refused(Int)
    }

    private let limits: HTTPServerLimits
    private let hosts: AcceptedHosts
    private let remoteAddress: String
    private var buffer: [UInt8] = []
    /// The start of the current line, and the end of the scanned bytes.
    private var lineStart = 0
    private var scanned = 0
    private var headBytes = 0
    private var head: RequestHead?
    private var mayBeBlank = true
    private var refusal: Refusal?

    init(limits: HTTPServerLimits, hosts: AcceptedHosts, remoteAddress: String = "") {
        (self.limits, self.hosts, self.remoteAddress) = (limits, hosts, remoteAddress)
    }

    /// Whether a request is incomplete, as far as `next` has parsed.
    var isWithinHead: Bool { !buffer.isEmpty || head != nil }

    mutating func append(_ bytes: UnsafeRawBufferPointer) { if refusal == nil { buffer.append(contentsOf: bytes) } }

    /// Returns the next event. Call until it returns `incomplete`.
    mutating func next() -> Event {
        do throws(Refusal) {
            if let refusal { throw refusal }
            while let line = try nextLine() {
                if let request = try take(line) { return .request(request) }
            }
            forgetConsumed()
            return .incomplete
        } catch {
            refusal = error
            buffer = []
            return .refused(error.status)
        }
    }

    private mutating func take(_ line: Range<Int>) throws(Refusal) -> HTTPServerRequest? {
        if line.isEmpty, head == nil {
            // RFC 9112 asks to accept a blank line before a request.
            guard mayBeBlank else { throw Refusal(400) }
            mayBeBlank = false
            return nil
        }
        guard var head = self.head else {
            self.head = try RequestHead(requestLine: buffer[line])
            return nil
        }
        if !line.isEmpty {
            guard head.headers.fields.count < limits.headers else { throw Refusal(431) }
            self.head = nil
            try head.add(buffer[line])
            self.head = head
            return nil
        }
        self.head = nil
        (headBytes, mayBeBlank) = (0, true)
        return try head.request(hosts, remoteAddress)
    }

    /// Returns the next line without its end; nil where it is incomplete.
    private mutating func nextLine() throws(Refusal) -> Range<Int>? {
        let tooLong = Refusal(head == nil ? 414 : 431)
        while scanned < buffer.count {
            let byte = buffer[scanned]
            let followsCR = scanned > lineStart && buffer[scanned - 1] == 0x0D
            scanned += 1
            headBytes += 1
            guard headBytes <= limits.headBytes else { throw Refusal(431) }
            if followsCR != (byte == 0x0A) { throw Refusal(400) }
            if followsCR {
                defer { lineStart = scanned }
                return lineStart..<scanned - 2
            }
            if byte == 0x0D { continue }
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { throw Refusal(400) }
            guard scanned - lineStart <= limits.lineBytes else { throw tooLong }
        }
        return nil
    }

    private mutating func forgetConsumed() {
        if lineStart == buffer.count {
            buffer = []
        } else {
            buffer.removeFirst(lineStart)
        }
        scanned -= lineStart
        lineStart = 0
    }
}

/// A request that is refused with this status.
struct Refusal: Error, Equatable {
    let status: Int
    init(_ status: Int) { self.status = status }
}
