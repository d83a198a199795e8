/// The part of a task that differs between uploads and downloads: the next step, and the meaning of answers.
public protocol TransferStrategy: Equatable, Sendable {
    /// A request to the engine; at most one is in flight.
    associatedtype Step: Equatable, Sendable
    associatedtype Answer: TransferAnswer

    static var kind: TaskKind { get }
    /// The number of new bytes after which the progress is recorded again.
    static var persistInterval: Int64 { get }
    /// Whether the engine's answer to the step is recorded before the next step begins.
    static func isOpening(_ step: Step) -> Bool

    var nextStep: Step { get }
    /// `completedUnitCount` never decreases, unless the total falls below it.
    var progress: Progress { get }

    func stage(of step: Step) -> Retry.Stage
    /// Treats a step without effect as failed, so that it is not repeated at once.
    func outcome(of answer: Answer, to step: Step, wasStopped: Bool) -> StepOutcome
    /// Updates the strategy with an answer that did not end the task. True if the progress has grown.
    mutating func apply(_ answer: Answer, to step: Step, _ outcome: StepOutcome, took: Duration) -> Bool
    /// Updates the strategy with a report about the step in flight.
    mutating func apply(_ report: Progress) -> ProgressChange
    /// True if this changes the progress: observers then get a last progress event before the success.
    mutating func complete(_ metadata: ObjectMetadata) -> Bool

    /// Records whether the engine may have completed, or may still complete, the task.
    mutating func noteDoubt(_ answer: Answer, to step: Step)
    /// The step that resolves such a doubt before a cancelled task ends; nil if there is no doubt.
    var settlingStep: Step? { get }
}

extension TransferStrategy {
    public mutating func noteDoubt(_ answer: Answer, to step: Step) {}
    public var settlingStep: Step? { nil }
}

/// The engine's answer to a step.
public protocol TransferAnswer: Equatable, Sendable {
    static func failed(_ error: StorageError) -> Self
    static var aborted: Self { get }
    /// The error of `failed`.
    var failure: StorageError? { get }
}

public enum TaskKind: String, Sendable { case upload, download }

/// What the engine's answer to a step means for the task.
public enum StepOutcome: Equatable, Sendable {
    case completed(ObjectMetadata)
    case advanced
    /// The step is retried after a delay if the error is retryable.
    case failed(StorageError)
    /// The engine has lost what was sent; the transfer starts over at once.
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
    /// The total has changed, without new bytes.
    case correction
    /// More bytes are done than ever before.
    case growth
}
