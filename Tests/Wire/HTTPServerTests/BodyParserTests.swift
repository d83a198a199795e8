import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

/// What a parser makes of a stream. Adjacent bytes of a body are one event.
enum ParsedEvent: Equatable {
    case request(HTTPServerRequest)
    case body([UInt8])
    case endOfBody
    case malformedBody
    case refused(Int)
}

private let allMethods = Set(HTTPServerRequest.Method.allCases)

/// The events of `bytes` that arrive in pieces of this size, up to the first incomplete or refused request. Bodies are
/// taken in pieces of `limit`.
func messages(
    of bytes: [UInt8], piece: Int = .max, limit: Int = 64 << 10, _ limits: HTTPServerLimits = HTTPServerLimits()
) -> [ParsedEvent] {
    var parser = RequestParser(limits: limits, methods: allMethods, hosts: AcceptedHosts())
    var events: [ParsedEvent] = []
    var isWithinBody = false
    var rest = bytes[...]
    while !rest.isEmpty {
        rest.prefix(piece).withUnsafeBytes { parser.append($0) }
        rest = rest.dropFirst(piece)
        while let event = next(&parser, &isWithinBody, limit) {
            if case .body(let more) = event, case .body(let bytes) = events.last {
                events[events.count - 1] = .body(bytes + more)
            } else {
                events.append(event)
            }
            switch event {
            case .refused, .malformedBody: return events
            case .request, .body, .endOfBody: break
            }
        }
    }
    return events
}

private func next(_ parser: inout RequestParser, _ isWithinBody: inout Bool, _ limit: Int) -> ParsedEvent? {
    if isWithinBody {
        switch parser.nextBytes(atMost: limit) {
        case .incomplete: return nil
        case .bytes(let bytes): return .body(bytes)
        case .malformed: return .malformedBody
        case .end:
            isWithinBody = false
            return .endOfBody
        }
    }
    switch parser.next() {
    case .incomplete: return nil
    case .refused(let status): return .refused(status)
    case .request(let request):
        isWithinBody = true
        return .request(request)
    }
}

private func messages(of text: String, piece: Int = .max, _ limits: HTTPServerLimits = HTTPServerLimits())
    -> [ParsedEvent]
{
    messages(of: Array(text.replacing("|", with: "\r\n").utf8), piece: piece, limits)
}

/// `|` is CR LF.
private let post = "POST / HTTP/1.1|Host: localhost|"
private let chunked = post + "Transfer-Encoding: chunked||"

@Suite(.watchdog) struct BodyParserTests {
    /// Refused fields of a POST, with their statuses.
    static let refused: [(String, Int)] = [
        ("Content-Length: 5|Transfer-Encoding: chunked", 400), ("Transfer-Encoding: chunked|Content-Length: 0", 400),
        ("Content-Length: 5|Content-Length: 5", 400), ("Content-Length: 5|content-length: 6", 400),
        ("Content-Length: 5, 5", 400), ("Content-Length: ", 400), ("Content-Length: +5", 400),
        ("Content-Length: -5", 400), ("Content-Length: 0x5", 400), ("Content-Length: 5 5", 400),
        ("Content-Length: 5.0", 400), ("Content-Length: ５", 400), ("Content-Length : 5", 400),
        ("Content-Length: 5\n", 400), ("Content-Length: 5| 6", 400), ("Content-Length:|\t5", 400),
        ("Content-Length: 9223372036854775807", 413), ("Content-Length: 99999999999999999999", 413),
        ("Transfer-Encoding: identity", 400), ("Transfer-Encoding: gzip", 400), ("Transfer-Encoding: ", 400),
        ("Transfer-Encoding: chunked, gzip", 400), ("Transfer-Encoding: chunked, chunked", 400),
        ("Transfer-Encoding: chunked|Transfer-Encoding: chunked", 400), ("Transfer-Encoding: xchunked", 400),
        ("Transfer-Encoding: chunked;q=1", 400), ("Transfer-Encoding: \"chunked\"", 400),
        ("Transfer-Encoding: chunked,", 400), ("Transfer-Encoding: ,chunked", 400),
        ("Transfer-Encoding : chunked", 400), ("Transfer-Encoding: chun\u{0B}ked", 400),
        ("Transfer-Encoding:| chunked", 400), ("Transfer-Encoding: chunked\u{A0}", 400),
        ("Transfer-Encoding: gzip, chunked", 501), ("Transfer-Encoding: gzip|Transfer-Encoding: chunked", 501),
        ("Expect: 200-ok", 417), ("Expect: 100-continue, x", 417), ("Expect: ", 417),
        ("Expect: 100-continue|Expect: 100-continue", 417),
    ]

