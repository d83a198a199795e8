/// The engines, by the names that flags and clients use.
public enum EngineKind: String, CaseIterable, Sendable { case embedded, firebase, gcs }

/// An engine that stores objects.
public protocol Backend: Sendable {
    var kind: EngineKind { get }
    /// The kind of a token that a client sets without naming one.
    var tokenKind: Token.Kind { get }
    /// How many uploads may run at the same time.
    var uploadsAtOnce: Int { get }
    /// The same for uploads of one request, which do not count above.
    var smallUploadsAtOnce: Int { get }
    /// How many downloads to files may run at the same time.
    var downloadsAtOnce: Int { get }
    /// Objects up to this size, in bytes, are uploaded in one request.
    var oneRequestLimit: Int64 { get }
    /// In bytes, where nobody set a fixed size: the first chunk, and the largest that it may grow to.
    var chunkSizes: ChunkSizes { get }

    /// Inspects a local file before its upload. Throws `unknown` that names path and reason.
    func inspect(file path: String) async throws(StorageError) -> FileIdentity
    func beginUpload(_ upload: Upload) -> any UploadSession

    /// Throws `objectNotFound`, or why the engine could not tell.
    func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata
    func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata

    /// Throws `objectNotFound` where nothing is there, unless the preconditions want something else to be there.
    func delete(_ reference: Reference, if conditions: Preconditions, for caller: Caller) async throws(StorageError)
    /// Names that are no references are left out.
    /// Throws `invalidArgument` for a page token that this engine has not given.
    func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing
    /// All bytes, verified. Throws `downloadSizeExceeded` that names both sizes, before it fetches any if it can.
    ///
    /// - Parameter known: the object's metadata, where the caller has just looked at it.
    func data(
        of reference: Reference, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8]
    func beginDownload(_ download: Download) -> any DownloadSession
    /// A URL that anybody may fetch the object from, for so many seconds where somebody said. Throws
    /// `invalidArgument` where its URLs do not end by themselves.
    func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String
    /// The same, after the URLs that were given before have become worthless.
    func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String

    /// The engine's own store of task records; nil where it has none.
    var taskStore: (any TaskRecordStore)? { get }

    /// Returns when background work is done, such as cancelling sessions at the server.
    func settle() async
}

extension Backend {
    public var tokenKind: Token.Kind { .idToken }
    public var downloadsAtOnce: Int { 4 }
    public var taskStore: (any TaskRecordStore)? { nil }
}

/// One upload at its engine. At most one step is in flight.
public protocol UploadSession: Sendable {
    /// Never throws: the answer is an event of the task machine.
    ///
    /// - Parameter replacesNewer: false where only an earlier process was asked for the upload: an object that was
    ///   stored since the task began then stays, and the answer is `superseded`.
    func perform(_ step: UploadMachine.Step, replacesNewer: Bool) async -> UploadMachine.Answer
    /// The step in flight answers `aborted` at once, unless its effect can no longer be stopped.
    func abort()
    /// The same for a pause: a step that would end by itself in a moment may do so, if it is less to do again then.
    func stopSoon()
    /// Removes what was stored so far.
    func discard()
    /// The state of the session for the next process; nil where that would begin anew.
    func bookmark() async -> Bookmark?
}

extension UploadSession {
    public func stopSoon() { abort() }
}

/// What is uploaded, and where to.
public struct Upload: Sendable {
    public var reference: Reference
    public var source: UploadSource
    public var metadata: SettableMetadata
    /// The base64 MD5 that the bytes must have.
    public var expectedMD5: String?
    public var preconditions: Preconditions
    public var caller: Caller
    /// Of the task that it belongs to, where that is kept. An engine that is its own task store keeps it, as ended,
    /// in the same moment as the object.
    public var record: TaskRecord?
    /// The source is a file that the service has made for it.
    public var isSpooled = false
    /// It was begun by an earlier process, or in an earlier session.
    public var isRestored = false
    /// Where that was with it.
    public var bookmark: Bookmark?

    public init(
        reference: Reference, source: UploadSource, metadata: SettableMetadata, expectedMD5: String? = nil,
        if preconditions: Preconditions = Preconditions(), caller: Caller = Caller(retryTime: .seconds(600))
    ) {
        self.reference = reference
        self.source = source
        self.metadata = metadata
        self.expectedMD5 = expectedMD5
        self.preconditions = preconditions
        self.caller = caller
    }
}

public enum UploadSource: Sendable {
    case data([UInt8])
    case file(path: String, FileIdentity)

    /// In bytes.
    public var size: Int64 {
        switch self {
        case .data(let bytes): Int64(bytes.count)
        case .file(_, let identity): identity.size
        }
    }
}

/// What must stay the same about a file while it is uploaded.
public struct FileIdentity: Codable, Equatable, Sendable {
    /// In bytes.
    public var size: Int64
    /// When its bytes last changed, as the file system tells it: seconds since 1970 and nanoseconds.
    public var modifiedSeconds: Int64
    public var modifiedNanoseconds: Int64
    public var inode: UInt64
    /// When its bytes, name or permissions last changed: unlike the time above no program can put it back. Nil where
    /// that says nothing about the bytes, and in records of earlier versions.
    public var changedSeconds: Int64?
    public var changedNanoseconds: Int64?
    /// Tells files apart that had the same inode one after the other. Nil where the file system does not count them.
    public var generation: UInt32?
    /// The CRC32C of its first and its last block.
    public var ends: UInt32

    public init(size: Int64, modifiedSeconds: Int64, modifiedNanoseconds: Int64, inode: UInt64, ends: UInt32) {
        self.size = size
        self.modifiedSeconds = modifiedSeconds
        self.modifiedNanoseconds = modifiedNanoseconds
        self.inode = inode
        self.ends = ends
    }
}

/// Sizes of chunks in bytes: between them they follow the speed of the line, and a failure starts anew.
public struct ChunkSizes: Equatable, Sendable {
    public var first: Int64
    public var largest: Int64

    /// Every chunk but the last is a multiple of this, as the services demand.
    public static let granularity: Int64 = 256 << 10

    public init(first: Int64 = granularity, largest: Int64) {
        self.first = first
        self.largest = largest
    }

    /// Rounded up to the granularity.
    public static func fixed(_ size: Int64) -> ChunkSizes {
        let rounded =
            size > .max - granularity
            ? .max / granularity * granularity : (max(size, 1) + granularity - 1) / granularity * granularity
        return ChunkSizes(first: rounded, largest: rounded)
    }
}
