import JSONText
import JSONRPC

/// `service/stop`: ends the process for all clients, as SIGTERM does.
struct StopService: ParameterlessMethod {
    static let name = "service/stop"

    func run(in request: Request<ConnectionContext>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in context: ConnectionContext) {
        context.service.exit(0, "service/stop of connection \(context.number)")
    }
}
