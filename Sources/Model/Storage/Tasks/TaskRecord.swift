import JSONText

/// The persistent state of a task: the data to continue it, or its outcome.
public struct TaskRecord: Equatable, Sendable {
    public var id: String
    public var kind: TaskKind
    /// Orders tasks by their creation.
    public var number: Int64
    /// When the task was created, by this machine's clock.
    public var began: Timestamp
    public var reference: Reference
    public var progress: Progress
    public var metadata: SettableMetadata
    public var md5Hash: String?
    public var stage: Stage
    /// The request with which a failed task runs again; nil for any other task, and if that is not possible.
    @Boxed public var retryRequest: RetryRequest? = nil
    /// The request of a copy; nil for any other task.
    @Boxed public var copy: CopyRequest? = nil
    /// The origin of a task that has ended.
    public var originOfEnded: TaskRequest.Origin?
    /// The id of the task over a folder that this task belongs to. Clients do not see such a task.
    public var folder: String?
    /// The key that the client has given the task: a request with the same key joins the task until that has ended.
    public var key: String?
    /// The endpoint of the task, if it is another than the service's. Set by the task store.
    public var endpoint: String?

    /// Boxed, so that copies of records are small.
    public indirect enum Stage: Equatable, Sendable {
        case unfinished(TaskRequest, Bookmark?)
        case ended(TaskOutcome, at: Timestamp)
    }

    public init(
        id: String, kind: TaskKind, number: Int64, began: Timestamp, reference: Reference, progress: Progress,
        metadata: SettableMetadata = SettableMetadata(), md5Hash: String? = nil, stage: Stage
    ) {
        (self.id, self.kind, self.number, self.began) = (id, kind, number, began)
        (self.reference, self.progress, self.metadata, self.md5Hash) = (reference, progress, metadata, md5Hash)
        self.stage = stage
    }

    public var hasEnded: Bool { if case .ended = stage { true } else { false } }

    /// The request of an unfinished task.
    public var request: TaskRequest? {
        get { if case .unfinished(let request, _) = stage { request } else { nil } }
        set { if let newValue { stage = .unfinished(newValue, bookmark) } }
    }

    /// The kind of client that sends, or has sent, the bytes of an upload without a source.
    public var origin: TaskRequest.Origin? { request?.origin ?? originOfEnded }

    /// The engine's state of an unfinished task.
    public var bookmark: Bookmark? {
        get { if case .unfinished(_, let bookmark) = stage { bookmark } else { nil } }
        set { if case .unfinished(let request, _) = stage { stage = .unfinished(request, newValue) } }
    }

    /// The task's title for the log, without its id: that of an upload through the gateway is the address of a session.
    public var title: String { "the \(kind.rawValue) of \(reference.url)" }

    public func ended(_ outcome: TaskOutcome, at time: Timestamp) -> TaskRecord {
        var record = self
        record.originOfEnded = origin
        if case .succeeded(let stored) = outcome {
            record.progress = Progress(completedUnitCount: stored.size, totalUnitCount: stored.size)
        }
        record.stage = .ended(outcome, at: time)
        record.retryRequest = outcome.mayBeRetried ? repeatableRequest : nil
        return record
    }

    /// The request of an unfinished task whose source outlives its end: a file or an object, but no bytes from memory
    /// or from requests of a client.
    ///
    /// Only the bookmark of a copy is kept: it names the copied generation, which a move must not confuse with a later
    /// one. Other bookmarks name data that the end removes.
    private var repeatableRequest: RetryRequest? {
        guard case .unfinished(let request, let bookmark) = stage, request.origin == nil, !request.isSpooled else {
            return nil
        }
        if copy != nil { return RetryRequest(request: request, bookmark: bookmark?.ifSmall) }
        return kind == .download || request.identity != nil ? RetryRequest(request: request) : nil
    }

    /// The record with which a failed task runs again; nil if it cannot on this machine.
    public var forRetry: TaskRecord? {
        guard endpoint == nil, let retryRequest else { return nil }
        var record = self
        record.retryRequest = nil
        record.stage = .unfinished(retryRequest.request, retryRequest.bookmark)
        if retryRequest.bookmark == nil { record.progress = progress.atBeginning }
        return record
    }
}

/// The request of a failed task that can run again.
public struct RetryRequest: Equatable, Sendable {
    public var request: TaskRequest
    public var bookmark: Bookmark?

    public init(request: TaskRequest, bookmark: Bookmark? = nil) { (self.request, self.bookmark) = (request, bookmark) }
}

/// Boxed like the stage of a record.
public indirect enum TaskOutcome: Equatable, Sendable {
    case succeeded(ObjectMetadata)
    case cancelled
    /// Cancelled, although its last request has no answer and the server may still store the object.
    case cancelledInDoubt
    case failed(StorageError)

    /// Whether the same request may succeed later.
    public var mayBeRetried: Bool {
        if case .failed(let error) = self { error.retryable || error.code == .retryLimitExceeded } else { false }
    }
}

