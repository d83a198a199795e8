import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct ResponseHeadTests {
    private func lines(_ response: HTTPServerResponse, _ persistence: ResponseHead.Persistence = .asUsual) -> [String] {
        let head = String(decoding: ResponseHead.bytes(response, persistence, date: "today"), as: UTF8.self)
        return head.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `A head has Content-Length, Date and Connection`() {
        let response = HTTPServerResponse(200, headers: ["A": "b"], body: .bytes([1, 2, 3]))
        let common = ["HTTP/1.1 200 OK", "Date: today", "Content-Length: 3", "A: b"]
        #expect(lines(response) == common + ["", ""])
        #expect(lines(response, .close) == common + ["Connection: close", "", ""])
        #expect(lines(response, .keepAlive) == common + ["Connection: keep-alive", "", ""])
    }

    @Test func `A 308 of a resumable upload has its range`() {
        let response = HTTPServerResponse(308, headers: ["Range": "bytes=0-5"])
        let fields = ["Date: today", "Content-Length: 0", "Range: bytes=0-5", "", ""]
        #expect(lines(response) == ["HTTP/1.1 308 Permanent Redirect"] + fields)
    }

    @Test(arguments: [201, 308, 404, 409, 411, 412, 413, 499, 501]) func `Each status has its reason phrase`(
        status: Int
    ) {
        #expect(lines(HTTPServerResponse(status))[0].split(separator: " ").count > 2)
    }

    @Test(arguments: [204, 304]) func `A status without a body has no Content-Length`(status: Int) {
        #expect(!lines(HTTPServerResponse(status, body: .unopened(5))).contains { $0.hasPrefix("Content-Length") })
    }

    @Test func `A value of a field cannot start another line`() {
        let response = HTTPServerResponse(
            200,
            headers: [
                "X-One": "a\r\nSet-Cookie: b", "X-Two": "\0\u{1}c\u{7F}\u{1B}[2J", "X-Three": "é\tü",
                "X-Four": "\r\n\r\n",
                "Bad Name": "x", "": "x", "X\r\nY": "x", "X:": "x", "é": "x",
            ])
        #expect(
            lines(response) == [
                "HTTP/1.1 200 OK", "Date: today", "Content-Length: 0", "X-One: aSet-Cookie: b", "X-Two: c[2J",
                "X-Three: é\tü", "X-Four: ", "", "",
            ])
    }

    @Test func `A handler cannot set the fields of the server`() {
        let response = HTTPServerResponse(
            206,
            headers: [
                "content-length": "5", "Transfer-Encoding": "chunked", "CONNECTION": "x", "Date": "x",
                "Keep-Alive": "x",
                "Upgrade": "x", "Trailer": "x",
            ])
        #expect(lines(response) == ["HTTP/1.1 206 Partial Content", "Date: today", "Content-Length: 0", "", ""])
    }
}
