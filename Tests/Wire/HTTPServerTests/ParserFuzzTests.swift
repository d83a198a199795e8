import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct ParserFuzzTests {
    private static let seeds = [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "HEAD /a%20b?c=d&e HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /v0/b/x/o/y?alt=media HTTP/1.1\r\nHost: [::1]:80\r\nRange: bytes=0-5\r\nIf-None-Match: \"a\", W/\"b\"\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
    ]
    private static let pieces = [
        "\r", "\n", "\r\n", "\r\n\r\n", "\0", " ", "\t", ":", "%", "GET ", "HTTP/1.1", "Host: ",
        "Content-Length: 0\r\n",
        "\u{FF}", "9999999999999999999999", "*",
    ]

    private func mutated(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 0...8, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 1: bytes.removeSubrange(place..<end)
        case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 3: bytes.insert(contentsOf: Array((Self.pieces.randomElement(using: &random) ?? "").utf8), at: place)
        default: for index in place..<end { bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random) }
        }
    }

    /// Small limits, so that the mutations reach them.
    private var limits: HTTPServerLimits {
        var limits = HTTPServerLimits()
        (limits.lineBytes, limits.headBytes, limits.headers) = (64, 200, 4)
        return limits
    }

    @Test(arguments: 0..<20) func `Damaged and split requests have one interpretation or none`(seed: Int) {
        var random = SeededGenerator(state: UInt64(seed))
        for _ in 0..<300 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes += Array((Self.seeds.randomElement(using: &random) ?? "").utf8)
            }
            for _ in 0..<Int.random(in: 1...6, using: &random) { mutated(&bytes, &random) }
            let whole = events(of: bytes, limits)
            #expect(events(of: bytes, piece: 1, limits) == whole)
            #expect(events(of: bytes, piece: Int.random(in: 2...40, using: &random), limits) == whole)
            for case .request(let request) in whole { check(request) }
        }
    }

    /// Checks what a handler may rely on.
    private func check(_ request: HTTPServerRequest) {
        #expect(request.path.hasPrefix("/") && request.path.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x3F })
        #expect(request.headers.fields.count <= 4 && request.headers["Transfer-Encoding"] == nil)
        for field in request.headers.fields {
            #expect(isToken(field.name.utf8) && field.value.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x09 })
        }
        _ = request.queryItems.map { ($0.name, $0.value) }
        let resource = ServedResource(size: 10, etag: EntityTag("a")) { _ in HTTPServerResponse.Body.none }
        _ = ConditionalOutcome(request, resource, at: TimeSource.system.httpDate)
    }
}