    @Test(arguments: refused) func `A body with an unclear framing is refused`(fields: String, status: Int) {
        let text = post + fields + "||0||GET / HTTP/1.1|Host: localhost||"
        for piece in [1, 2, 7, .max] {
            #expect(messages(of: text, piece: piece) == [.refused(status)], "in pieces of \(piece)")
        }
    }

    @Test func `Content that was received past the parser counts`() {
        var parser = RequestParser(limits: HTTPServerLimits(), methods: allMethods, hosts: AcceptedHosts())
        func append(_ text: String) {
            Array(text.replacing("|", with: "\r\n").utf8).withUnsafeBytes { parser.append($0) }
        }
        append(chunked + "3|a")
        guard case .request = parser.next() else { return #expect(Bool(false)) }
        #expect(parser.contentAhead == 0)
        #expect(parser.nextBytes(atMost: 10) == .bytes([0x61]))
        #expect(parser.contentAhead == 2)
        parser.pass(2)
        #expect(parser.contentAhead == 0)
        append("|5|")
        #expect(parser.nextBytes(atMost: 10) == .incomplete)
        #expect(parser.contentAhead == 5)
        parser.pass(5)
        append("|0||" + post + "Content-Length: 4||")
        #expect(parser.nextBytes(atMost: 10) == .end)
        guard case .request = parser.next() else { return #expect(Bool(false)) }
        #expect(parser.contentAhead == 4)
        parser.pass(3)
        #expect(parser.nextBytes(atMost: 10) == .incomplete && parser.bodyBytesLeft == 1)
        parser.pass(1)
        #expect(parser.contentAhead == 0 && parser.nextBytes(atMost: 10) == .end && parser.next() == .incomplete)
    }

    @Test func `Chunks are refused in HTTP 1.0 and for methods without bodies`() {
        #expect(messages(of: "POST / HTTP/1.0|Transfer-Encoding: chunked||0||") == [.refused(400)])
        for method in ["GET", "HEAD"] {
            let head = "\(method) / HTTP/1.1|Host: localhost|"
            #expect(messages(of: head + "Transfer-Encoding: chunked||0||") == [.refused(400)])
            #expect(messages(of: head + "Content-Length: 1||x") == [.refused(413)])
            #expect(messages(of: head + "Expect: 100-continue||") == [.refused(417)])
        }
    }

    /// Chunked bodies that are malformed, and the bytes before the fault.
    static let malformed: [(String, String)] = [
        ("|", ""), ("g|", ""), (" 5|hello|0||", ""), ("+5|hello|0||", ""), ("-5|hello|0||", ""), ("0x5|hello|0||", ""),
        ("5 |hello|0||", ""), ("5h|hello|0||", ""), ("5,5|hello|0||", ""), ("5\thello|", ""), (";x|", ""),
        ("5\nhello|0||", ""), ("5\rhello|0||", ""), ("5\r|hello", ""), ("5;a=\"\n\"|hello|0||", ""), ("5;a\0|", ""),
        ("8000000000000000|", ""), ("FFFFFFFFFFFFFFFF|", ""), ("00000000000000005|hello|0||", ""),
        ("5|hello0||", "hello"), ("5|helloo|0||", "hello"), ("5|hello\n0||", "hello"), ("5|hello\r\r", "hello"),
        ("5|hello||0||", "hello"), ("5|hello|x|", "hello"), ("3|abc|2|de|-1|", "abcde"), ("0|x|", ""),
        ("0| a: b||", ""),
        ("0|a : b||", ""), ("0|a: b\n|", ""), ("0|a: b| c||", ""), ("0|\n", ""), ("0\n\n", ""), ("0|\rx", ""),
        ("0x|", ""), ("１|a|0||", ""),
    ]

    @Test(arguments: malformed) func `Malformed chunks end the stream`(text: String, before: String) {
        for piece in [1, 2, 3, .max] {
            let events = messages(of: chunked + text, piece: piece)
            let bytes: [ParsedEvent] = before.isEmpty ? [] : [.body(Array(before.utf8))]
            let expected = bytes + [.malformedBody]
            #expect(Array(events.dropFirst()) == expected, "in pieces of \(piece)")
        }
    }

    /// Chunked bodies of the bytes `hello, world`.
    @Test(arguments: [
        "c|hello, world|0||", "C|hello, world|0||", "000000000000000C|hello, world|00||", "5|hello|7|, world|0||",
        "5;a|hello|7 ; b=\"c;d\"|, world|0;last||", "5;|hello|7\t;x|, world|0||", "c|hello, world|0|A: b|X-MD5:||",
        "1|h|1|e|1|l|1|l|1|o|7|, world|0||",
    ]) func `Chunks, extensions and trailers are removed`(text: String) {
        let bytes = Array((chunked + text + "GET /next HTTP/1.1|Host: localhost||").replacing("|", with: "\r\n").utf8)
        let whole = messages(of: bytes)
        #expect(whole.count == 5 && whole.dropFirst().first == .body(Array("hello, world".utf8)))
        for piece in 1...bytes.count {
            for limit in [1, 5, 1000] { #expect(messages(of: bytes, piece: piece, limit: limit) == whole) }
        }
    }

    @Test func `A body of known length is followed by the next request`() {
        let text = "PUT /a HTTP/1.1|Host: localhost|Content-Length: 5||GET /"
        let one = text + "DELETE /b HTTP/1.1|Host: localhost||PATCH /c HTTP/1.1|Host: localhost|Content-Length: 1||x"
        let bytes = Array(one.replacing("|", with: "\r\n").utf8)
        let whole = messages(of: bytes)
        let paths = whole.compactMap { event in if case .request(let request) = event { request.path } else { nil } }
        #expect(paths == ["/a", "/b", "/c"] && whole[1] == .body(Array("GET /".utf8)) && whole[6] == .body([0x78]))
        for piece in 1...bytes.count { #expect(messages(of: bytes, piece: piece, limit: 2) == whole) }
    }

    @Test func `Extensions and trailers are bounded`() {
        var limits = HTTPServerLimits()
        (limits.lineBytes, limits.headBytes, limits.headers, limits.chunkExtensionBytes) = (64, 100, 4, 20)
        func isRefused(_ text: String) -> Bool { messages(of: chunked + text, limits).last == .malformedBody }
        let long = String(repeating: "x", count: 19)
        #expect(!isRefused("1;\(long)|a|0||") && isRefused("1;\(long)x|a|0||"))
        #expect(!isRefused("1;x|a|1;\(long.dropFirst(2))|b|0||") && isRefused("1;x|a|1;\(long)|b|0||"))
        let fields = String(repeating: "a:b|", count: 4)
        #expect(!isRefused("0|\(fields)|") && isRefused("0|\(fields)a:b||"))
        func line(_ count: Int) -> String { "a:" + String(repeating: "b", count: count - 4) + "|" }
        #expect(!isRefused("0|\(line(60))\(line(38))|") && isRefused("0|\(line(60))\(line(39))|"))
        #expect(!isRefused("0|\(line(66))|") && isRefused("0|\(line(67))|"))
    }
}
