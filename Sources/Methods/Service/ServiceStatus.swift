import JSONText
import JSONRPC
import Storage
import Transfers

/// `service/status`: the state of the process.
struct ServiceStatus: ParameterlessMethod {
    static let name = "service/status"

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let service = request.context.service
        try await service.transfers.ready()
        let requests = service.connections.values.reduce(into: RequestCounts()) { $0 += $1.requests }
        let uptime = service.started.duration(to: .now)
        return [
            "version": .string(ServiceContext.version),
            "pid": JSON(Int64(service.configuration.processID)),
            "uptime": JSON((uptime / .milliseconds(1)).rounded() / 1000),
            "engine": .string(service.engine),
            "connections": JSON(Int64(service.connections.count)),
            "requests": [
                // This request is not counted.
                "active": JSON(Int64(max(0, requests.active - 1))), "waiting": JSON(Int64(requests.waiting)),
            ],
            "tasks": .object(
                TaskState.allCases.map { state in
                    .init(key: state.rawValue, value: JSON(Int64(service.transfers.count(of: state))))
                }),
        ]
    }
}
