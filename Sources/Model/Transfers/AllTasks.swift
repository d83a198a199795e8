import Platform
import Storage

/// The lists of all tasks, and the bound of their total number.
@Loop final class AllTasks {
    let uploads: TaskList<UploadTask>
    let downloads: TaskList<DownloadTask>
    let folders: TaskList<FolderTask>
    /// The uploads that tasks over folders begin. Clients do not see them.
    let folderUploads: TaskList<UploadTask>
    let folderDownloads: TaskList<DownloadTask>
    let sessions: UploadSessions
    let limits: TaskLimits
    private let context: TransferContext
    private let keys = KeysInUse()
    /// The number of tasks that are being created; these count against `--max-tasks`.
    private var begun = 0
    private let rest = Waiters()

    /// The maximum number of finished tasks over folders: their plans use the disk.
    private static let mostFinishedFolders = 100

    init(_ context: TransferContext) {
        self.context = context
        let released: @Loop () -> Void = { [rest] in rest.wakeAll() }
        limits = TaskLimits(context.engine, context.limits, released: released)
        let sessions = UploadSessions(context.limits.uploadSessions, context.time)
        self.sessions = sessions
        let kept = context.limits.finishedTasks
        uploads = TaskList(.of(kept, context)) { task in
            sessions.remove(task.id)
            released()
        }
        downloads = TaskList(.of(kept, context)) { _ in released() }
        folderUploads = TaskList(.none, uploads.metrics) { _ in released() }
        (context.uploads, context.folderUploads) = (uploads, folderUploads)
        folderDownloads = TaskList(.none, downloads.metrics) { _ in released() }
        folders = TaskList(
            .init(kept: min(kept, Self.mostFinishedFolders)) { for dropped in $0 { await dropped.task?.remove() } }
        ) { _ in released() }
    }

    /// The list for the uploads of a task over a folder; with nil the list for the uploads of clients.
    func uploads(of folder: String?) -> TaskList<UploadTask> { folder == nil ? uploads : folderUploads }
    func downloads(of folder: String?) -> TaskList<DownloadTask> { folder == nil ? downloads : folderDownloads }

    // MARK: - The bound, and the names

    /// Counts a task against `--max-tasks` while it is being created. Throws `quotaExceeded` beyond `--max-tasks`.
    func reservePlace() throws(StorageError) {
        // Upload sessions have a bound of their own.
        let unfinished = uploads.unfinished - sessions.count + downloads.unfinished + folders.unfinished
        let most = context.limits.tasks
        guard unfinished + (context.ends?.count ?? 0) + begun < most else {
            throw .noRoom(for: "tasks that have not ended", "--max-tasks", is: most)
        }
        begun += 1
    }

    func giveBackPlace() { begun -= 1 }

    /// Runs `body` while no other request begins or continues a task of this kind with this key.
    func exclusively<Value>(
        for key: String?, of kind: String, _ body: @Loop () async throws -> Value
    ) async throws -> Value {
        guard let key else { return try await body() }
        let name = "\(kind) \(key)"
        try await keys.use(name)
        defer { keys.free(name) }
        return try await body()
    }

    /// An id that no listed task has, with the task's number, by which stores order ids. A harness draws the same ids in each process: it awaits `allTasks` first, since a
    /// root may have tasks of an earlier process.
    func newID(_ number: Int64) -> String {
        var id = context.random.uuid(withNumber: number)
        while has(id) { id = context.random.uuid(withNumber: number) }
        return id
    }

    /// Whether a list has the task. A task that is only in the store does not count.
    func has(_ id: String) -> Bool { uploads.has(id) || downloads.has(id) || folders.has(id) }

    // MARK: - Their states

    func count(of state: TaskState) -> Int {
        uploads.count(of: state) + downloads.count(of: state) + folders.count(of: state)
    }

    var areRunning: Bool { !uploads.areAtRest || !downloads.areAtRest || !folders.areAtRest }

    /// Returns when all tasks but streams are paused or have ended.
    func rested() async throws { while areRunning { try await rest.wait() } }

    /// Removes partial downloads that no later process can continue.
    func discardUnrecordedDownloads() {
        for list in [downloads, folderDownloads] {
            for task in list.tasks.values where !task.hasEnded { task.discardUnrecordedSession() }
        }
    }

    /// Ends all tasks with `cancelled`.
    func cancelAll() async {
        await folders.cancelAll()
        await uploads.cancelAll()
        await downloads.cancelAll()
    }

    func suspend() async throws {
        try await folders.suspend()
        async let up: Void = uploads.suspend()
        async let down: Void = downloads.suspend()
        _ = try await (up, down)
    }
}

extension TaskList.Retention {
    /// Forgets the records of transfers in groups, with one write of the store for each group.
    fileprivate static func of<Strategy>(_ kept: Int, _ context: TransferContext) -> Self
    where Listed == TransferTask<Strategy> {
        Self(kept: kept, atOnce: 64) { await context.ends?.forget($0.map(\.id)) }
    }

    /// Keeps no ended transfer of a folder. The task over the folder forgets the records.
    fileprivate static var none: Self { Self(kept: 0) { _ in } }
}

/// The keys whose requests are being answered. Requests with the same key run one after the other.
@Loop private final class KeysInUse {
    private var keys = ByteKeyedDictionary<Waiters>()

    /// Returns when no other request uses the key. The caller must call `free` afterwards.
    func use(_ key: String) async throws {
        while let waiters = keys[key] { try await waiters.wait() }
        keys[key] = Waiters()
    }

    func free(_ key: String) {
        let waiters = keys[key]
        keys[key] = nil
        waiters?.wakeAll()
    }
}
