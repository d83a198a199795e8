import Glibc
import HTTPClient
import HTTPText
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct ReachTests {
    @Test func `A refused connection is an error`() async throws {
        let (socket, port) = try FixtureServer.silentPort()
        defer { close(socket) }
        let error = try await failure(of: HTTPRequest("PUT", "http://127.0.0.1:\(port)/o?token=x", body: .bytes([1])))
        #expect(error.kind == .cannotConnect("Connection refused") && error.isRetryable)
        #expect(!error.mayHaveReachedServer)
        #expect(error.description == "127.0.0.1:\(port): no connection: Connection refused")
    }

    @Test func `A host without an address is an error`() async throws {
        let error = try await failure(of: HTTPRequest("GET", "http://nowhere.invalid/"))
        #expect(error.kind == .cannotResolve && error.isRetryable && !error.mayHaveReachedServer)
        #expect(error.description == "nowhere.invalid: the name cannot be resolved")
    }

    @Test func `Requests go through the proxy, except to the hosts in no_proxy`() async throws {
        let proxy = try FixtureServer { peer in
            while true { try peer.answer("200 OK", peer.readRequest().line) }
        }
        let variables = ["http_proxy": proxy.url, "NO_PROXY": "direct.invalid", "HTTP_PROXY": "http://nowhere.invalid"]
        let client = HTTPClient(HTTPEnvironment { variables[$0] })
        let response = try await client.perform(HTTPRequest("GET", "http://upstream.invalid/x"))
        #expect(String(decoding: response.body, as: UTF8.self) == "GET http://upstream.invalid/x HTTP/1.1")
        let error = try await failure(of: HTTPRequest("GET", "http://direct.invalid/y"), by: client)
        #expect(error.kind == .cannotResolve)
    }

    @Test func `A refusal of the proxy is a failed connection`() async throws {
        let proxy = try FixtureServer { peer in
            let request = try peer.readRequest()
            #expect(request.line == "CONNECT upstream.invalid:443 HTTP/1.1" && request.headers["X-Secret"] == nil)
            try peer.answer("403 Forbidden")
        }
        let client = HTTPClient(HTTPEnvironment { $0 == "ALL_PROXY" ? proxy.url : nil })
        let request = HTTPRequest("GET", "https://upstream.invalid/", headers: ["X-Secret": "s"])
        let error = try await failure(of: request, by: client)
        #expect(error.kind == .cannotConnect("the proxy answered 403"))
    }

    @Test func `The environment variables are those of curl`() {
        let variables = [
            "http_proxy": "a", "HTTPS_PROXY": "b", "all_proxy": "c", "no_proxy": "d", "SSL_CERT_FILE": "e",
            "SSL_CERT_DIR": "f", "CURL_CA_BUNDLE": "g", "https_proxy": "",
        ]
        let environment = HTTPEnvironment { variables[$0] }
        #expect(environment.proxy == "a" && environment.secureProxy == "b" && environment.direct == "d")
        #expect(environment.certificateFile == "e" && environment.certificateDirectory == "f")
        #expect(HTTPEnvironment { $0 == "HTTP_PROXY" ? "a" : nil } == HTTPEnvironment { _ in nil })
    }
}
