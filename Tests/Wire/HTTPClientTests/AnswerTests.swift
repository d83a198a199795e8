import HTTPClient
import HTTPText
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct AnswerTests {
    let client = HTTPClient(.none)

    @Test(arguments: [200, 204, 206, 301, 302, 304, 307, 308, 400, 401, 403, 404, 409, 412, 429, 500, 503, 599])
    func `Every status is a response`(status: Int) async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.answer("\(status) Whatever", status == 204 || status == 304 ? "" : "said")
        }
        let response = try await client.perform(HTTPRequest("GET", server.url))
        #expect(response.status == status)
        #expect(response.body == (status == 204 || status == 304 ? [] : Array("said".utf8)))
    }

    @Test func `A redirect is not followed`() async throws {
        let server = try FixtureServer { peer in
            let request = try peer.readRequest()
            #expect(request.line == "PUT /a HTTP/1.1" && request.body == [1, 2, 3])
            try peer.answer("308 Resume Incomplete", headers: ["Location: /b", "Range: bytes=0-1"])
            #expect(throws: FixturePeer.Gone.self) { try peer.readHead() }
        }
        let response = try await client.perform(HTTPRequest("PUT", server.url + "/a", body: .bytes([1, 2, 3])))
        #expect(response.status == 308 && response.headers["range"] == "bytes=0-1")
        #expect(response.bytesSent == 3)
    }

    @Test func `A request is sent unchanged`() async throws {
        let got = Mutex<FixturePeer.Request?>(nil)
        let server = try FixtureServer { peer in
            let request = try peer.readRequest()
            got.withLock { $0 = request }
            try peer.answer()
        }
        let url = server.url + "/o/a%2Fb/../c?name=x%20y"
        let headers: HTTPHeaders = ["X-Two": "2", "x-one": "1", "X-Two": "3", "X-Empty": "", "Accept": "a/b"]
        let body = HTTPBody.bytes(pattern(3 << 20))
        _ = try await client.perform(HTTPRequest("PATCH", url, headers: headers, body: body))
        let request = try #require(got.withLock { $0 })
        #expect(request.line == "PATCH /o/a%2Fb/../c?name=x%20y HTTP/1.1")
        #expect(request.headers.all("x-two") == ["2", "3"] && request.headers["X-One"] == "1")
        #expect(request.headers["X-Empty"] == "" && request.headers.all("Accept") == ["a/b"])
        #expect(request.headers["Expect"] == nil && request.headers["Content-Type"] == nil)
        #expect(request.body == pattern(3 << 20))
    }

    @Test(arguments: ["GET", "DELETE", "POST", "PUT", "PATCH"])
    func `A request without a body has no body`(method: String) async throws {
        let server = try FixtureServer { peer in
            let request = try peer.readRequest()
            #expect(request.line == "\(method) / HTTP/1.1")
            #expect(request.headers["Transfer-Encoding"] == nil && request.headers["Content-Type"] == nil)
            try peer.answer("200 OK", request.headers["Content-Length"] ?? "none")
        }
        let response = try await client.perform(HTTPRequest(method, server.url))
        #expect(String(decoding: response.body, as: UTF8.self) == (["GET", "DELETE"].contains(method) ? "none" : "0"))
    }

    @Test func `An empty source is an empty body`() async throws {
        let server = try FixtureServer { peer in
            let request = try peer.readRequest()
            #expect(request.headers["Content-Length"] == "0")
            try peer.answer()
        }
        let source = ScriptedSource(count: 0) { _, _, _ in .failed("asked") }
        #expect(try await client.perform(HTTPRequest("PUT", server.url, body: .source(source))).status == 200)
    }

    @Test func `A response to HEAD has a length and no body`() async throws {
        let server = try FixtureServer { peer in
            for _ in 1...2 {
                #expect(try peer.readRequest().line == "HEAD / HTTP/1.1")
                try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            }
        }
        for _ in 1...2 {
            let response = try await client.perform(HTTPRequest("HEAD", server.url))
            #expect(response.headers["content-length"] == "1000" && response.body.isEmpty)
        }
        #expect(server.connections == 1)
    }

    @Test func `Interim responses are skipped`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n")
            try peer.answer("201 Created", headers: ["X: late"])
        }
        let response = try await client.perform(HTTPRequest("POST", server.url, body: .bytes([1])))
        #expect(response.status == 201 && response.headers["link"] == nil && response.headers["x"] == "late")
    }

    @Test func `Chunks are joined to a body, and trailers are ignored`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX:\t a \r\nx:b\r\n\r\n")
            for word in ["4\r\nWiki\r\n", "5;x=y\r\npedia\r\n", "0\r\nX: trailer\r\n\r\n"] { try peer.write(word) }
            _ = try peer.readRequest()
            try peer.answer()
        }
        let response = try await client.perform(HTTPRequest("GET", server.url))
        #expect(response.body == Array("Wikipedia".utf8))
        #expect(response.headers.all("X") == ["a", "b"])
        _ = try await client.perform(HTTPRequest("GET", server.url))
        #expect(server.connections == 1)
    }

    @Test func `A body above the limit is an error`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.answer("200 OK", String(repeating: "x", count: 1001))
        }
        var request = HTTPRequest("GET", server.url)
        request.limits.answerBytes = 1001
        #expect(try await client.perform(request).body.count == 1001)
        request.limits.answerBytes = 1000
        let error = try await failure(of: request)
        #expect(error.kind == .tooLarge(limit: 1000) && error.mayHaveReachedServer && !error.isRetryable)
    }

    @Test func `A header above the limit is an error`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write("HTTP/1.1 200 OK\r\n")
            for number in 0... { try peer.write("X-\(number): \(String(repeating: "x", count: 1000))\r\n") }
        }
        let error = try await failure(of: HTTPRequest("GET", server.url))
        #expect(error.kind == .tooLarge(limit: 256 << 10))
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n", "HTTP/9 x\r\n\r\n"])
    func `A response that is not HTTP is an error`(greeting: String) async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write(greeting)
        }
        #expect(try await failure(of: HTTPRequest("GET", server.url)).kind.isBroken)
    }
}
