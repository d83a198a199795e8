import Platform
import Storage

/// What the transfers of one kind have done in this process.
@Loop final class TransferMetrics {
    /// Acknowledged bytes of objects.
    private(set) var bytes: Int64 = 0
    var retries = 0
    private var ends: [TaskState: Int] = [:]

    nonisolated init() {}

    /// A server may report any size.
    func add(_ count: Int64) { bytes = bytes.addingSaturated(count) }

    func ended(_ state: TaskState) { ends[state, default: 0] += 1 }

    func ended(as state: TaskState) -> Int { ends[state] ?? 0 }
}
