import HTTPText
import Metrics
import Platform

/// `GET /metrics`: the metrics of the process in the text format of Prometheus.
///
/// Only peers on this machine get the metrics, and no request that a proxy has passed on. The answer has no CORS
/// headers, so pages of browsers cannot read it.
@Loop
package struct MetricsPage {
    private let families: @Loop () async -> [MetricFamily]

    package init(_ families: @escaping @Loop () async -> [MetricFamily]) { self.families = families }

    private static let forwarding = ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"]

    /// The answer with the metrics; nil for another path or method.
    package func answer(to request: HTTPServerRequest) async -> HTTPServerResponse? {
        guard request.path == "/metrics", request.query == nil, request.method == .get || request.method == .head else {
            return nil
        }
        guard SocketAddress(request.remoteAddress)?.isLoopback == true,
            Self.forwarding.allSatisfy({ request.headers[$0] == nil })
        else { return HTTPServerResponse(403) }
        let text = PrometheusText.text(of: await families())
        return HTTPServerResponse(
            200,
            headers: [
                "Content-Type": PrometheusText.contentType, "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
            ], body: .bytes(Array(text.utf8)))
    }
}
