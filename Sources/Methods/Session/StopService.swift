import JSONText
import JSONRPC

/// `service/stop`: ends the process for all clients, as SIGTERM does.
struct StopService: ParameterlessMethod {
    static let name = "service/stop"

    func run(in request: Request<Session>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in session: Session) {
        session.service.exit(0, "service/stop of connection \(session.number)")
    }
}
