import JSONRPC
import JSONText
import Metrics
import Platform
import Transfers

/// `service/metrics`: returns the metrics of the process in the text format that `GET /metrics` serves.
struct ServiceMetrics: ServiceMethod, ParameterlessMethod {
    static let name = "service/metrics"
    var uses: [Use] { [.readingService] }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        ["metrics": .array(await request.context.service.metrics(during: 1).map(\.json))]
    }
}

extension ServiceContext {
    /// - Parameter during: the number of requests that ask for the metrics, which are not counted as active.
    package func metrics(during asking: Int = 0) async -> [MetricFamily] {
        let room = await roomMetrics()
        let requests = connections.values.reduce(into: RequestCounts()) { $0 += $1.requests }
        let own: [MetricFamily] = [
            .gauges(
                "storage_rpc_build_info", "The version and the engine.",
                [(labels: [("version", Self.version), ("engine", engine)], count: 1)]),
            .gauge("storage_rpc_uptime_seconds", "Seconds since the start.", uptime() / .seconds(1)),
            .gauges(
                "storage_rpc_requests", "Requests that are being handled, or wait for the end of a task.",
                [
                    (labels: [("state", "active")], count: max(0, requests.active - asking)),
                    (labels: [("state", "waiting")], count: requests.waiting),
                ]),
        ]
        let memory = CurrentProcess.residentBytes.map {
            MetricFamily.gauge("process_resident_memory_bytes", "Memory in use.", Double($0))
        }
        return own + connectionMetrics.families(methods.names) + httpMetrics() + transfers.metrics + room
            + ProcessMetrics.families + [memory].compactMap { $0 }
    }
}

extension MetricFamily {
    fileprivate var json: JSON {
        [
            "name": .string(name), "type": .string(kind.rawValue), "help": .string(help),
            "samples": .array(samples.map(\.json)),
        ]
    }
}

extension MetricFamily.Sample {
    fileprivate var json: JSON {
        let labels = JSON.object(labels.map { .init(key: $0.name, value: .string($0.value)) })
        switch value {
        case .number(let value):
            return ["labels": labels, "value": Int64(exactly: value).map { JSON($0) } ?? JSON(value)]
        case .distribution(let distribution):
            return [
                "labels": labels, "count": JSON(Int64(distribution.count)), "sum": JSON(distribution.sum),
                "buckets": .array(
                    distribution.buckets.map { ["le": JSON($0.bound), "count": JSON(Int64($0.count))] }),
            ]
        }
    }
}
