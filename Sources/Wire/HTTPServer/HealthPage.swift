import HTTPText
import Platform

/// `GET /healthz`: 200 once the objects can be used, else 503, with the reason for peers on this machine.
@Loop
package struct HealthPage {
    private let reason: @Loop () async -> String?

    /// - Parameter reason: why the objects cannot be used; nil if they can.
    package init(_ reason: @escaping @Loop () async -> String?) { self.reason = reason }

    /// Nil for another path or method.
    package func answer(to request: HTTPServerRequest) async -> HTTPServerResponse? {
        guard request.path == "/healthz", request.query == nil, request.method == .get || request.method == .head else {
            return nil
        }
        let reason = await reason()
        let isNear = SocketAddress(request.remoteAddress)?.isLoopback == true
        let text = reason.map { isNear ? $0 : "The objects cannot be used." } ?? "ok"
        return HTTPServerResponse(
            reason == nil ? 200 : 503,
            headers: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
            body: .bytes(Array("\(text)\n".utf8)))
    }
}
