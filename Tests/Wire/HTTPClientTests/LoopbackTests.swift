import HTTPClient
import HTTPText
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct LoopbackTests {
    @Test func `A request to this machine goes through no proxy, whatever the environment says`() async throws {
        let proxy = try FixtureServer { peer in
            while true { try peer.answer("200 OK", peer.readRequest().line) }
        }
        let server = try FixtureServer { peer in
            while true { try peer.answer("200 OK", peer.readRequest().line) }
        }
        let port = try #require(server.url.split(separator: ":").last)
        for names in [["http_proxy", "https_proxy"], ["all_proxy"], ["ALL_PROXY", "HTTPS_PROXY"]] {
            let client = HTTPClient(environment: HTTPEnvironment { names.contains($0) ? proxy.url : nil })
            for host in ["127.0.0.1", "127.1", "localhost", "LOCALHOST"] {
                let response = try await client.perform(
                    HTTPRequest("GET", "http://\(host):\(port)/y", headers: ["Authorization": "Bearer secret"]))
                #expect(String(decoding: response.body, as: UTF8.self) == "GET /y HTTP/1.1", "\(host)")
            }
            // Nothing listens there, or answers for TLS: without a proxy each of them fails immediately.
            for url in [
                "http://[::1]:\(port)/", "http://[::ffff:127.0.0.1]:\(port)/", "https://127.0.0.1:1/",
                "http://127.8.9.10:\(port)/", "https://localhost:1/",
            ] {
                _ = try? await client.perform(HTTPRequest("GET", url))
            }
        }
        #expect(proxy.connections == 0)
    }
}
