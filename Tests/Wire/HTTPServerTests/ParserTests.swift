import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

/// The events of `bytes` that arrive in pieces of this size, up to the first incomplete or refused request.
func events(of bytes: [UInt8], piece: Int = .max, _ limits: HTTPServerLimits = HTTPServerLimits())
    -> [RequestParser.Event]
{
    var parser = RequestParser(limits: limits, hosts: AcceptedHosts())
    var events: [RequestParser.Event] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        rest.prefix(piece).withUnsafeBytes { parser.append($0) }
        rest = rest.dropFirst(piece)
        while case let event = parser.next(), event != .incomplete {
            events.append(event)
            if case .refused = event { return events }
        }
    }
    return events
}

func events(of text: String, _ limits: HTTPServerLimits = HTTPServerLimits()) -> [RequestParser.Event] {
    events(of: Array(text.utf8), limits)
}

private func refusal(of text: String, _ limits: HTTPServerLimits = HTTPServerLimits()) -> Int? {
    guard case .refused(let status) = events(of: text, limits).last else { return nil }
    return status
}

private func request(_ text: String) throws -> HTTPServerRequest {
    let all = events(of: text)
    guard all.count == 1, case .request(let request) = all[0] else { throw NoRequest(events: "\(all)") }
    return request
}

@Suite(.watchdog) private struct NoRequest: Error { var events: String }

