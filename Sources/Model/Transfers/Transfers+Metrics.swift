import Metrics
import Platform
import Storage

extension Transfers {
    public var metrics: [MetricFamily] {
        let kinds = [("upload", uploads.metrics), ("download", downloads.metrics)]
        let all = kinds + [("folder", folders.metrics)]
        let states: [(String, @Loop (TaskState) -> Int)] = [
            ("upload", uploads.count(of:)), ("download", downloads.count(of:)), ("folder", folders.count(of:)),
        ]
        let retries = kinds.map { (value: $0.0, count: $0.1.retries) }
        return [
            .gauges(
                "storage_rpc_tasks", "Tasks that the service knows, by state.",
                TaskState.allCases.flatMap { state in
                    states.map { (labels: [("kind", $0.0), ("state", state.rawValue)], count: $0.1(state)) }
                }),
            .counters(
                "storage_rpc_tasks_ended_total", "Tasks that ended since the start.",
                TaskState.allCases.filter(\.isFinished).flatMap { state in
                    all.map { (labels: [("kind", $0.0), ("state", state.rawValue)], count: $0.1.ended(as: state)) }
                }),
            .histograms(
                "storage_rpc_task_duration_seconds", "Tasks that succeeded, with their waits and pauses.", by: "kind",
                all.map { (value: $0.0, histogram: $0.1.durations) }),
            .counters(
                "storage_rpc_object_bytes_total", "Bytes of objects that tasks and getData transferred.", by: "kind",
                kinds.map { (value: $0.0, count: Int($0.1.bytes)) }),
            .counters(
                "storage_rpc_retries_total", "Attempts after a failure, of tasks and of operations.", by: "kind",
                retries + [(value: "operation", count: ProcessMetrics.operationRetries.value)]),
        ]
    }
}
