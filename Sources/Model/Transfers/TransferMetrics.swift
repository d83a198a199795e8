import Platform
import Storage

/// The counters of all transfers of one kind in this process.
@Loop final class TransferMetrics {
    /// The number of acknowledged bytes of objects.
    private(set) var bytes: Int64 = 0
    var retries = 0
    private var ends: [TaskState: Int] = [:]

    nonisolated init() {}

    /// Adds bytes. The sum saturates, since a server may report any size.
    func add(_ count: Int64) { bytes = bytes.addingSaturated(count) }

    func ended(_ state: TaskState) { ends[state, default: 0] += 1 }

    func ended(as state: TaskState) -> Int { ends[state] ?? 0 }
}
