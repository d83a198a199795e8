import Platform
import Storage

/// All tasks of the service, and its operations without a task.
@Loop public final class Transfers {
    /// Bytes that uploads from memory and downloads to memory may hold before the next one waits.
    public static let memoryLimit = 64 << 20
    /// How many small files are in memory at once, from the look at each to the end of its upload. Others are read later.
    static let mostFilesInMemory = 64

    public var settings = Settings()
    public var atOnce = TasksAtOnce() {
        didSet {
            large.limit = uploadsAtOnce
            arriving.limit = downloadsAtOnce
        }
    }
    private var uploadsAtOnce: Int { min(atOnce.uploads ?? backend.uploadsAtOnce, limits.transfersWithFiles) }
    private var downloadsAtOnce: Int { min(atOnce.downloads ?? backend.downloadsAtOnce, limits.transfersWithFiles) }
    public private(set) lazy var uploads: TaskList<UploadStrategy> = newList()
    public private(set) lazy var downloads: TaskList<DownloadStrategy> = newList()
    public private(set) lazy var folders = FolderList(time, log, finishedKept: limits.finishedTasks)
    /// The transfers of tasks over folders.
    private(set) lazy var folderUploads: TaskList<UploadStrategy> = newFolderList(within: uploads)
    private(set) lazy var folderDownloads: TaskList<DownloadStrategy> = newFolderList(within: downloads)
    public let registry: ObserverRegistry
    private(set) lazy var objects = ObjectObservers(of: backend)
    package let limits: TransferLimits
    let keysInUse = KeysInUse()
    public let backend: any Backend
    let ends: OutcomeRecorder?
    /// Nil where there can be no tasks over folders.
    let folderStore: (any FolderStore)?
    let time: TimeSource
    let random: RandomSource
    private let log: TransferLog
    let room = Waiters()
    private let rest = Waiters()
    /// The tasks of earlier processes are restored.
    public internal(set) var isReady: Bool
    /// Before it was ready.
    var hasRefusedAppends = false
    let readiness = Waiters()
    /// The tasks that have ended in earlier processes are being read.
    var isReadingEnded = false
    let endedAreRead = Waiters()
    lazy var small = ConcurrencyLimiter(limit: backend.smallUploadsAtOnce) { [weak self] in self?.released() }
    lazy var large = ConcurrencyLimiter(limit: uploadsAtOnce) { [weak self] in self?.released() }
    lazy var arriving = ConcurrencyLimiter(limit: downloadsAtOnce) { [weak self] in self?.released() }
    /// Uploads that wait for their clients delay no other task.
    lazy var fromClients = ConcurrencyLimiter(limit: .max) { [weak self] in self?.released() }
    /// Each running task over a folder has directories and a plan open.
    lazy var foldersRunning = ConcurrencyLimiter(limit: min(16, limits.tasksWithFiles)) { [weak self] in
        self?.released()
    }
    /// The unfinished uploads whose clients send the bytes in several requests, by the ids of their tasks. They count
    /// against `--max-upload-sessions` alone.
    var uploadSessions: [String: UploadTask] = [:]
    public let clientWaits = ClientWaits()
    let streamMemory = StreamMemory()
    private var bytesSetAside = 0
    var filesInMemory = 0
    /// Tasks that are being created; they count against `--max-tasks`.
    var tasksBegun = 0
    /// The same of upload sessions.
    var uploadSessionsBegun = 0

    /// Without `persistence`, tasks end with the process.
    public init(
        backend: any Backend, persistence: TaskPersistence? = nil, folders: (any FolderStore)? = nil,
        limits: TransferLimits = .init(), time: TimeSource, random: RandomSource = .secure,
        log: TransferLog = TransferLog()
    ) {
        self.backend = backend
        ends = persistence.map { OutcomeRecorder($0, clock: time.clock) }
        self.limits = limits
        registry = ObserverRegistry(limits)
        (self.time, self.random, self.log) = (time, random, log)
        folderStore = folders
        isReady = persistence == nil && folders == nil
    }

    private func newFolderList<Strategy>(within list: TaskList<Strategy>) -> TaskList<Strategy> {
        TaskList(time, log, finishedKept: 0, nil, within: list) { [weak self] in self?.released() }
    }

    private func newList<Strategy>() -> TaskList<Strategy> {
        let list = TaskList<Strategy>(time, log, finishedKept: limits.finishedTasks, ends) { [weak self] in
            self?.uploadSessions[$0] = nil
        } released: { [weak self] in
            self?.released()
        }
        list.readsEnded = { [weak self] in self?.readEndedSoon() }
        return list
    }

    /// Counts a task against `--max-tasks` while it is being created. Throws `quotaExceeded` beyond that.
    func reservePlace() throws(StorageError) {
        let unfinished = uploads.unfinished - uploadSessions.count + downloads.unfinished + folders.unfinished
        guard unfinished + (ends?.count ?? 0) + tasksBegun < limits.tasks else {
            throw .noRoom(for: "tasks that have not ended", "--max-tasks", is: limits.tasks)
        }
        tasksBegun += 1
    }

