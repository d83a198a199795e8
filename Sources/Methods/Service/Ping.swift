import JSONText
import JSONRPC

/// `service/ping`: is anybody there?
struct Ping: ParameterlessMethod, PromptMethod {
    static let name = "service/ping"

    func run(in request: Request<ConnectionContext>) throws -> JSON { "pong" }
}
