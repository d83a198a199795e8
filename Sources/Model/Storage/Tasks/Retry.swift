public struct Retry: Equatable, Sendable {
    /// The part that failed: `upload` includes an upload in one request; `finalize` sends the last bytes and commits.
    public enum Stage: String, CaseIterable, Sendable { case start, query, upload, finalize, download }

    /// 1 for the first retry since the last progress.
    public var attempt: Int
    public var of: Stage
    /// When the retry is due.
    public var at: Timestamp
    public var error: StorageError

    public init(attempt: Int, of stage: Stage, at time: Timestamp, error: StorageError) {
        self.attempt = attempt
        self.of = stage
        self.at = time
        self.error = error
    }
}

/// The wait of a request before it is tried again.
public struct RequestRetry: Sendable {
    /// 1 for the first retry.
    public var attempt: Int
    /// When the retry is due.
    public var at: Timestamp
    public var error: StorageError

    public init(attempt: Int, at time: Timestamp, error: StorageError) {
        (self.attempt, at, self.error) = (attempt, time, error)
    }
}
