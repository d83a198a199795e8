import Platform
import Storage

/// The settings of a client. They apply to tasks and calls that begin later.
public struct Settings: Equatable, Sendable {
    /// How long failures of uploads are retried, in seconds. The other retry times are in seconds, too.
    public private(set) var maxUploadRetryTime = 600.0
    public private(set) var maxDownloadRetryTime = 600.0
    public private(set) var maxOperationRetryTime = 120.0
    /// In bytes, a multiple of 256 KiB; with nil the sizes of chunks follow the speed of the network.
    public private(set) var uploadChunkSizeBytes: Int64?
    /// The project of Google Cloud that pays; with nil the credentials decide.
    public private(set) var userProject: String?

    public enum RetryTime: String, CaseIterable, Sendable {
        case maxUploadRetryTime, maxDownloadRetryTime, maxOperationRetryTime
    }

    public init() {}

    /// The settings of a task over a folder.
    init(_ client: FolderClient, _ kind: FolderRequest.Kind) {
        (maxUploadRetryTime, maxDownloadRetryTime) = (client.retryTime, client.retryTime)
        maxOperationRetryTime = client.operationRetryTime
        (uploadChunkSizeBytes, userProject) = (client.chunkSize, client.userProject)
    }

    /// Settings that retry no failure.
    static var withoutRetries: Settings {
        var settings = Settings()
        (settings.maxUploadRetryTime, settings.maxDownloadRetryTime, settings.maxOperationRetryTime) = (0, 0, 0)
        return settings
    }

    /// Throws `invalidArgument` unless the seconds are at least 0 and at most a year.
    public mutating func set(_ time: RetryTime, to seconds: Double) throws(StorageError) {
        guard (0...31_536_000).contains(seconds) else {
            throw .invalidArgument(
                time.rawValue, "\(time.rawValue) must be between 0 seconds and a year, not \(seconds).")
        }
        switch time {
        case .maxUploadRetryTime: maxUploadRetryTime = seconds
        case .maxDownloadRetryTime: maxDownloadRetryTime = seconds
        case .maxOperationRetryTime: maxOperationRetryTime = seconds
        }
    }

    /// Sets the size of chunks, rounded up to 256 KiB. Throws `invalidArgument` unless the size is positive.
    public mutating func setUploadChunkSize(_ bytes: Int64) throws(StorageError) {
        guard bytes > 0 else {
            throw .invalidArgument("uploadChunkSizeBytes", "uploadChunkSizeBytes must be positive, not \(bytes).")
        }
        uploadChunkSizeBytes = ChunkSizes.fixed(bytes).first
    }

    /// Sets the project; an empty text removes it. Throws `invalidArgument` for a text that cannot be an HTTP header.
    public mutating func setUserProject(_ project: String) throws(StorageError) {
        guard project.utf8.count <= 255, project.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidArgument(
                "userProject", "userProject must be the id of a project: at most 255 printable characters of ASCII.")
        }
        userProject = project.isEmpty ? nil : project
    }
}

/// How many transfers of all clients run at the same time; nil for the default of the engine.
public struct TasksAtOnce: Equatable, Sendable {
    /// Uploads of more than one request.
    public private(set) var uploads: Int?
    public private(set) var downloads: Int?

    public static let range = 1...256

    public init() {}

    public mutating func setUploads(_ count: Int64) throws(StorageError) {
        uploads = try Self.checked(count, "uploadsAtOnce")
    }

    public mutating func setDownloads(_ count: Int64) throws(StorageError) {
        downloads = try Self.checked(count, "downloadsAtOnce")
    }

    private static func checked(_ count: Int64, _ param: String) throws(StorageError) -> Int {
        guard let exact = Int(exactly: count), range.contains(exact) else {
            throw .invalidArgument(
                param, "\(param) must be between \(range.lowerBound) and \(range.upperBound), not \(count).")
        }
        return exact
    }
}

/// Bounds of the memory and the descriptors that all clients together use.
public struct TransferLimits: Equatable, Sendable {
    public var tasks = 10_000
    public var uploadSessions = SessionBounds()
    /// The number of finished tasks of each kind that are kept. The newest are kept.
    public var finishedTasks = 1000
    public var connectionObservers = 10_000
    public var observers = 100_000
    /// The maximum number of entries in a result of `listAll`.
    public var listResults = 100_000
    /// The number of tasks over folders for whose directories and plans the process has descriptors.
    public var tasksWithFiles = Int.max
    /// The maximum number of concurrent uploads of files, and of concurrent downloads to files.
    public var transfersWithFiles: Int { tasksWithFiles.addingSaturated(tasksWithFiles) }

    public init() {}
}

/// The tokens and settings of the client that begins a task or a call. A task keeps them.
public struct TransferClient: Sendable {
    public var tokens: (any TokenSource)?
    public var settings: Settings
    /// The origin of the tasks; nil for a client of JSON-RPC.
    public var origin: TaskRequest.Origin?
    /// The client's umask, which limits the permissions of downloaded files. Nil for the umask of the service.
    public var newFilesMask: UInt32?
    /// The directories that local files must be in. Nil for those of the service.
    public var confinement: LocalConfinement?
    /// Called before each wait for a retry of a request, on any thread.
    public var willRetry: (@Sendable (RequestRetry) -> Void)?
    /// Throws if the client may not continue a task that has the key of its request. Nil for a client with all rights.
    public var checkContinued: (@Loop @Sendable (any StorageTask) throws(StorageError) -> Void)?

    public init(tokens: (any TokenSource)? = nil, settings: Settings, newFilesMask: UInt32? = nil) {
        (self.tokens, self.settings, self.newFilesMask) = (tokens, settings, newFilesMask)
    }

    /// A client of the gateway, which retries its requests itself.
    public static var gateway: TransferClient {
        var client = TransferClient(settings: .withoutRetries)
        client.origin = .gateway
        return client
    }

    /// The client as a caller of the engine, with one of the retry times.
    func caller(_ retryTime: KeyPath<Settings, Double>) -> Caller {
        var caller = Caller(
            tokens: tokens, retryTime: .seconds(settings[keyPath: retryTime]), userProject: settings.userProject)
        caller.willRetry = willRetry
        return caller
    }
}
