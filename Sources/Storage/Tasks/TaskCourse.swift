/// The way from the first byte to the last: what tells an upload from a download.
public protocol TaskCourse: Equatable, Sendable {
    /// What the engine is asked to do, one at a time.
    associatedtype Step: Equatable, Sendable
    /// How a step ended.
    associatedtype Answer: Equatable, Sendable

    static var kind: TaskKind { get }
    /// After so many bytes of progress it is worth keeping where the task is.
    static var stepWorthKeeping: Int64 { get }
    /// What it leaves with the engine has to be known before anything else is done.
    static func isOpening(_ step: Step) -> Bool

    var nextStep: Step { get }
    /// Its completedUnitCount never goes back, unless there is less in all.
    var progress: Progress { get }

    func stage(of step: Step) -> Retry.Stage
    /// No step that led nowhere is simply done again: that would be a failure.
    func verdict(on answer: Answer, to step: Step, wasStopped: Bool) -> Verdict
    /// Takes in what is known from an answer that did not end the task. True where there are bytes that were never
    /// there before.
    mutating func learn(from answer: Answer, to step: Step, _ verdict: Verdict, took: Duration) -> Bool
    /// Takes in what the engine says of a step that is still in flight.
    mutating func hear(_ report: Progress) -> News
    /// True where that is still to be told as progress: there is some before every success.
    mutating func complete(_ metadata: ObjectMetadata) -> Bool
}

/// Which way the bytes of a task go.
public enum TaskKind: String, Sendable { case upload, download }

/// What an answer means for the task.
public enum Verdict: Equatable, Sendable {
    case completed(ObjectMetadata)
    /// On to the next step.
    case fine
    /// To be tried again after a rest, if ever.
    case failed(StorageError)
    /// What was done is lost; it is begun anew at once.
    case lost(StorageError)
    /// There is no use in trying again.
    case over(StorageError)
    /// It goes on only when a client asks for it.
    case held(StorageError)

    /// Why a step did not do what it was meant to.
    var error: StorageError? {
        switch self {
        case .failed(let error), .lost(let error), .over(let error): error
        case .completed, .fine, .held: nil
        }
    }

    /// The error that ends the task.
    var lastError: StorageError? {
        switch self {
        case .over(let error): error
        case .failed(let error): error.retryable ? nil : error
        case .completed, .fine, .lost, .held: nil
        }
    }
}

/// What a report brings.
public enum News: Equatable, Sendable {
    case nothing
    /// There is more or less to do than was thought.
    case correction
    /// Bytes that were never there before.
    case growth
}
