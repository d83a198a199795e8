/// The event that a snapshot was taken for, with its name in the SDK.
public enum Status: String, CaseIterable, Sendable {
    case resume, progress, pause, success, failure
}

/// The state of a task that clients see.
public enum TaskState: String, CaseIterable, Sendable {
    case queued, running, paused, success, failed, cancelled

    /// Hashes one byte: the default would hash the name.
    public func hash(into hasher: inout Hasher) {
        let number: UInt8 =
            switch self {
            case .queued: 0
            case .running: 1
            case .paused: 2
            case .success: 3
            case .failed: 4
            case .cancelled: 5
            }
        hasher.combine(number)
    }

    public var isFinished: Bool { self == .success || self == .failed || self == .cancelled }

    /// Whether a new observer of this status gets an event at once.
    public func fits(_ status: Status) -> Bool {
        switch self {
        case .queued: false
        case .running: status == .resume || status == .progress
        case .paused: status == .pause
        case .success: status == .success
        case .failed, .cancelled: status == .failure
        }
    }

    /// The status of a snapshot that a client has requested.
    public var status: Status {
        switch self {
        case .queued, .running: .resume
        case .paused: .pause
        case .success: .success
        case .failed, .cancelled: .failure
        }
    }
}

/// The acknowledged bytes, and all bytes.
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

    /// Nothing is done, and the total is unknown.
    public static var unknown: Progress { Progress(completedUnitCount: 0, total: nil) }

    /// The total, or the completed bytes while it is unknown.
    public var totalUnitCount: Int64 { total ?? completedUnitCount }

    /// The progress with nothing done.
    var atBeginning: Progress { Progress(completedUnitCount: 0, total: total) }

    /// From 0 to 1; 1 for a total of 0.
    public var fractionCompleted: Double {
        guard let total else { return 0 }
        return total == 0 ? 1 : Double(completedUnitCount) / Double(total)
    }
}

/// The state of a task at one moment, with the error of one that has failed.
public protocol TaskResult: Equatable, Sendable { var error: StorageError? { get } }

/// The state of an upload or a download at one moment.
public struct TaskSnapshot: TaskResult {
    /// Boxed, so that copies of snapshots are small.
    public indirect enum Metadata: Equatable, Sendable {
        case uploading(SettableMetadata, md5Hash: String?)
        case stored(ObjectMetadata)
    }

    public var kind: TaskKind
    public var task: String
    public var status: Status
    public var state: TaskState
    public var progress: Progress
    public var reference: Reference
    /// Nil for a download or a copy until its success.
    public var metadata: Metadata?
    @Boxed public var error: StorageError? = nil
    /// The pending retry after a failure.
    @Boxed public var retry: Retry? = nil
    /// The endpoint of the task, if it is another than the service's.
    public var endpoint: String?
    /// The source or the target of the bytes, if it is neither a file nor memory.
    public var origin: TaskRequest.Origin?
    /// The offset of a stream's next byte; nil for any other task, and once the task has ended.
    public var offset: Int64?
    /// The request of a copy; nil for any other task.
    @Boxed public var copy: CopyRequest? = nil
    /// The key that the client has given the task.
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
