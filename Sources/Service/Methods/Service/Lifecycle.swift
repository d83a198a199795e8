import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// `initialize`: describes this service, names the default bucket of the connection, and gives up its rights. Calling it
/// is optional.
struct Initialize: ServiceMethod, RecallingMethod {
    static let name = "initialize"
    static let protocolVersion: Int64 = 1

    /// Ignores unknown params, because clients of other protocols send more than this service uses.
    init(_ params: inout Params) throws(RPCError) {
        pausesTasks = try params.optionalBool("pausesTasks") ?? false
        tellsRetries = try params.optionalBool("tellsRetries") ?? false
        defaultBucket = try params.optionalString("defaultBucket")
        if let defaultBucket {
            do throws(StorageError) { _ = try Reference(bucket: defaultBucket, path: "") } catch {
                throw error.naming("defaultBucket").rpcError
            }
        }
        wanted = try WantedRights(&params)
        let client = params.takeRest().first { $0.key == "client" }?.value
        name = [client?["name"]?.string, client?["version"]?.string].compactMap { $0 }.joined(separator: " ")
    }

    private let name: String
    private let pausesTasks: Bool
    private let tellsRetries: Bool
    /// Nil keeps the default bucket that the connection has.
    private let defaultBucket: String?
    private let wanted: WantedRights?

    var uses: [Use] { [] }

    func knownResult(in request: Request<ConnectionContext>) throws -> JSON? {
        if let wanted {
            guard wanted.areKnown else { return nil }
            try request.context.confine(to: wanted.known)
        }
        return result(in: request.context)
    }

    /// Finds the directories of the client. Later requests wait meanwhile, so that none runs with the former rights.
    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let context = request.context
        if let wanted {
            try await context.alone {
                try context.confine(to: await wanted.found(in: context.files))
            }
        }
        return result(in: context)
    }

    @Loop private func result(in context: ConnectionContext) -> JSON {
        if pausesTasks { context.pausesTasks = true }
        if tellsRetries { context.tellsRetries = true }
        if let defaultBucket { context.ownBucket = defaultBucket }
        if !name.isEmpty { context.clientName = String(name.prefix(100)) }
        let service = context.service
        let description: [JSON.Member] = .init(present: [
            "protocolVersion": JSON(Self.protocolVersion),
            "server": ["name": "storage-rpc", "version": .string(ServiceContext.version)],
            "engine": .string(service.engine),
            "defaultBucket": .string(context.defaultBucket),
            "preconditions": service.transfers.backend.preconditionChecks(in: context.defaultBucket).json,
            "durability": .string(Durability.ofProcess.rawValue),
            "methods": .array(service.methods.names.map(JSON.string)),
            "notifications": .array(service.notifications.map(JSON.string)),
            "limits": service.configuration.limits.json,
            "rights": context.rights?.json,
            "harness": service.harness.map { _ in true },
        ])
        return .object(description)
    }
}

extension PreconditionChecks {
    fileprivate var json: JSON {
        [
            "upload": .string(upload.rawValue), "largeUpload": .string(largeUpload.rawValue),
            "copy": .string(copy.rawValue), "updateMetadata": .string(updateMetadata.rawValue),
            "delete": .string(delete.rawValue),
        ]
    }
}

/// `shutdown`: after it the connection accepts only `exit`.
struct Shutdown: ServiceMethod, ParameterlessMethod, PromptMethod {
    static let name = "shutdown"
    var uses: [Use] { [] }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        request.context.isShutDown = true
        return .null
    }
}

/// `exit`: on stdio ends the process, with status 0 after `shutdown`, else 1; on a socket closes the connection.
struct Exit: ServiceMethod, ParameterlessMethod {
    static let name = "exit"
    var uses: [Use] { [] }

    func run(in request: Request<ConnectionContext>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in context: ConnectionContext) { context.exit() }
}
