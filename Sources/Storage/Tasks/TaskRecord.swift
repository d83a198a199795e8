/// What the next process has to know of a task: how to go on with it, or how it ended.
public struct TaskRecord: Equatable, Sendable {
    public var id: String
    public var kind: TaskKind
    /// Tells which of two tasks was created first.
    public var number: Int64
    /// When it was created, by this machine's clock.
    public var began: Timestamp
    public var reference: Reference
    public var progress: Progress
    /// What is being uploaded.
    public var metadata: SettableMetadata
    /// The base64 MD5 that the uploaded bytes must have.
    public var md5Hash: String?
    public var stage: Stage
    /// The endpoint that the task belongs to, where it is not the service's own. Set by the task store.
    public var endpoint: String?

    public enum Stage: Equatable, Sendable {
        case unfinished(TaskRequest, Bookmark?)
        case ended(TaskOutcome, at: Timestamp)
    }

    public init(
        id: String, kind: TaskKind, number: Int64, began: Timestamp, reference: Reference, progress: Progress,
        metadata: SettableMetadata = SettableMetadata(), md5Hash: String? = nil, stage: Stage
    ) {
        self.id = id
        self.kind = kind
        self.number = number
        self.began = began
        self.reference = reference
        self.progress = progress
        self.metadata = metadata
        self.md5Hash = md5Hash
        self.stage = stage
    }

    public var hasEnded: Bool { if case .ended = stage { true } else { false } }

    public func ended(_ outcome: TaskOutcome, at time: Timestamp = .now) -> TaskRecord {
        var record = self
        if case .succeeded(let stored) = outcome {
            record.progress = Progress(completedUnitCount: stored.size, totalUnitCount: stored.size)
        }
        record.stage = .ended(outcome, at: time)
        return record
    }
}

/// How a task ended.
public enum TaskOutcome: Equatable, Sendable {
    case succeeded(ObjectMetadata)
    case cancelled
    case failed(StorageError)
}

/// What was asked for, as far as it still counts after a restart.
public struct TaskRequest: Codable, Equatable, Sendable {
    /// The local file that is read, or that is to be written.
    public var file: String
    /// What the file was like when its upload was asked for; nil for a download.
    public var identity: FileIdentity?
    /// How long failures may be retried, in seconds.
    public var retryTime: Double
    /// In bytes, where somebody set a fixed size.
    public var chunkSize: Int64?
    /// The project of Google Cloud that pays, where somebody named one.
    public var userProject: String?
    /// Of an upload, where somebody set some.
    public var preconditions: Preconditions?
    /// It was asked for by a connection with tokens of its own, which nobody else may stand in for.
    public var hasOwnTokens: Bool
    /// The file was made for this task alone, and goes with it.
    public var isSpooled = false

    /// Stored in the task table; `patience` is the key that earlier releases wrote.
    private enum CodingKeys: String, CodingKey {
        case file, identity, retryTime = "patience", chunkSize, userProject, preconditions, hasOwnTokens, isSpooled
    }

    public init(
        file: String, identity: FileIdentity? = nil, retryTime: Double, chunkSize: Int64? = nil,
        userProject: String? = nil, preconditions: Preconditions? = nil, hasOwnTokens: Bool
    ) {
        self.file = file
        self.identity = identity
        self.retryTime = retryTime
        self.chunkSize = chunkSize
        self.userProject = userProject
        self.preconditions = preconditions
        self.hasOwnTokens = hasOwnTokens
    }
}

/// Where an engine was with a task, in words of its own. It may hold a secret, and is shown nowhere.
public struct Bookmark: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    public var text: String

    public init(_ text: String) { self.text = text }

    public var description: String { "bookmark(…)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Stores what tasks must not lose: their records, and the bytes of uploads from memory.
public protocol TaskRecordStore: Sendable {
    /// All that were kept and not forgotten, those of other endpoints too; of one that cannot be read, why.
    func records() async throws(StorageError) -> [Result<TaskRecord, StorageError>]
    /// Returns when it is kept. What is not urgent outlives the process, but perhaps not a loss of power. A record
    /// of a task that has ended stays as it is.
    func keep(_ record: TaskRecord, isUrgent: Bool) async throws(StorageError)
    /// Keeps that a task has ended where `keep` cannot, in room that was set aside when the task was kept first.
    /// Perhaps not all of how it ended.
    func keepEnd(of record: TaskRecord) async throws(StorageError)
    func forget(_ tasks: [String]) async throws(StorageError)
    /// Returns a file with the bytes, on the disk.
    func spool(_ bytes: [UInt8], for task: String) async throws(StorageError) -> (path: String, FileIdentity)
    /// The file is not needed any more.
    func unspool(_ task: String)
}
