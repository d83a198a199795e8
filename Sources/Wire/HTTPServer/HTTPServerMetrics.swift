import Metrics
import Platform

/// The counts of what a server has received, answered and sent.
@Loop
package final class HTTPServerMetrics {
    /// The number of answers by the first digit of the status; at 0 the requests without an answer.
    private var answers = [Int](repeating: 0, count: 6)
    var received = 0
    var sent: Int64 = 0

    package nonisolated init() {}

    func answered(_ status: Int) { answers[2...5 ~= status / 100 ? status / 100 : 0] += 1 }

    fileprivate func samples(_ server: String) -> [(labels: [(String, String)], count: Int)] {
        answers.enumerated().filter { $0.element > 0 }.map { digit, count in
            (labels: [("server", server), ("status", digit == 0 ? "none" : "\(digit)xx")], count: count)
        }
    }

    /// - Parameter servers: the servers with their names and numbers of open connections.
    package static func families(
        _ servers: [(name: String, metrics: HTTPServerMetrics, connections: Int)]
    ) -> [MetricFamily] {
        func each(_ count: (HTTPServerMetrics) -> Int) -> [(labels: [(String, String)], count: Int)] {
            servers.map { (labels: [("server", $0.name)], count: count($0.metrics)) }
        }
        return [
            .gauges(
                "storage_rpc_http_connections", "Open HTTP connections.",
                servers.map { (labels: [("server", $0.name)], count: $0.connections) }),
            .counters(
                "storage_rpc_http_requests_total", "HTTP requests by server and status of the answer.",
                servers.flatMap { $0.metrics.samples($0.name) }),
            .counters("storage_rpc_http_received_bytes_total", "Bytes of HTTP from clients.", each { $0.received }),
            .counters("storage_rpc_http_sent_bytes_total", "Bytes of HTTP to clients.", each { Int($0.sent) }),
        ]
    }
}
