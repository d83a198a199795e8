import Storage

/// Bounds of the memory that all clients together use.
public struct TransferLimits: Equatable, Sendable {
    /// Unfinished tasks.
    public var tasks = 10_000
    /// Finished tasks of each kind: the newest are kept.
    public var finishedTasks = 1000
    /// Observers of one connection.
    public var connectionObservers = 10_000
    /// Observers of all connections.
    public var observers = 100_000
    /// The largest result of `listAll`.
    public var listResults = 100_000

    public init() {}
}

extension StorageError {
    /// A limit is reached; `flag` raises it.
    public static func noRoom(for what: String, _ flag: String, is limit: Int) -> StorageError {
        var error = StorageError(.quotaExceeded, "There is no room for more \(what): \(flag) is \(limit).")
        error.retryable = true
        return error
    }
}
