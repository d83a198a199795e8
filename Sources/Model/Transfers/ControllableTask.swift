import Platform
import Storage

/// A task, as the methods that control it see it.
@Loop public protocol ControllableTask: AnyObject, Sendable {
    associatedtype Snapshot: Sendable

    /// What the names of its methods begin with.
    nonisolated static var kind: String { get }
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

    var id: String { get }
    var hasEnded: Bool { get }
    /// Tasks are numbered in the order of their creation.
    var number: Int64 { get }
    func snapshot(for status: Status?) -> Snapshot
    func start()
    /// Returns once no bytes move; false where the state does not allow a pause, or the task ends first.
    func pause() async throws -> Bool
    /// False where the state does not allow it. `tokens` are those of the client that resumes it.
    func resume(tokens: (any TokenSource)?) -> Bool
    /// Returns once the task has ended; false where it had ended before, or was completed in that moment.
    func cancel(tokens: (any TokenSource)?) async throws -> Bool
    /// Throws `invalidArgument` for a task of another endpoint that has not ended.
    func checkEndpoint() throws(StorageError)
    /// The snapshot after success. Throws the task's error, or `CancellationError` when the waiting is cancelled.
    func result() async throws -> Snapshot
    /// Adds an observer, which gets an event at once where the status fits the present state.
    func observe(_ status: Status, handle: String, _ connection: ConnectionObservers)
}

extension ControllableTask {
    public func snapshot() -> Snapshot { snapshot(for: nil) }
}

extension TransferTask: ControllableTask where Strategy: ListedStrategy {
    public nonisolated static var kind: String { Strategy.kind.rawValue }

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

    public var hasEnded: Bool { state.isFinished }

    public func resume(tokens: (any TokenSource)?) -> Bool { resume(tokens: tokens, replacesNewer: true) }
}
