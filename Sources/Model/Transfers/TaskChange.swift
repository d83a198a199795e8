import Storage

/// One change of a task, for the trace: a new state, a retry, or a further tenth of the bytes.
public struct TaskChange: Sendable {
    /// The id of the task, or another name that is no secret.
    public var task: String
    /// `upload`, `download` or `folder`.
    public var kind: String
    public var state: TaskState
    public var progress: Progress
    public var reference: Reference
    public var error: StorageError?
    public var retry: Retry?

    init(_ snapshot: TaskSnapshot) {
        (task, kind, state) = (snapshot.task, snapshot.kind.rawValue, snapshot.state)
        (progress, reference) = (snapshot.progress, snapshot.reference)
        (error, retry) = (snapshot.error, snapshot.retry)
    }

    init(_ snapshot: FolderSnapshot) {
        (task, kind, state) = (snapshot.task, FolderTask.kind, snapshot.state)
        (progress, reference, error) = (snapshot.progress, snapshot.request.reference, snapshot.error)
    }
}

/// What the trace has of a task. Another value is another line.
struct TracedPoint: Equatable {
    let state: TaskState
    /// The number of the pending retry.
    var attempt: Int?
    /// The transferred tenths of the bytes.
    var tenths = 0

    init(_ state: TaskState) { self.state = state }

    init(_ state: TaskState, _ retry: Retry?, _ progress: Progress) {
        (self.state, attempt) = (state, retry?.attempt)
        tenths = Int(min(max(progress.fractionCompleted, 0), 1) * 10)
    }
}

extension StorageTask {
    /// Traces the change that `change` returns, if the trace has not the present state.
    func trace(_ point: TracedPoint, in log: TransferLog, _ change: () -> TaskChange) {
        guard let trace = log.changes, control.traced != point else { return }
        control.traced = point
        trace(change())
    }
}
