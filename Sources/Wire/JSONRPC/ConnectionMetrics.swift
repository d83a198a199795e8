import Metrics
import Platform

/// Counts of what all connections of a process have received, answered and sent.
@Loop
public final class ConnectionMetrics {
    var opened = 0
    var closed = 0
    private var refused = 0
    var received = 0
    var sent = 0
    /// By the methods' indices in the table.
    private var requests: [Int] = []
    private var unknownMethods = 0
    /// By code. Only the service chooses codes, so there are few.
    private var errors: [Int64: Int] = [:]
    /// The durations of the requests that the service could not answer at once, without those that waited for the end of
    /// a task.
    let durations = Histogram()

    public init() {}

    /// Counts a client that was refused because there was no room.
    public func refusedConnection() { refused += 1 }

    /// - Parameter place: the index of the method in the table; nil for an unknown method.
    func began(at place: Int?) {
        guard let place else { return unknownMethods += 1 }
        if place >= requests.count { requests += repeatElement(0, count: place + 1 - requests.count) }
        requests[place] &+= 1
    }

    func answered(_ outcome: Result<ResultPayload, RPCError>) {
        if case .failure(let error) = outcome { errors[Int64(error.code), default: 0] += 1 }
    }

    /// - Parameter methods: the names of the table's methods.
    public func families(_ methods: [String]) -> [MetricFamily] {
        let byMethod = zip(methods, requests).filter { $0.1 > 0 }.map { (value: $0.0, count: $0.1) }
        let unknown = unknownMethods > 0 ? [(value: "unknown", count: unknownMethods)] : []
        return [
            .gauge("storage_rpc_connections", "Open JSON-RPC connections.", Double(opened - closed)),
            .counter("storage_rpc_connections_opened_total", "JSON-RPC connections since the start.", opened),
            .counter("storage_rpc_connections_refused_total", "Clients that --max-connections refused.", refused),
            .counters(
                "storage_rpc_requests_total", "Requests and notifications of clients by method.", by: "method",
                byMethod + unknown),
            .counters(
                "storage_rpc_errors_total", "Error answers by code.", by: "code",
                errors.sorted { $0.key > $1.key }.map { (value: "\($0.key)", count: $0.value) }),
            .histogram(
                "storage_rpc_request_duration_seconds",
                "Requests that were not answered at once, without those that waited for a task.", durations),
            .counter("storage_rpc_received_bytes_total", "Bytes of JSON-RPC from clients.", received),
            .counter("storage_rpc_sent_bytes_total", "Bytes of JSON-RPC to clients.", sent),
        ]
    }
}
