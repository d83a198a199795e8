import Platform
import Storage

/// A task, as the methods that find it see it.
@Loop public protocol ListedTask: ControllableTask {
    /// Throws `invalidArgument` for an id that is unknown, of another kind, or was known too long ago.
    static func task(_ id: String, of transfers: Transfers) throws(StorageError) -> Self
    /// A page of all tasks.
    static func page(
        _ maxResults: Int64?, after pageToken: String?, of transfers: Transfers
    ) throws(StorageError) -> TaskPage<Snapshot>
    /// Forgets a finished task; returns false for an unfinished one.
    static func forget(_ task: Self, of transfers: Transfers) async -> Bool

    /// Ends the wait after a failure. A task that has failed runs again: the task that does so, or nil where the state
    /// does not allow it.
    static func retry(_ task: Self, tokens: (any TokenSource)?, of transfers: Transfers) async throws -> Self?
}

extension TransferTask: ListedTask where Strategy: ListedStrategy {
    public static func task(_ id: String, of transfers: Transfers) throws(StorageError) -> TransferTask {
        try Strategy.tasks(of: transfers).task(id)
    }

    public static func page(
        _ maxResults: Int64?, after pageToken: String?, of transfers: Transfers
    ) throws(StorageError) -> TaskPage<TaskSnapshot> {
        try Strategy.tasks(of: transfers).page(maxResults, after: pageToken)
    }

    public static func forget(_ task: TransferTask, of transfers: Transfers) async -> Bool {
        await Strategy.tasks(of: transfers).forget(task)
    }

    public static func retry(
        _ task: TransferTask, tokens: (any TokenSource)?, of transfers: Transfers
    ) async throws -> TransferTask? { try await transfers.retry(task, tokens: tokens) }
}

/// A strategy that has a list of tasks.
@Loop public protocol ListedStrategy: TaskStrategy {
    static func tasks(of transfers: Transfers) -> TaskList<Self>
    /// Makes a paused task of one that has failed, in its place.
    static func again(_ record: TaskRecord, in transfers: Transfers) -> TransferTask<Self>?
}

extension UploadStrategy: ListedStrategy {
    public typealias Stream = StreamUpload

    public static func tasks(of transfers: Transfers) -> TaskList<UploadStrategy> { transfers.uploads }

    public static func again(_ record: TaskRecord, in transfers: Transfers) -> UploadTask? { transfers.restore(record) }
}

extension DownloadStrategy: ListedStrategy {
    public typealias Stream = StreamDownload

    public static func tasks(of transfers: Transfers) -> TaskList<DownloadStrategy> { transfers.downloads }

    public static func again(_ record: TaskRecord, in transfers: Transfers) -> DownloadTask? {
        record.request.map { transfers.restore(record, $0, isRestored: false) }
    }
}
