import JSONText
import JSONRPC

/// `exit`: on stdio ends the process, with status 0 after `shutdown`, else 1; on a socket ends the connection.
struct Exit: ParameterlessMethod {
    static let name = "exit"

    func run(in request: Request<ConnectionContext>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in context: ConnectionContext) { context.exit() }
}
