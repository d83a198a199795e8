import Platform
import Storage

/// How many tasks of each kind run at the same time.
@Loop final class TaskLimits {
    /// What clients have set.
    var atOnce = TasksAtOnce() {
        didSet {
            large.limit = atOnce.uploads ?? backend.uploadsAtOnce
            downloads.limit = atOnce.downloads ?? backend.downloadsAtOnce
        }
    }
    /// Uploads of one request.
    let small: ConcurrencyLimiter
    let large: ConcurrencyLimiter
    let downloads: ConcurrencyLimiter
    /// Tasks that wait for their clients delay no other task.
    let fromClients: ConcurrencyLimiter
    /// Each running task over a folder has directories and a plan open.
    let folders: ConcurrencyLimiter
    private let backend: any Backend

    init(_ backend: any Backend, released: @escaping @Loop () -> Void) {
        self.backend = backend
        small = ConcurrencyLimiter(limit: backend.smallUploadsAtOnce, released: released)
        large = ConcurrencyLimiter(limit: backend.uploadsAtOnce, released: released)
        downloads = ConcurrencyLimiter(limit: backend.downloadsAtOnce, released: released)
        fromClients = ConcurrencyLimiter(limit: .max, released: released)
        folders = ConcurrencyLimiter(limit: 16, released: released)
    }
}
