import Glibc
import HTTPClient
import HTTPText
import Platform
import Synchronization
import TestSupport
import Testing

/// Requests that fail before they are sent.
@Suite(.watchdog) struct RefusalTests {
    private static let url = "http://127.0.0.1:1/"

    @Test(arguments: [
        "", "/", "http://", "http:///x", "ftp://host/", "file:///etc/passwd", "http://host/a b", "http://host/\r\nX: y",
        "http://host/\0", "http://host/ü", "https:/host", "http://host:99999/", "http://user:secret@127.0.0.1:1/",
    ])
    func `An invalid URL is refused`(url: String) async throws {
        let error = try await failure(of: HTTPRequest("GET", url))
        #expect(error.kind == .badURL && !error.mayHaveReachedServer && !error.isRetryable)
        #expect(!error.description.contains("secret"))
    }

    @Test(arguments: ["", "GET ", "GET / HTTP/1.1\r\nX: y", "G\0T", "GÉT"])
    func `An invalid method is refused`(method: String) async throws {
        let error = try await failure(of: HTTPRequest(method, Self.url))
        #expect(error.kind == .badRequest("the method is not a token"))
    }

    @Test(arguments: ["", "X Y", "X:", "X\r\nY", "X\0", "Ü"])
    func `An invalid header name is refused`(name: String) async throws {
        let error = try await failure(of: HTTPRequest("GET", Self.url, headers: [name: "secret"]))
        #expect(error.kind == .badRequest("a header's name is not a token"))
    }

    @Test(arguments: ["secret\r\nX: y", "secret\n", "\rsecret", "sec\0ret"])
    func `An invalid header value is refused`(value: String) async throws {
        let error = try await failure(of: HTTPRequest("GET", Self.url, headers: ["Authorization": value]))
        #expect(error.kind == .badRequest("the header Authorization has a line break or a NUL in it"))
        #expect(!"\(error)".contains("secret") && !"\(HTTPHeaders(dictionaryLiteral: ("A", value)))".contains("secret"))
    }

    @Test(arguments: ["content-length", "Transfer-Encoding", "EXPECT"])
    func `Headers that the client sets are refused`(name: String) async throws {
        let error = try await failure(of: HTTPRequest("GET", Self.url, headers: [name: "1"]))
        #expect(error.kind == .badRequest("the header \(name) is not the caller's to set"))
    }

    @Test func `Headers are found in any case`() {
        var headers: HTTPHeaders = ["A": "1", "b": "2", "a": "3"]
        #expect(headers["a"] == "3" && headers.all("A") == ["1", "3"] && headers["B"] == "2" && headers["c"] == nil)
        headers["A"] = "4"
        #expect(headers.fields == [.init("b", "2"), .init("A", "4")])
        headers["B"] = nil
        #expect(headers.description == "A")
    }

    @Test func `Without a thread a request fails and is retryable`() async {
        let isShort = Mutex(true)
        let client = HTTPClient(connectionsPerHost: 1, environment: .ofProcess) {
            name, stackSize, body throws(ThreadUnavailable) in
            if isShort.withLock({ $0 }) { throw ThreadUnavailable(code: EAGAIN) }
            try startThread(name, stackSize: stackSize, body)
        }
        let request = HTTPRequest("GET", Self.url)
        for _ in 1...2 {
            await #expect(throws: HTTPError(.noThread("\(ThreadUnavailable(code: EAGAIN))"), host: "127.0.0.1:1")) {
                try await client.perform(request)
            }
        }
        isShort.withLock { $0 = false }
        let error = await #expect(throws: HTTPError.self) { try await client.perform(request) }
        #expect(error?.kind == .cannotConnect("Connection refused") && error?.isRetryable == true)
    }

    @Test func `A missing library is named with its package`() {
        let error = HTTPError(.libraryMissing("libcurl.so.4 cannot be loaded"), host: "")
        #expect(error.description.hasPrefix("libcurl is not on this machine (libcurl.so.4 cannot be loaded): install"))
        #expect(error.description.contains("libcurl4 (Debian, Ubuntu)") && !error.isRetryable)
    }

    @Test(arguments: [
        ("SSL_CERT_FILE", "CURLOPT_CAINFO"), ("SSL_CERT_DIR", "CURLOPT_CAPATH"), ("https_proxy", "CURLOPT_PROXY"),
        ("no_proxy", "CURLOPT_NOPROXY"),
    ])
    func `An option that libcurl refuses is an error that names it`(variable: String, option: String) async throws {
        let tooLong = repeated("x", 8_000_001)
        let client = HTTPClient(HTTPEnvironment { $0 == variable ? tooLong : nil })
        let error = try await failure(of: HTTPRequest("GET", "https://upstream.invalid/"), by: client)
        guard case .optionRefused(option, _) = error.kind else {
            Issue.record("\(error)")
            return
        }
        #expect("\(error)".contains("libcurl does not take \(option)"))
        #expect(!error.isRetryable && !error.mayHaveReachedServer)
    }
}
