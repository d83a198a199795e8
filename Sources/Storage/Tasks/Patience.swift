/// What failed since the last progress, and how long that may go on: rests and failing steps use patience up.
public struct Patience: Equatable, Sendable {
    static let attemptsKept = 100

    private let limit: Duration
    private var backoff: Backoff
    private var spent = Duration.zero
    /// Rests since the last progress.
    private(set) var retries = 0
    /// The newest failures since the last progress.
    public private(set) var attempts: [StorageError.Attempt] = []

    public init(limit: Duration, seed: UInt64) {
        self.limit = limit
        backoff = Backoff(seed: seed)
    }

    mutating func renew() {
        spent = .zero
        retries = 0
        attempts = []
    }

    /// A try failed, after so long.
    public mutating func note(_ error: StorageError, took: Duration, at time: Timestamp, completed: Int64 = 0) {
        spent += max(took, .zero)
        if attempts.count >= Self.attemptsKept { attempts.removeFirst() }
        attempts.append(
            StorageError.Attempt(
                time: time, httpStatus: error.httpStatus, cause: error.message, completedUnitCount: completed))
    }

    /// How long to rest now; the last rest takes what is left. Nil where retrying, or being as patient as asked, is over.
    public mutating func nextRest(atLeast asked: Duration?) -> Duration? {
        let left = limit - spent
        guard left > .zero, asked ?? .zero <= left else { return nil }
        let rest = max(backoff.delay(beforeRetry: retries), asked ?? .zero)
        retries += 1
        return min(rest, left)
    }

    /// Only a rest to its end counts: time paused does not.
    public mutating func rested(_ pause: Duration) { spent += pause }
}

extension StorageError {
    /// The end of patience, after this last failure.
    public func retriedTooOften(_ attempts: [Attempt]) -> StorageError {
        var error = self
        error.code = .retryLimitExceeded
        error.message = "Max retry time for operation exceeded, please try again. The last failure: \(message)"
        error.attempts = attempts
        return error
    }
}
