/// The event that a snapshot was taken for, by its name in the SDK.
public enum Status: String, CaseIterable, Sendable {
    case resume, progress, pause, success, failure
}

/// The state of a task as its owner sees it.
public enum TaskState: String, CaseIterable, Sendable {
    case queued, running, paused, success, failed, cancelled

    public var isFinished: Bool { self == .success || self == .failed || self == .cancelled }

    /// Whether an observer of this status that is added now has something to hear at once.
    public func fits(_ status: Status) -> Bool {
        switch self {
        case .queued: false
        case .running: status == .resume || status == .progress
        case .paused: status == .pause
        case .success: status == .success
        case .failed, .cancelled: status == .failure
        }
    }

    /// The status of a snapshot that was asked for.
    public var status: Status {
        switch self {
        case .queued, .running: .resume
        case .paused: .pause
        case .success: .success
        case .failed, .cancelled: .failure
        }
    }
}

/// Acknowledged bytes out of all bytes.
public struct Progress: Equatable, Sendable {
    public var completedUnitCount: Int64
    public var totalUnitCount: Int64

    public init(completedUnitCount: Int64, totalUnitCount: Int64) {
        self.completedUnitCount = completedUnitCount
        self.totalUnitCount = totalUnitCount
    }

    /// 0 to 1; of nothing, everything is done.
    public var fractionCompleted: Double {
        totalUnitCount == 0 ? 1 : Double(completedUnitCount) / Double(totalUnitCount)
    }
}

/// A task as it was in one moment.
public struct TaskSnapshot: Equatable, Sendable {
    public enum Metadata: Equatable, Sendable {
        case uploading(SettableMetadata, md5Hash: String?)
        case stored(ObjectMetadata)
    }

    public var task: String
    public var status: Status
    public var state: TaskState
    public var progress: Progress
    public var reference: Reference
    public var metadata: Metadata
    public var error: StorageError?
    /// What it waits for while it rests after a failure.
    public var retry: Retry?

    public init(
        task: String, status: Status, state: TaskState, progress: Progress, reference: Reference,
        metadata: Metadata, error: StorageError? = nil, retry: Retry? = nil
    ) {
        self.task = task
        self.status = status
        self.state = state
        self.progress = progress
        self.reference = reference
        self.metadata = metadata
        self.error = error
        self.retry = retry
    }
}

extension UploadMachine {
    /// What of the inner state is anybody's business: a task being stopped still runs.
    public var taskState: TaskState {
        switch state {
        case .ready, .queued: .queued
        case .working, .stopping, .resting: .running
        case .paused: .paused
        case .ended(.succeeded): .success
        case .ended(.cancelled): .cancelled
        case .ended(.failed): .failed
        }
    }

    public var progress: Progress { Progress(completedUnitCount: acknowledged, totalUnitCount: size) }

    public var retry: Retry? {
        if case .resting(let retry, _) = state { retry } else { nil }
    }

    /// It was told to stop and has not yet: a pause or a cancellation is not answered before it has.
    public var isSettled: Bool {
        if case .stopping = state { false } else { true }
    }
}
