/// Limits retries by time without progress: delays and failing steps use the budget up.
public struct RetryBudget: Equatable, Sendable {
    static let attemptsKept = 100

    private let limit: Duration
    private var backoff: Backoff
    private var spent = Duration.zero
    private var needsPatience = false
    /// The number of retries since the last progress.
    public private(set) var retries = 0
    /// The newest failures since the last progress.
    public private(set) var attempts: [StorageError.Attempt] = []

    public init(limit: Duration, seed: UInt64) {
        self.limit = limit
        backoff = Backoff(seed: seed)
    }

    mutating func renew() {
        (spent, needsPatience) = (.zero, false)
        retries = 0
        attempts = []
    }

    /// Records a failed attempt, and how long it took.
    public mutating func note(_ error: StorageError, took: Duration, at time: Timestamp, completed: Int64 = 0) {
        spent += max(took, .zero)
        needsPatience = needsPatience || error.needsPatience == true
        if attempts.count >= Self.attemptsKept { attempts.removeFirst() }
        attempts.append(
            StorageError.Attempt(
                time: time, httpStatus: error.httpStatus, cause: error.message, completedUnitCount: completed))
    }

    /// The delay before the next retry; the last one is what remains. Nil if the budget is used up, or less than the
    /// server's delay remains.
    public mutating func nextRest(atLeast wanted: Duration?) -> Duration? {
        let left = (needsPatience ? limit * 6 / 5 : limit) - spent
        guard left > .zero, wanted ?? .zero <= left else { return nil }
        let rest = max(backoff.delay(beforeRetry: retries), wanted ?? .zero)
        retries += 1
        return min(rest, left)
    }

    /// Records a failed attempt, and returns the delay before the next one. Throws the error with all attempts if the
    /// budget is used up.
    public mutating func delay(
        after error: StorageError, took: Duration, at time: Timestamp
    ) throws(StorageError) -> Duration {
        note(error, took: took, at: time)
        guard let rest = nextRest(atLeast: error.retryAfter) else { throw error.retriedTooOften(attempts) }
        return rest
    }

    /// Charges a delay that has elapsed completely, so that time while paused is not charged.
    public mutating func rested(_ pause: Duration) { spent += pause }
}

extension StorageError {
    /// The error of a task whose budget is used up.
    public func retriedTooOften(_ attempts: [Attempt]) -> StorageError {
        with(\.code, .retryLimitExceeded).with(\.attempts, attempts)
            .with(\.message, "Max retry time for operation exceeded, please try again. The last failure: \(message)")
    }
}
