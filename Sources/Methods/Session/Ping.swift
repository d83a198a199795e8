import JSONRPC

/// `service/ping`: is anybody there?
struct Ping: ParameterlessMethod {
    static let name = "service/ping"

    func run(in request: Request<Session>) async throws -> JSON { "pong" }
}
