/// What a task waits for while it rests after a failure.
public struct Retry: Equatable, Sendable {
    /// What failed. An upload in one request is `upload`; the last bytes, and committing, are `finalize`.
    public enum Stage: String, CaseIterable, Sendable { case start, query, upload, finalize }

    /// 1 for the first retry since the last progress.
    public var attempt: Int
    public var of: Stage
    /// When it is due.
    public var at: Timestamp
    /// Why it is needed.
    public var error: StorageError

    public init(attempt: Int, of stage: Stage, at time: Timestamp, error: StorageError) {
        self.attempt = attempt
        self.of = stage
        self.at = time
        self.error = error
    }
}

extension UploadMachine {
    func stage(of step: Step) -> Retry.Stage {
        switch step {
        case .open: .start
        case .query: .query
        case .send(let range) where range.upperBound == size: .finalize
        case .sendWhole, .send: .upload
        }
    }
}
