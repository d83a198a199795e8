import Storage

/// How much all clients together may have the service keep.
public struct TransferLimits: Equatable, Sendable {
    /// Tasks that have not ended.
    public var tasks = 10_000
    /// Tasks of each kind that have ended: the newest are kept.
    public var finishedTasks = 1000
    /// Of one connection.
    public var connectionObservers = 10_000
    /// Of all connections.
    public var observers = 100_000
    /// What `listAll` answers at most.
    public var listResults = 100_000

    public init() {}
}

extension StorageError {
    /// More than the service keeps at a time; `flag` is what can be raised.
    public static func noRoom(for what: String, _ flag: String, is limit: Int) -> StorageError {
        var error = StorageError(.quotaExceeded, "There is no room for more \(what): \(flag) is \(limit).")
        error.retryable = true
        return error
    }
}
