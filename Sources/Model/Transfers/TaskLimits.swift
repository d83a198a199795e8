import Platform
import Storage

/// How many tasks of each kind run at the same time.
@Loop final class TaskLimits {
    /// What clients have set.
    var atOnce = TasksAtOnce() {
        didSet { (large.limit, downloads.limit) = (uploadsAtOnce, downloadsAtOnce) }
    }
    /// Uploads of one request.
    let small: ConcurrencyLimiter
    let large: ConcurrencyLimiter
    let downloads: ConcurrencyLimiter
    /// Tasks that wait for their clients delay no other task.
    let fromClients: ConcurrencyLimiter
    /// Each running task over a folder has directories and a plan open.
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
        (large.limit, downloads.limit) = (uploadsAtOnce, downloadsAtOnce)
    }

    private var uploadsAtOnce: Int { min(atOnce.uploads ?? engine.uploadsAtOnce, limits.transfersWithFiles) }
    private var downloadsAtOnce: Int { min(atOnce.downloads ?? engine.downloadsAtOnce, limits.transfersWithFiles) }
}
