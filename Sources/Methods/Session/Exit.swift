import JSONText
import JSONRPC

/// `exit`: ends the process, with status 0 after `shutdown`, else 1.
struct Exit: ParameterlessMethod {
    static let name = "exit"

    func run(in request: Request<Session>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in session: Session) {
        session.service.exit(session.isShutDown ? 0 : 1)
    }
}
