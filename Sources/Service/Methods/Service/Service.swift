import JSONRPC
import JSONText
import Resources
import Storage
import Transfers

/// `service/ping`: answers at once.
struct Ping: ServiceMethod, ParameterlessMethod, PromptMethod {
    static let name = "service/ping"
    var uses: [Use] { [] }

    func run(in request: Request<ConnectionContext>) throws -> JSON { "pong" }
}

/// `service/status`: returns the state of the process.
struct ServiceStatus: ServiceMethod, ParameterlessMethod {
    static let name = "service/status"
    var uses: [Use] { [.readingService] }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let service = request.context.service
        try await service.transfers.readyToCount()
        let requests = service.connections.values.reduce(into: RequestCounts()) { $0 += $1.requests }
        return [
            "version": .string(ServiceContext.version),
            "pid": JSON(Int64(service.configuration.processID)),
            "uptime": JSON((service.uptime() / .milliseconds(1)).rounded() / 1000),
            "engine": .string(service.engine),
            "connections": JSON(Int64(service.connections.count)),
            "requests": [
                // Excludes this request.
                "active": JSON(Int64(max(0, requests.active - 1))), "waiting": JSON(Int64(requests.waiting)),
            ],
            "tasks": service.transfers.counts,
        ]
    }
}

extension Transfers {
    /// The number of tasks in each state.
    var counts: JSON {
        .object(TaskState.allCases.map { .init(key: $0.rawValue, value: JSON(Int64(count(of: $0)))) })
    }
}

/// `service/stop`: ends the process for all clients, as SIGTERM does.
struct StopService: ServiceMethod, ParameterlessMethod {
    static let name = "service/stop"
    var uses: [Use] { [.changingService] }

    func run(in request: Request<ConnectionContext>) async throws -> JSON { .null }

    func didReply(_ result: JSON, in context: ConnectionContext) {
        context.service.exit(0, "service/stop of connection \(context.number)")
    }
}

/// `rpc.discover`: returns the contract, `protocol/openrpc.json`.
struct Discover: ServiceMethod, ParameterlessMethod, PromptMethod {
    static let name = "rpc.discover"
    var uses: [Use] { [] }

    func run(in request: Request<ConnectionContext>) throws -> SegmentedBytes {
        try (request.context.service.harness == nil ? Self.document : Self.documentAndHarness).get()
    }

    private static let document = Swift.Result { SegmentedBytes(try JSON(resource_contract())) }
    private static let documentAndHarness = Swift.Result {
        SegmentedBytes(try JSON(resource_contract()).appending(JSON(resource_harness())))
    }
}

extension JSON {
    package init(_ resource: resource) throws(JSONSyntaxError) {
        try self.init(parsing: UnsafeRawBufferPointer(start: resource.bytes, count: resource.count))
    }

    /// Adds the elements of arrays, and the members of objects, at every depth.
    package func appending(_ more: JSON) -> JSON {
        if let array, let others = more.array { return .array(array + others) }
        guard let object, let others = more.object else { return self }
        return .object(
            object.map { member in
                .init(key: member.key, value: more[member.key].map(member.value.appending) ?? member.value)
            } + others.filter { self[$0.key] == nil })
    }
}
