/// The part that differs between uploads and downloads: the next step, and the meaning of the engine's answers.
public protocol TransferStrategy: Equatable, Sendable {
    /// A request to the engine; at most one is in flight.
    associatedtype Step: Equatable, Sendable
    associatedtype Answer: TransferAnswer

    static var kind: TaskKind { get }
    /// The progress is recorded again after so many bytes.
    static var persistInterval: Int64 { get }
    /// A step whose result at the engine is recorded before the next step begins.
    static func isOpening(_ step: Step) -> Bool

    var nextStep: Step { get }
    /// `completedUnitCount` never goes back, unless the total shrinks below it.
    var progress: Progress { get }

    func stage(of step: Step) -> Retry.Stage
    /// A step without effect counts as failed, so that it is not repeated at once.
    func outcome(of answer: Answer, to step: Step, wasStopped: Bool) -> StepOutcome
    /// Updates the strategy with an answer that did not end the task. True where the progress has grown.
    mutating func apply(_ answer: Answer, to step: Step, _ outcome: StepOutcome, took: Duration) -> Bool
    /// Updates the strategy with a report about the step in flight.
    mutating func apply(_ report: Progress) -> ProgressChange
    /// True where this changes the progress: observers get a last progress event before the success.
    mutating func complete(_ metadata: ObjectMetadata) -> Bool

    /// Notes whether the engine may have done, or may still do, what would complete the task.
    mutating func noteDoubt(_ answer: Answer, to step: Step)
    /// The step that clears up such a doubt before a cancelled task ends; nil where there is none.
    var settlingStep: Step? { get }
}

extension TransferStrategy {
    public mutating func noteDoubt(_ answer: Answer, to step: Step) {}
    public var settlingStep: Step? { nil }
}

/// What an engine answers to a step.
public protocol TransferAnswer: Equatable, Sendable { static func failed(_ error: StorageError) -> Self }

public enum TaskKind: String, Sendable { case upload, download }

/// What the engine's answer to a step means for the task.
public enum StepOutcome: Equatable, Sendable {
    case completed(ObjectMetadata)
    case advanced
    /// The step is retried after a delay, where the error is retryable.
    case failed(StorageError)
    /// The engine has lost what was sent; the transfer begins anew at once.
    case lost(StorageError)
    /// The task fails without a retry.
    case fatal(StorageError)
    /// The task pauses until a client resumes it.
    case paused(StorageError)

    /// Why the step had no effect.
    var error: StorageError? {
        switch self {
        case .failed(let error), .lost(let error), .fatal(let error): error
        case .completed, .advanced, .paused: nil
        }
    }

    var lastError: StorageError? {
        switch self {
        case .fatal(let error): error
        case .failed(let error): error.retryable ? nil : error
        case .completed, .advanced, .lost, .paused: nil
        }
    }
}

/// How a report changes the progress of a task.
public enum ProgressChange: Equatable, Sendable {
    case none
    /// The total has changed, but no bytes are new.
    case correction
    /// There are more bytes than ever before.
    case growth
}
