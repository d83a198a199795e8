import JSONText
import JSONRPC

/// `initialize`: says what this service is. Nobody has to call it.
struct Initialize: PromptMethod {
    static let name = "initialize"
    static let protocolVersion: Int64 = 1

    init(_ params: inout Params) throws(RPCError) {
        let version = try params.optionalInteger("protocolVersion") ?? Self.protocolVersion
        guard version == Self.protocolVersion else {
            throw .invalidParam(
                "protocolVersion", "must be \(Self.protocolVersion), the only version that this service speaks")
        }
        guard var client = try params.optionalObject("client") else { return }
        _ = try client.string("name")
        _ = try client.optionalString("version")
        try client.finish()
    }

    func run(in request: Request<Session>) throws -> JSON {
        let configuration = request.context.service.configuration
        return [
            "protocolVersion": JSON(Self.protocolVersion),
            "server": ["name": "storage-rpc", "version": .string(Service.version)],
            "engine": .string(configuration.engine),
            "defaultBucket": .string(configuration.defaultBucket),
            "methods": .array(allMethods.names.map(JSON.string)),
            "notifications": .array(allNotifications.map(JSON.string)),
            "limits": configuration.limits.json,
        ]
    }
}
