import JSONRPC
import JSONText
import Platform

/// `initialize`: describes this service. Calling it is optional.
struct Initialize: PromptMethod {
    static let name = "initialize"
    static let protocolVersion: Int64 = 1

    /// Ignores unknown params, because clients of other protocols send more than this service uses.
    init(_ params: inout Params) throws(RPCError) {
        pausesTasks = try params.optionalBool("pausesTasks") ?? false
        tellsRetries = try params.optionalBool("tellsRetries") ?? false
        let client = params.takeRest().first { $0.key == "client" }?.value
        name = [client?["name"]?.string, client?["version"]?.string].compactMap { $0 }.joined(separator: " ")
    }

    private let name: String
    private let pausesTasks: Bool
    private let tellsRetries: Bool

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        if pausesTasks { request.context.pausesTasks = true }
        if tellsRetries { request.context.tellsRetries = true }
        if !name.isEmpty { request.context.clientName = String(name.prefix(100)) }
        let service = request.context.service
        let description: [JSON.Member] = .init(present: [
            "protocolVersion": JSON(Self.protocolVersion),
            "server": ["name": "storage-rpc", "version": .string(ServiceContext.version)],
            "engine": .string(service.engine),
            "defaultBucket": .string(service.configuration.defaultBucket),
            "durability": .string(Durability.ofProcess.rawValue),
            "methods": .array(service.methods.names.map(JSON.string)),
            "notifications": .array(service.notifications.map(JSON.string)),
            "limits": service.configuration.limits.json,
            "harness": service.harness.map { _ in true },
        ])
        return .object(description)
    }
}

/// `shutdown`: after it the connection accepts only `exit`.
struct Shutdown: ParameterlessMethod, PromptMethod {
    static let name = "shutdown"

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        request.context.isShutDown = true
        return .null
    }
}

/// `exit`: on stdio ends the process, with status 0 after `shutdown`, else 1; on a socket closes the connection.
struct Exit: ParameterlessMethod {
    static let name = "exit"

    func run(in request: Request<ConnectionContext>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in context: ConnectionContext) { context.exit() }
}
