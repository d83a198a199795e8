import JSONText
import JSONRPC

/// `initialize`: describes this service. Calling it is optional.
struct Initialize: PromptMethod {
    static let name = "initialize"
    static let protocolVersion: Int64 = 1

    /// Accepts any params, because clients of other protocols send more than this service uses.
    init(_ params: inout Params) throws(RPCError) { _ = params.takeRest() }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        let service = request.context.service
        return [
            "protocolVersion": JSON(Self.protocolVersion),
            "server": ["name": "storage-rpc", "version": .string(ServiceContext.version)],
            "engine": .string(service.engine),
            "defaultBucket": .string(service.configuration.defaultBucket),
            "methods": .array(allMethods.names.map(JSON.string)),
            "notifications": .array(allNotifications.map(JSON.string)),
            "limits": service.configuration.limits.json,
        ]
    }
}
