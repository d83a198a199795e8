import JSONRPC

/// `shutdown`: from here on the connection may only ask for the end.
struct Shutdown: ParameterlessMethod {
    static let name = "shutdown"

    func run(in request: Request<Session>) async throws -> JSON {
        request.context.isShutDown = true
        return .null
    }
}
