import Platform
import Storage

/// How many tasks of each kind run at the same time.
@Loop final class TaskLimits {
    /// The numbers that clients have set.
    var atOnce = TasksAtOnce() { didSet { adapt() } }
    /// Limits uploads of one request.
    let small: ConcurrencyLimiter
    let large: ConcurrencyLimiter
    let downloads: ConcurrencyLimiter
    /// Limits no task: tasks whose clients send or fetch the bytes must not delay others.
    let fromClients: ConcurrencyLimiter
    /// Limits tasks over folders, whose directories and plans are open files.
    let folders: ConcurrencyLimiter
    private let engine: EngineProperties
    private let limits: TransferLimits

    init(_ engine: EngineProperties, _ limits: TransferLimits, released: @escaping @Loop () -> Void) {
        (self.engine, self.limits) = (engine, limits)
        small = ConcurrencyLimiter(limit: engine.smallUploadsAtOnce, released: released)
        large = ConcurrencyLimiter(limit: engine.uploadsAtOnce, released: released)
        downloads = ConcurrencyLimiter(limit: engine.downloadsAtOnce, released: released)
        fromClients = ConcurrencyLimiter(limit: .max, released: released)
        folders = ConcurrencyLimiter(limit: min(16, limits.tasksWithFiles), released: released)
        downloads.most = limits.transfersWithFiles
        adapt()
    }

    private func adapt() {
        (large.limit, downloads.limit) = (uploadsAtOnce, downloadsAtOnce)
    }

    private var uploadsAtOnce: Int { min(atOnce.uploads ?? engine.uploadsAtOnce, limits.transfersWithFiles) }
    private var downloadsAtOnce: Int { min(atOnce.downloads ?? engine.downloadsAtOnce, limits.transfersWithFiles) }
}