@Suite(.watchdog) struct RequestParserTests {
    /// Refused requests with their statuses. `|` is CR LF.
    static let malformed: [(String, Int)] = [
        // The request line.
        ("|||", 400), (" GET / HTTP/1.1|Host: localhost||", 400), ("GET  / HTTP/1.1|Host: localhost||", 400),
        ("GET / HTTP/1.1 |Host: localhost||", 400), ("GET\t/ HTTP/1.1|Host: localhost||", 400), ("GET /|", 400),
        ("GET|", 400), ("G@T / HTTP/1.1|", 400), ("GET / HTTP/1.1x|", 400), ("GET / http/1.1|", 400),
        ("GET / HTTP/11|", 400), ("GET / HTTP/1,1|", 400), ("GET / HTTP/x.1|", 400), ("GET / HTTPS/1.1|", 400),
        ("GET / HTTP/1.2|", 505), ("GET / HTTP/2.0|", 505), ("GET / HTTP/0.9|", 505),
        ("PRI * HTTP/2.0||SM||", 505),
        // The target.
        ("GET * HTTP/1.1|", 400), ("OPTIONS * HTTP/1.1|", 400), ("CONNECT localhost:80 HTTP/1.1|", 400),
        ("GET https://localhost/ HTTP/1.1|", 400), ("GET a HTTP/1.1|", 400),
        ("GET http://localhost/ HTTP/1.1||", 400), ("GET http://x.example/ HTTP/1.1|Host: localhost||", 421),
        ("GET http://localhost/ HTTP/1.1|Host: x.example||", 421), ("GET http://a b/ HTTP/1.1|", 400),
        ("GET http:///a HTTP/1.1|Host: localhost||", 421), ("GET /a#b HTTP/1.1|", 400),
        ("GET /% HTTP/1.1|", 400), ("GET /%4 HTTP/1.1|", 400), ("GET /%4g HTTP/1.1|", 400),
        ("GET /%%41 HTTP/1.1|", 400), ("GET /%4?1 HTTP/1.1|", 400), ("GET /é HTTP/1.1|", 400),
        // Line ends and control characters.
        ("GET / HTTP/1.1\n", 400), ("GET / HTTP/1.1\r\r", 400), ("GET /\r/ HTTP/1.1|", 400), ("\n", 400), ("\rG", 400),
        ("GET /\0 HTTP/1.1|", 400), ("GET / HTTP/1.1|Host: localhost\n\n", 400), ("\u{16}\u{3}\u{1}", 400),
        ("GET / HTTP/1.1|Host: localhost|A: b\0||", 400), ("GET / HTTP/1.1|Host: localhost|A: b\rC: d||", 400),
        ("GET / HTTP/1.1|Host: localhost|A: \u{7F}||", 400), ("GET / HTTP/1.1|Host: localhost|A: \u{1B}||", 400),
        // Fields.
        ("GET / HTTP/1.1|Host : localhost||", 400), ("GET / HTTP/1.1|Host\t: localhost||", 400),
        ("GET / HTTP/1.1| Host: localhost||", 400), ("GET / HTTP/1.1|Host: localhost| more||", 400),
        ("GET / HTTP/1.1|Host: localhost|\tmore: x||", 400), ("GET / HTTP/1.1|Host: localhost|nothing||", 400),
        ("GET / HTTP/1.1|Host: localhost|: x||", 400), ("GET / HTTP/1.1|Host: localhost|a b: x||", 400),
        ("GET / HTTP/1.1|Host: localhost|é: x||", 400), ("GET / HTTP/1.1|Host: localhost|(a): x||", 400),
        // The host.
        ("GET / HTTP/1.1||", 400), ("GET / HTTP/1.1|Host: localhost|Host: localhost||", 400),
        ("GET / HTTP/1.1|host: localhost|HOST: localhost||", 400), ("GET / HTTP/1.1|Host: a b||", 400),
        ("GET / HTTP/1.1|Host: a@localhost||", 400), ("GET / HTTP/1.1|Host: localhost:x||", 400),
        ("GET / HTTP/1.1|Host: localhost/||", 400), ("GET / HTTP/1.1|Host: [::1||", 400),
        ("GET / HTTP/1.1|Host: [::1]x||", 400), ("GET / HTTP/1.1|Host: localhost, localhost||", 400),
        ("GET / HTTP/1.1|Host: ||", 421), ("GET / HTTP/1.1|Host: evil.example||", 421),
        ("GET / HTTP/1.1|Host: 127.0.0.1.evil.example||", 421), ("GET / HTTP/1.1|Host: localhost.evil.example||", 421),
        ("GET / HTTP/1.1|Host: 10.0.0.1:80||", 421), ("GET / HTTP/1.0|Host: evil.example||", 421),
        ("GET / HTTP/1.1|Host: localhost:65536||", 400),
        ("GET http://localhost:99999/ HTTP/1.1|Host: localhost||", 400),
        ("GET / HTTP/1.1|Host: [::2]||", 421), ("GET / HTTP/1.1|Host: 127.1||", 421),
        ("GET / HTTP/1.1|Host: 127.0.0.256||", 421), ("GET / HTTP/1.1|Host: 127.+1.0.1||", 421),
        // Bodies.
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 5||", 413),
        ("HEAD / HTTP/1.1|Host: localhost|Content-Length: 5||", 413),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 99999999999999999999||", 413),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: ||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: -0||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: +0||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 0x0||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 0, 0||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 0|Content-Length: 0||", 400),
        ("GET / HTTP/1.1|Host: localhost|Content-Length: 0|Content-Length: 5||", 400),
        ("GET / HTTP/1.1|Host: localhost|Transfer-Encoding: chunked||0||", 400),
        ("HEAD / HTTP/1.1|Host: localhost|transfer-encoding: identity||", 400),
        ("GET / HTTP/1.0|Transfer-Encoding: chunked||", 400),
        ("POST / HTTP/1.1|Host: localhost|Transfer-Encoding: chunked|Content-Length: 0||", 400),
        // Unsupported features.
        ("POST / HTTP/1.1|Host: localhost|Content-Length: 5||hello", 405),
        ("POST / HTTP/1.1|Host: localhost|Transfer-Encoding: chunked||", 405),
        ("DELETE / HTTP/1.1|Host: localhost||", 405), ("get / HTTP/1.1|Host: localhost||", 405),
        ("GETS / HTTP/1.1|Host: localhost||", 405), ("TRACE / HTTP/1.1|Host: localhost||", 405),
        ("GET / HTTP/1.1|Host: localhost|Expect: 100-continue||", 417),
        ("GET / HTTP/1.1|Host: localhost|expect: ||", 417),
    ]

    @Test(arguments: malformed) func `A malformed request is refused`(text: String, status: Int) {
        let bytes = Array(text.replacing("|", with: "\r\n").utf8)
        for piece in [1, 2, 3, 7, .max] {
            #expect(events(of: bytes, piece: piece) == [.refused(status)], "in pieces of \(piece)")
        }
    }

    @Test func `A request is parsed as it was sent`() throws {
        let request = try request(
            "GET /v0/b/a%2Fb?alt=media&token=x+y%20z&flag&=3 HTTP/1.1\r\nhOst:localhost:80\r\n"
                + "X-Odd: \t a, \"b\"\t c \t\r\nEmpty:\r\nX-Odd: é\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")
        #expect(request.method == .get && request.path == "/v0/b/a%2Fb")
        #expect(request.query == "alt=media&token=x+y%20z&flag&=3")
        #expect(request.queryItems.map(\.name) == ["alt", "token", "flag", ""])
        #expect(request.queryItems.map(\.value) == ["media", "x y z", nil, "3"])
        #expect(request.queryItems[1].rawValue == "x+y%20z")
        #expect(request.headers["HOST"] == "localhost:80" && request.headers["empty"] == "")
        #expect(request.headers.all("x-odd") == ["a, \"b\"\t c", "é"] && request.headers.only("x-odd") == nil)
        #expect(request.keepsAlive)
    }

    @Test(arguments: [("/a%2F?b=c", "/a%2F", "b=c"), ("", "/", nil), ("?b", "/", "b")] as [(String, String, String?)])
    func `A target in absolute form has its own host`(target: String, path: String, query: String?) throws {
        let request = try request("GET HTTP://127.0.0.1:80\(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(request.path == path && request.query == query)
    }

    @Test func `Escapes are decoded on demand, and a plus is a blank in queries only`() {
        #expect(percentDecoded("a+b%2B%c3%A9") == "a+b+é")
        #expect(percentDecoded("a+b%2B", plusIsSpace: true) == "a b+")
        for broken in ["%", "%4", "%zz", "%ff", "%c3", "a%2", "%+1"] { #expect(percentDecoded(broken) == nil) }
    }

    @Test(arguments: [
        ("1.1", "", true), ("1.1", "Connection: close", false), ("1.1", "Connection: Foo, CLOSE ,", false),
        ("1.1", "Connection: closed", true), ("1.0", "", false), ("1.0", "Connection: Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false), ("1.1", "Connection: keep-alive\r\nConnection: close", false),
    ]) func `A connection is kept open as both HTTP versions specify`(version: String, field: String, keeps: Bool)
        throws
    {
        let lines = ["GET / HTTP/\(version)", "Host: [::1]:1", field].filter { !$0.isEmpty }
        #expect(try request(lines.joined(separator: "\r\n") + "\r\n\r\n").keepsAlive == keeps)
    }

    @Test func `Hosts of this machine and the named hosts are accepted`() {
        let hosts = AcceptedHosts(andAlso: ["box.example", "10.0.0.1"])
        for name in [
            "localhost", "LocalHost:1", "127.0.0.1", "127.9.8.7:80", "[::1]", "[::1]:8", "[::ffff:127.0.0.2]",
            "BOX.example:",
        ] {
            #expect(AcceptedHosts.host(of: name).map(hosts.accepts) == true, "\(name)")
        }
        for name in [
            "10.0.0.2", "box.example.org", "a.localhost", "0127.0.0.1", "127.0.0.1.1", "127..0.1", "[::127.0.0.1]",
            "[::ffff:10.0.0.1]", "[::2:1]",
        ] {
            #expect(AcceptedHosts.host(of: name).map(hosts.accepts) == false, "\(name)")
        }
    }

    @Test func `Lines, fields and heads have exactly the limits of their length`() throws {
        let host = "Host: localhost\r\n"
        func path(_ length: Int) -> String {
            "GET /\(String(repeating: "a", count: length - 14)) HTTP/1.1\r\n\(host)\r\n"
        }
        #expect(refusal(of: path(16384)) == nil && refusal(of: path(16385)) == 414)
        #expect(refusal(of: String(repeating: "A", count: 17000)) == 414)
        func field(_ length: Int) -> String {
            "GET / HTTP/1.1\r\n\(host)A: \(String(repeating: "a", count: length - 3))\r\n\r\n"
        }
        #expect(refusal(of: field(16384)) == nil && refusal(of: field(16385)) == 431)
        func fields(_ count: Int) -> String {
            "GET / HTTP/1.1\r\n\(host)\(String(repeating: "a:b\r\n", count: count - 1))\r\n"
        }
        #expect(refusal(of: fields(2048)) == nil && refusal(of: fields(2049)) == 431)
        func head(_ bytes: Int) -> String {
            let long = String(repeating: "A: \(String(repeating: "a", count: 16_000))\r\n", count: 4)
            let start = "GET / HTTP/1.1\r\n\(host)\(long)"
            return start + "B: \(String(repeating: "b", count: bytes - start.utf8.count - 7))\r\n\r\n"
        }
        #expect(refusal(of: head(64 << 10)) == nil && refusal(of: head(64 << 10 + 1)) == 431)
    }

    @Test func `Pipelined requests are separated, also after a blank line`() {
        let text = (1...5).map { "GET /\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined(separator: "\r\n")
        let bytes = Array(text.utf8)
        let whole = events(of: bytes)
        #expect(whole.map(path) == ["/1", "/2", "/3", "/4", "/5"])
        for piece in 1...50 { #expect(events(of: bytes, piece: piece) == whole) }
    }

    private func path(_ event: RequestParser.Event) -> String? {
        if case .request(let request) = event { request.path } else { nil }
    }

    @Test func `Nothing is parsed after an error`() {
        var parser = RequestParser(limits: HTTPServerLimits(), hosts: AcceptedHosts())
        Array("BAD\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8).withUnsafeBytes { parser.append($0) }
        for _ in 0..<3 { #expect(parser.next() == .refused(400)) }
        Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8).withUnsafeBytes { parser.append($0) }
        #expect(parser.next() == .refused(400))
    }
}
