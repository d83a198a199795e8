import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct MetricsPageTests {
    @Loop private func status(
        _ path: String = "/metrics", method: HTTPServerRequest.Method = .get, query: String? = nil,
        headers: HTTPHeaders = [:], from peer: String = "127.0.0.1:5"
    ) async -> Int? {
        let request = HTTPServerRequest(path, method: method, query: query, headers: headers, remoteAddress: peer)
        return await MetricsPage { [] }.answer(to: request)?.status
    }

    @Test(arguments: ["127.0.0.1:5", "127.3.2.1:5", "[::1]:5", "[::ffff:127.0.0.1]:5"])
    func `A peer on this machine may read the metrics`(peer: String) async {
        #expect(await status(from: peer) == 200)
        #expect(await status(method: .head, from: peer) == 200)
    }

    @Test(arguments: ["10.0.0.1:5", "[fe80::1]:5", "[::ffff:10.0.0.1]:5", "1.127.0.0:5", ""])
    func `A peer on another machine may not read the metrics`(peer: String) async {
        #expect(await status(from: peer) == 403)
    }

    @Test(arguments: ["Forwarded", "x-forwarded-for", "X-Real-IP", "Via"])
    func `A request that a proxy forwards may not read the metrics`(header: String) async {
        #expect(await status(headers: [header: "10.0.0.1"]) == 403)
    }

    @Test func `Requests with other paths, methods or queries are not metrics requests`() async {
        #expect(await status("/metrics/") == nil)
        #expect(await status("/v0/metrics") == nil)
        #expect(await status(method: .post) == nil)
        #expect(await status(query: "prefix=a") == nil)
    }

    @Loop private func health(_ path: String, _ reason: String?, from peer: String) async -> String? {
        let request = HTTPServerRequest(path, method: .get, query: nil, headers: [:], remoteAddress: peer)
        guard let answer = await HealthPage({ reason }).answer(to: request), case .bytes(let bytes) = answer.body else {
            return nil
        }
        return "\(answer.status) " + String(decoding: bytes, as: UTF8.self)
    }

    @Test func `All peers see the health, and those on this machine the reason of a failure`() async {
        #expect(await health("/healthz", nil, from: "10.0.0.1:5") == "200 ok\n")
        #expect(await health("/healthz", "/root is gone", from: "127.0.0.1:5") == "503 /root is gone\n")
        #expect(await health("/healthz", "/root is gone", from: "10.0.0.1:5") == "503 The objects cannot be used.\n")
        #expect(await health("/healthz/", nil, from: "127.0.0.1:5") == nil)
    }
}
