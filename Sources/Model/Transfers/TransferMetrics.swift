import Metrics
import Platform
import Storage

/// The metrics of all tasks of one kind in this process; those of uploads and downloads include transfers of folders.
@Loop final class TransferMetrics {
    /// The number of acknowledged bytes of objects.
    private(set) var bytes: Int64 = 0
    var retries = 0
    private var ends: [TaskState: Int] = [:]
    /// The durations of the tasks that have succeeded.
    let durations = Histogram(.transfers)

    nonisolated init() {}

    /// Adds bytes. The sum saturates, since a server may report any size.
    func add(_ count: Int64) { bytes = bytes.addingSaturated(count) }

    func ended(_ state: TaskState, after duration: Duration) {
        ends[state, default: 0] += 1
        if state == .success { durations.record(duration) }
    }

    func ended(as state: TaskState) -> Int { ends[state] ?? 0 }
}