    /// Counts bytes as held while `body` runs.
    func settingAside<Answer>(_ bytes: Int, _ body: () async throws -> Answer) async throws -> Answer {
        bytesSetAside += bytes
        defer {
            bytesSetAside -= bytes
            released()
        }
        return try await body()
    }

    public func count(of state: TaskState) -> Int {
        uploads.count(of: state) + downloads.count(of: state) + folders.count(of: state)
    }

    /// Returns when all tasks but streams are paused or have ended.
    public func restsOnly() async throws {
        try await ready()
        while areRunning { try await rest.wait() }
    }

    public var areRunning: Bool { !uploads.areAtRest || !downloads.areAtRest || !folders.areAtRest }

    /// Removes partial downloads that no later process can continue.
    public func discardUnrecordedDownloads() {
        downloads.discardUnrecordedSessions()
        folderDownloads.discardUnrecordedSessions()
    }

    /// Ends all tasks with `cancelled`.
    public func cancelAll() async {
        await folders.cancelAll()
        await uploads.cancelAll()
        await downloads.cancelAll()
    }

    /// An id that no task has. A harness draws the same ids in each process, so it needs `allTasks` before: a root may have
    /// tasks of an earlier one.
    func newTaskID() -> String {
        var id = random.uuid()
        while hasTask(id) { id = random.uuid() }
        return id
    }

    /// The tasks that are still only in the store do not count.
    func hasTask(_ id: String) -> Bool { uploads.hasTask(id) || downloads.hasTask(id) || folders.tasks[id] != nil }

    /// Throws `invalidArgument` for an id that is no task's.
    public func checkTask(_ id: String) throws(StorageError) {
        if uploads.tasks[id] == nil, folders.tasks[id] == nil { _ = try downloads.task(id) }
    }

    public func suspend() async throws {
        try await folders.suspend()
        async let up: Void = uploads.suspend()
        async let down: Void = downloads.suspend()
        _ = try await (up, down)
    }

    /// Retries once to record outcomes that are not recorded yet.
    public func recordEnds() async { await ends?.settle() }

    func orDefault(_ client: TransferClient?) -> TransferClient { client ?? TransferClient(settings: settings) }

    /// The same for a task of an earlier process.
    func caller(_ request: TaskRequest) -> Caller {
        Caller(retryTime: .seconds(request.retryTime), userProject: request.userProject)
    }

    /// Wakes waiters for memory only once half of it is free, and not for each byte.
    func released() {
        if bytesInMemory <= Self.memoryLimit / 2 { room.wakeAll() }
        rest.wakeAll()
    }

    var bytesInMemory: Int { uploads.bytesInMemory + bytesSetAside }
}

extension Transfers {
    /// Fetches an object, or a part of it, and returns what `use` makes of its bytes. Waits while too much memory is in use, and for
    /// `mayBegin`, which gets the most bytes that there can be; reserves the memory until `use` returns. Throws `downloadSizeExceeded` for an object of more than
    /// `maxSize` bytes, or more than `use` can take.
    public func data<Answer>(
        of reference: Reference, part: BytePart? = nil, maxSize: Int64, usable: Int64 = .max,
        for client: TransferClient? = nil, fits: @Loop (Int) -> Bool = { _ in true },
        mayBegin: @Loop (Int) async throws -> Void = { _ in },
        _ use: @Loop ([UInt8]) async -> Answer
    ) async throws -> Answer {
        let reference = try reference.checkedAsObject("has no bytes")
        guard maxSize >= 0 else {
            throw StorageError.invalidArgument("maxSize", "maxSize must be at least 0, not \(maxSize).")
        }
        let caller = orDefault(client).caller(\.maxDownloadRetryTime)
        let most = min(maxSize, usable, part?.length ?? .max)
        // What is asked for may be much more than there is.
        let fitsAsAsked = most <= 1 << 20 && fits(Int(most))
        let known = fitsAsAsked ? nil : try await backend.metadataForBytes(of: reference, for: caller)
        let expected = min(most, known?.size ?? most)
        repeat {
            while bytesInMemory > Self.memoryLimit { try await room.wait() }
            try await mayBegin(Int(clamping: expected))
        } while bytesInMemory > Self.memoryLimit
        return try await settingAside(Int(clamping: expected)) {
            let bytes: [UInt8]
            do throws(StorageError) {
                bytes = try await backend.data(
                    of: reference, part: part, known: known, maxSize: min(maxSize, usable), for: caller)
            } catch {
                throw usable < maxSize ? error.blamingTheAnswer : error
            }
            downloads.metrics.add(Int64(bytes.count))
            return await use(bytes)
        }
    }
}

extension StorageError {
    fileprivate var blamingTheAnswer: StorageError {
        code == .downloadSizeExceeded
            ? adding("That is what fits an answer; reference/writeToFile takes any size.") : self
    }
}
