/// The event that a snapshot was taken for, by its name in the SDK.
public enum Status: String, CaseIterable, Sendable {
    case resume, progress, pause, success, failure
}

/// The state of a task as its owner sees it.
public enum TaskState: String, CaseIterable, Sendable {
    case queued, running, paused, success, failed, cancelled

    public var isFinished: Bool { self == .success || self == .failed || self == .cancelled }

    /// Whether an observer of this status gets an event as soon as it is added.
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
    /// Nil while it is unknown.
    public private(set) var total: Int64?

    public init(completedUnitCount: Int64, total: Int64?) {
        (self.completedUnitCount, self.total) = (completedUnitCount, total)
    }

    public init(completedUnitCount: Int64, totalUnitCount: Int64) {
        self.init(completedUnitCount: completedUnitCount, total: totalUnitCount)
    }

    /// The total is unknown, and nothing is done.
    public static var unknown: Progress { Progress(completedUnitCount: 0, total: nil) }

    /// While the total is unknown, the bytes that there are.
    public var totalUnitCount: Int64 { total ?? completedUnitCount }

    /// Nothing is done.
    var atBeginning: Progress { Progress(completedUnitCount: 0, total: total) }

    /// 0 to 1; 1 for a total of 0.
    public var fractionCompleted: Double {
        guard let total else { return 0 }
        return total == 0 ? 1 : Double(completedUnitCount) / Double(total)
    }
}

/// The state of a task at one moment.
public struct TaskSnapshot: Equatable, Sendable {
    public enum Metadata: Equatable, Sendable {
        case uploading(SettableMetadata, md5Hash: String?)
        case stored(ObjectMetadata)
    }

    public var kind: TaskKind
    public var task: String
    public var status: Status
    public var state: TaskState
    public var progress: Progress
    public var reference: Reference
    /// Nil for a download or a copy that has not succeeded.
    public var metadata: Metadata?
    public var error: StorageError?
    /// The pending retry after a failure.
    public var retry: Retry?
    /// The endpoint that it belongs to, where it is not the service's own.
    public var endpoint: String?
    /// Where the bytes come from, or go to, where that is neither a file nor memory.
    public var origin: TaskRequest.Origin?
    /// The next byte of a stream; nil for any other task, and once the task has ended.
    public var offset: Int64?
    /// What a copy is made of; nil for any other task.
    public var copy: CopyRequest?
    /// What its client has named it.
    public var key: String?

    public init(
        kind: TaskKind, task: String, status: Status, state: TaskState, progress: Progress, reference: Reference,
        metadata: Metadata? = nil, error: StorageError? = nil, retry: Retry? = nil, endpoint: String? = nil,
        origin: TaskRequest.Origin? = nil, copy: CopyRequest? = nil
    ) {
        (self.kind, self.task, self.status, self.state) = (kind, task, status, state)
        (self.progress, self.reference, self.metadata, self.error) = (progress, reference, metadata, error)
        (self.retry, self.endpoint, self.origin, self.copy) = (retry, endpoint, origin, copy)
    }
}
