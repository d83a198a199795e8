import HTTPText

@testable import HTTPServer

/// Requests with bodies, however they are cut: each has one meaning, which is within its limits.
@Sendable func fuzzBodies(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let (limit, seed) = (Int(feed.byte()) + 1, feed.byte())
    let whole = messages(of: [UnsafeRawBufferPointer(rebasing: feed.rest)], limit)
    for seed in [seed, 0] {
        expect(messages(of: feed.pieces(seed), limit) == whole, "cut another way, it means the same")
    }
    expect(messages(of: feed.pieces(seed), 1) == whole, "read another way, it means the same")
    for message in whole { check(message) }
}

private struct Message: Equatable {
    enum End: Equatable { case complete, incomplete, malformed, refused(Int) }

    var request: HTTPServerRequest?
    var body: [UInt8] = []
    var end = End.incomplete
}

private func messages(of pieces: [UnsafeRawBufferPointer], _ limit: Int) -> [Message] {
    var limits = HTTPServerLimits()
    (limits.lineBytes, limits.headBytes, limits.headers, limits.chunkExtensionBytes) = (256, 600, 8, 20)
    var parser = RequestParser(
        limits: limits, methods: Set(HTTPServerRequest.Method.allCases), hosts: AcceptedHosts())
    var messages = [Message()]
    for piece in pieces {
        parser.append(piece)
        while advance(&messages[messages.count - 1], &parser, limit) {
            guard messages.last?.end == .complete else { return messages }
            messages.append(Message())
        }
    }
    return messages
}

/// Returns false where more bytes are needed.
private func advance(_ message: inout Message, _ parser: inout RequestParser, _ limit: Int) -> Bool {
    if message.request == nil {
        switch parser.next() {
        case .incomplete: return false
        case .refused(let status): message.end = .refused(status)
        case .request(let request): message.request = request
        }
        guard message.request != nil else { return true }
    }
    while true {
        switch parser.nextBytes(atMost: limit) {
        case .incomplete: return false
        case .bytes(let bytes):
            expect(1...limit ~= bytes.count, "a read has as many bytes as it may")
            message.body += bytes
        case .end:
            message.end = .complete
            return true
        case .malformed:
            message.end = .malformed
            return true
        }
    }
}

private func check(_ message: Message) {
    if case .refused(let status) = message.end {
        expect((400..<600).contains(status), "a refusal has a status of refusals")
    }
    guard let request = message.request else { return }
    let lengths = request.headers.all("Content-Length"), codings = request.headers.all("Transfer-Encoding")
    expect(lengths.count + codings.count <= 1, "a request has one framing")
    switch request.framing {
    case .length(let length):
        expect(codings.isEmpty, "a coding is not ignored")
        expect(lengths.first.map { Int64($0) == length } ?? (length == 0), "a length is that of the header")
        expect(message.end != .malformed, "bytes without framing are not malformed")
        let isComplete = Int64(message.body.count) == length
        expect(isComplete == (message.end == .complete), "a body has its length")
    case .chunked:
        expect(codings.first?.lowercased() == "chunked", "chunks are announced")
        expect(!request.isHTTP10, "HTTP/1.0 has no chunks")
        if message.end == .complete { checkChunks(of: message.body) }
    }
    if !request.method.mayHaveBody { expect(message.body.isEmpty, "a GET and a HEAD have no body") }
}

/// The bytes come back from chunks of any size.
private func checkChunks(of body: [UInt8]) {
    var stream = Array("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    var rest = body[...]
    while !rest.isEmpty {
        let chunk = rest.prefix(7)
        stream += Array("\(chunk.count);x\r\n".utf8) + chunk + [0x0D, 0x0A]
        rest = rest.dropFirst(7)
        if body.count > 50 { break }
    }
    let expected = Array(body.prefix(body.count - rest.count))
    stream += Array("0\r\na: b\r\n\r\n".utf8)
    let again = stream.withUnsafeBytes { messages(of: [$0], 1000) }
    expect(again.first?.body == expected && again.first?.end == .complete, "chunks of it are read again")
}
