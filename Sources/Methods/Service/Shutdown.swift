import JSONText
import JSONRPC

/// `shutdown`: from here on the connection takes only `exit`.
struct Shutdown: ParameterlessMethod, PromptMethod {
    static let name = "shutdown"

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        request.context.isShutDown = true
        return .null
    }
}