/// The parts of a request that a later process needs.
public struct TaskRequest: Codable, Equatable, Sendable {
    /// The local file to read or to write.
    public var file: String
    /// The file's identity at the time of the request; nil for a download.
    public var identity: FileIdentity?
    /// How long failures may be retried, in seconds.
    public var retryTime: Double
    /// In bytes; nil for sizes that adapt.
    public var chunkSize: Int64?
    /// The project of Google Cloud that pays, if the client named one.
    public var userProject: String?
    /// The preconditions of an upload, if there are any.
    public var preconditions: Preconditions?
    /// The umask of the client of a download, if it is known.
    public var newFilesMask: UInt32?
    /// The directories that the file must be in, if the client is confined.
    public var confinement: LocalConfinement?
    /// A download fails if its file exists. Nil in other requests, and in those of earlier versions.
    public var keepsExisting: Bool?
    /// The client used its own tokens, so only a client with tokens may resume the task.
    public var hasOwnTokens: Bool
    /// The service made the file for this task, and deletes it with the task.
    public var isSpooled = false
    /// The kind of client that sends the bytes of an upload without a source: one of the gateway, or of a stream.
    public var origin: Origin?
    /// The size that the client of such an upload has announced, in bytes; nil if it has not.
    public var size: Int64?
    /// The CRC32C that the client of an upload has announced.
    public var crc32c: UInt32?

    public enum Origin: String, Codable, Sendable { case gateway, stream }

    /// Names of the stored JSON; `patience` and `announcedSize` are names from earlier releases.
    private enum CodingKeys: String, CodingKey {
        case file, identity, retryTime = "patience", chunkSize, userProject, preconditions, hasOwnTokens, isSpooled
        case newFilesMask, confinement, keepsExisting, origin, size = "announcedSize", crc32c
    }

    public init(
        file: String, identity: FileIdentity? = nil, retryTime: Double, chunkSize: Int64? = nil,
        userProject: String? = nil, preconditions: Preconditions? = nil, hasOwnTokens: Bool
    ) {
        (self.file, self.identity, self.retryTime, self.chunkSize) = (file, identity, retryTime, chunkSize)
        (self.userProject, self.preconditions, self.hasOwnTokens) = (userProject, preconditions, hasOwnTokens)
    }
}

/// The engine's own state of a task. It may contain a secret, and is never shown.
public struct Bookmark: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    public var text: String

    public init(_ text: String) { self.text = text }

    public var description: String { "bookmark(…)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Nil for a bookmark that is too large to be kept after the task's end.
    fileprivate var ifSmall: Bookmark? { text.utf8.count <= 8192 ? self : nil }
}

/// Stores the records of tasks, and the bytes of uploads from memory.
public protocol TaskRecordStore: Sendable {
    /// The records that a process needs at its start.
    func openRecords() async throws(StorageError) -> OpenRecords
    /// All records that `openRecords` leaves out: those of tasks that have ended.
    func endedRecords() async throws(StorageError) -> [Result<TaskRecord, StorageError>]
    /// Returns when the record is written. A record that is not urgent survives the end of the process, but perhaps not
    /// a loss of power. The record of an ended task does not change.
    func keep(_ record: TaskRecord, isUrgent: Bool) async throws(StorageError)
    /// Writes the end of a task after `keep` has failed, to space that was reserved with the first record. Details of
    /// the outcome may be left out.
    func keepEnd(of record: TaskRecord) async throws(StorageError)
    /// Replaces the record of a failed task by one of an unfinished task, durably and atomically. False if the store
    /// has no record of a failed task with this id.
    func reopen(_ record: TaskRecord) async throws(StorageError) -> Bool
    func forget(_ tasks: [String]) async throws(StorageError)
    /// Writes bytes to a file and syncs it.
    func spool(_ bytes: [UInt8], for task: String) async throws(StorageError) -> (path: String, FileIdentity)
    func unspool(_ task: String)
}

/// The records of unfinished tasks, and the numbers of ended ones.
public struct OpenRecords: Sendable {
    /// Includes those of other endpoints, and those of all transfers of folders. An unreadable record is returned as an
    /// error.
    public var records: [Result<TaskRecord, StorageError>]
    /// The numbers of ended tasks by kind and state.
    public var ended: [TaskKind: [TaskState: Int]]
    /// The largest number of an ended task.
    public var lastNumber: Int64

    public init(
        records: [Result<TaskRecord, StorageError>] = [], ended: [TaskKind: [TaskState: Int]] = [:],
        lastNumber: Int64 = 0
    ) {
        (self.records, self.ended, self.lastNumber) = (records, ended, lastNumber)
    }
}

extension Encodable {
    /// The request as JSON.
    package var text: String { get throws { try JSON(encoding: self).text } }
}

extension Decodable {
    /// Throws `DecodingError` for a text that is no JSON of such a value.
    package init(text: String) throws { try self.init(json: Array(text.utf8)) }

    package init(json: [UInt8]) throws {
        guard let json = JSON(wire: json) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "This is no JSON."))
        }
        self = try json.decoded()
    }
}
