import Platform
import Storage

/// The tasks of all kinds, which together have a bound.
@Loop final class AllTasks {
    let uploads: TaskList<UploadStrategy>
    let downloads: TaskList<DownloadStrategy>
    let folders: FolderList
    /// The transfers of tasks over folders.
    let folderUploads: TaskList<UploadStrategy>
    let folderDownloads: TaskList<DownloadStrategy>
    let sessions: UploadSessions
    let limits: TaskLimits
    private let context: TransferContext
    private let keys = KeysInUse()
    /// Tasks that are being created; they count against `--max-tasks`.
    private var begun = 0
    private let rest = Waiters()

    init(_ context: TransferContext, _ memory: TransferMemory) {
        self.context = context
        let released: @Loop () -> Void = { [rest] in rest.wakeAll() }
        limits = TaskLimits(context.engine, context.limits, released: released)
        let sessions = UploadSessions(context.limits, context.time)
        self.sessions = sessions
        uploads = TaskList(context, memory, released: released) { sessions.remove($0) }
        downloads = TaskList(context, memory, released: released)
        folderUploads = TaskList(context, memory, within: uploads, released: released)
        folderDownloads = TaskList(context, memory, within: downloads, released: released)
        folders = FolderList(context.time, context.log, finishedKept: context.limits.finishedTasks)
    }

    /// The list for the uploads of a folder; those of clients belong to none.
    func uploads(of folder: String?) -> TaskList<UploadStrategy> { folder == nil ? uploads : folderUploads }
    func downloads(of folder: String?) -> TaskList<DownloadStrategy> { folder == nil ? downloads : folderDownloads }

    // MARK: - The bound, and the names

    /// Counts a task against `--max-tasks` while it is being created. Throws `quotaExceeded` beyond that.
    func reservePlace() throws(StorageError) {
        // The sessions have a bound of their own.
        let unfinished = uploads.unfinished - sessions.count + downloads.unfinished + folders.unfinished
        let most = context.limits.tasks
        guard unfinished + (context.ends?.count ?? 0) + begun < most else {
            throw .noRoom(for: "tasks that have not ended", "--max-tasks", is: most)
        }
        begun += 1
    }

    func giveBackPlace() { begun -= 1 }

    /// Runs `body` while no other request begins, or continues, a task of this kind that has the key.
    func exclusively<Value>(
        for key: String?, of kind: String, _ body: @Loop () async throws -> Value
    ) async throws -> Value {
        guard let key else { return try await body() }
        let name = "\(kind) \(key)"
        try await keys.use(name)
        defer { keys.free(name) }
        return try await body()
    }

    /// An id that no task has. A harness draws the same ids in each process, so it needs `allTasks` before: a root may have
    /// tasks of an earlier one.
    func newID() -> String {
        var id = context.random.uuid()
        while has(id) { id = context.random.uuid() }
        return id
    }

    /// The tasks that are still only in the store do not count.
    func has(_ id: String) -> Bool { uploads.hasTask(id) || downloads.hasTask(id) || folders.tasks[id] != nil }

    // MARK: - Their states

    func count(of state: TaskState) -> Int {
        uploads.count(of: state) + downloads.count(of: state) + folders.count(of: state)
    }

    var areRunning: Bool { !uploads.areAtRest || !downloads.areAtRest || !folders.areAtRest }

    /// Returns when all tasks but streams are paused or have ended.
    func rested() async throws { while areRunning { try await rest.wait() } }

    /// A task may be at rest now.
    func released() { rest.wakeAll() }

    /// Removes partial downloads that no later process can continue.
    func discardUnrecordedDownloads() {
        downloads.discardUnrecordedSessions()
        folderDownloads.discardUnrecordedSessions()
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

/// Requests with one key follow one another: together they begin one task.
@Loop private final class KeysInUse {
    private var keys = ByteKeyedDictionary<Waiters>()

    /// Returns when no other request uses the key; then `free` must follow.
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
