import HTTPText

/// Parses a stream of bytes into requests, as strictly as RFC 9112 allows.
///
/// Nothing is parsed after the first error, because the start of the next request would be uncertain.
struct RequestParser {
    enum Event: Equatable {
        /// More bytes are needed.
        case incomplete
        /// The head of a request. The body has to be read with `nextBytes` before the next request.
        case request(HTTPServerRequest)
        /// The status to answer with before the connection ends.
        case refused(Int)
    }

    enum BodyEvent: Equatable {
        case incomplete
        /// At least one byte.
        case bytes([UInt8])
        case end
        case malformed
    }

    private let limits: HTTPServerLimits
    private let methods: Set<HTTPServerRequest.Method>
    private let hosts: AcceptedHosts
    private let remoteAddress: String
    private var input = InputBuffer()
    private var headBytesLeft: Int
    private var head: RequestHead?
    private var body: BodyDecoder?
    /// The trailers of the last body.
    private(set) var trailers = HTTPHeaders()
    private var mayBeBlank = true
    private var refusal: Refusal?

    init(
        limits: HTTPServerLimits, methods: Set<HTTPServerRequest.Method> = [.get, .head], hosts: AcceptedHosts,
        remoteAddress: String = ""
    ) {
        (self.limits, self.methods, self.hosts, self.remoteAddress) = (limits, methods, hosts, remoteAddress)
        headBytesLeft = limits.headBytes
    }

    /// Whether a request is incomplete, as far as `next` has parsed.
    var isWithinHead: Bool { !input.isEmpty || head != nil }

    /// The length of the rest of the body; nil where it is unknown. After the end it is 0.
    var bodyBytesLeft: Int64? { refusal == nil ? body.map(\.bytesLeft) ?? 0 : nil }

    /// The number of bytes that the body contains before anything else that the client sends. 0 while received bytes are
    /// not parsed.
    var contentAhead: Int64 { refusal == nil && input.isEmpty ? body?.contentLeft ?? 0 : 0 }

    /// Counts bytes of the content that were received without `append`, at most `contentAhead`.
    mutating func pass(_ count: Int) {
        body?.pass(count)
        if body?.isAtEnd == true { body = nil }
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) { if refusal == nil { input.append(bytes) } }

    /// Returns the next event. Call until it returns `incomplete`; not within a body.
    mutating func next() -> Event {
        precondition(body == nil)
        do throws(Refusal) {
            if let refusal { throw refusal }
            while let line = try nextLine() {
                if let request = try parse(line) { return .request(request) }
            }
            input.forgetParsed()
            return .incomplete
        } catch {
            refuse(error)
            return .refused(error.status)
        }
    }

    /// Returns up to `limit` bytes of the body.
    mutating func nextBytes(atMost limit: Int) -> BodyEvent {
        guard refusal == nil else { return .malformed }
        guard var body else { return .end }
        var piece: [UInt8] = []
        do throws(Refusal) {
            try body.decode(&input, into: &piece, atMost: limit)
            self.body = body.isAtEnd ? nil : body
            trailers = body.trailers
        } catch {
            refuse(error)
        }
        if !piece.isEmpty { return .bytes(piece) }
        if refusal != nil { return .malformed }
        if self.body == nil { return .end }
        input.forgetParsed()
        return .incomplete
    }

    private mutating func refuse(_ refusal: Refusal) {
        self.refusal = refusal
        (input, body) = (InputBuffer(), nil)
    }

    private mutating func parse(_ line: ArraySlice<UInt8>) throws(Refusal) -> HTTPServerRequest? {
        if line.isEmpty, head == nil {
            // RFC 9112 asks to accept a blank line before a request.
            guard mayBeBlank else { throw Refusal(400) }
            mayBeBlank = false
            return nil
        }
        guard var head = self.head else {
            self.head = try RequestHead(requestLine: line)
            return nil
        }
        self.head = nil
        if !line.isEmpty {
            guard head.headers.fields.count < limits.headers else { throw Refusal(431) }
            try head.add(line)
            self.head = head
            return nil
        }
        (headBytesLeft, mayBeBlank) = (limits.headBytes, true)
        let request = try head.request(methods, hosts, remoteAddress)
        trailers = HTTPHeaders()
        if request.framing != .length(0) { body = BodyDecoder(request.framing, limits: limits) }
        return request
    }

    private mutating func nextLine() throws(Refusal) -> ArraySlice<UInt8>? {
        do throws(InputBuffer.Fault) {
            return try input.nextLine(atMost: limits.lineBytes, budget: &headBytesLeft)
        } catch {
            switch error {
            case .malformed: throw Refusal(400)
            case .lineTooLong: throw Refusal(head == nil ? 414 : 431)
            case .outOfBudget: throw Refusal(431)
            }
        }
    }
}

/// A request that is refused with this status.
struct Refusal: Error, Equatable {
    let status: Int
    init(_ status: Int) { self.status = status }
}
