import JSONText
import JSONRPC

/// `service/ping`: answers at once.
struct Ping: ParameterlessMethod, PromptMethod {
    static let name = "service/ping"

    func run(in request: Request<ConnectionContext>) throws -> JSON { "pong" }
}
