import Platform

/// The engines, with the names that flags and clients use.
public enum EngineKind: String, CaseIterable, Sendable { case embedded, firebase, gcs, s3 }

/// What callers of an engine need to know about it.
public struct EngineProperties: Sendable {
    public let kind: EngineKind
    /// The kind of a token that a client sets without naming one.
    public var tokenKind = Token.Kind.idToken
    public var uploadsAtOnce: Int
    /// The maximum number of concurrent uploads of one request each; `uploadsAtOnce` does not count them.
    public var smallUploadsAtOnce: Int
    /// The maximum number of concurrent downloads to files.
    public var downloadsAtOnce: Int
    /// Objects up to this size, in bytes, are uploaded in one request.
    public var oneRequestLimit: Int64
    /// The sizes of chunks, unless a client sets a fixed size.
    public var chunkSizes: ChunkSizes
    /// An object of any size is copied in one request.
    public var copiesAtOnce = false
    /// Every piece of an upload may have any size. Otherwise all but the last end at multiples of `ChunkSizes.granularity`.
    public var takesAnyPiece = false
    /// An upload looks first which object it replaces, unless the list of a folder has told that there is none.
    public var looksBeforeUploads = false
    /// The maximum number of objects that one request deletes, whatever they are by then; nil for an engine that deletes one
    /// by one.
    public var deletionsTogether: Int?
    /// The parts of uploads; nil for an engine whose pieces may have different sizes.
    public var parts: PartSizes?
    /// Files up to this size, in bytes, may be read when they are inspected, so that the upload need not open them
    /// again. Nil if the upload itself reads every file.
    public var earlyReadLimit: Int64?
    /// The local files that the engine's sessions read and write.
    public var files: any LocalFileAccess
    /// Publishes every change of an object; nil if the engine publishes no changes.
    public var changes: ChangeFeed?

    public init(
        _ kind: EngineKind, uploadsAtOnce: Int, smallUploadsAtOnce: Int, downloadsAtOnce: Int = 4,
        oneRequestLimit: Int64, chunkSizes: ChunkSizes, files: any LocalFileAccess
    ) {
        (self.kind, self.uploadsAtOnce, self.smallUploadsAtOnce) = (kind, uploadsAtOnce, smallUploadsAtOnce)
        (self.downloadsAtOnce, self.oneRequestLimit) = (downloadsAtOnce, oneRequestLimit)
        (self.chunkSizes, self.files) = (chunkSizes, files)
    }
}

/// An engine that stores objects. Sizes, offsets and limits are in bytes, here and in all rooms above.
public protocol Backend: Sendable {
    /// The properties of the engine, which never change.
    var properties: EngineProperties { get }

    func beginUpload(_ upload: Upload) -> any UploadSession
    func beginDownload(_ download: Download) -> any DownloadSession

    /// Throws `objectNotFound`, or why the engine could not look.
    func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata
    /// The answer of `metadata(of:for:)` if the engine has it without waiting, else nil.
    func knownMetadata(of reference: Reference) -> Result<ObjectMetadata, StorageError>?
    func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata

    /// Throws `objectNotFound` for a missing object, unless a precondition fails first.
    func delete(_ reference: Reference, if conditions: Preconditions, for caller: Caller) async throws(StorageError)
    /// Deletes up to `deletionsTogether` objects of one bucket with one request, without retries. Returns those that the
    /// server has deleted. Each of the others needs a deletion of its own, which tells why.
    ///
    /// - Parameter writes: the number of ended writes before the list that has shown the objects (`Listing.endedWrites`).
    ///   Objects that this service has written since are left out.
    func delete(together objects: [Reference], after writes: Int, for caller: Caller) async -> Set<Reference>
    /// Leaves out names that cannot be references.
    /// Throws `invalidArgument` for a page token that this engine has not given.
    func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing
    /// The answer of `list(_:for:)` if the engine has it without waiting, else nil.
    func knownList(_ query: ListQuery) -> Listing?
    /// The names of all buckets, in order. Throws `invalidArgument` if the engine cannot list them.
    ///
    /// - Parameters:
    ///   - project: the project of Google Cloud whose buckets are listed; nil if the client names none.
    ///   - most: the maximum number of names; with more the call throws `quotaExceeded`.
    func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String]
    /// The bytes of an object, verified, or a part of them, verified only if it covers all bytes. Throws
    /// `downloadSizeExceeded` with both sizes, if possible before it fetches bytes.
    ///
    /// - Parameters:
    ///   - part: nil for all bytes.
    ///   - known: the object's metadata, if the caller has just fetched it.
    func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8]
    /// A range of this generation, unverified and without retries. Throws `objectNotFound` or `preconditionFailed` if
    /// the object was deleted or replaced.
    ///
    /// - Parameter task: the id of the download that fetches the range.
    func piece(_ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller)
        async throws(StorageError) -> [UInt8]
    /// Verifies the stored bytes of this generation after pieces of it had a wrong checksum. An engine that finds them
    /// damaged refuses their later reads.
    func verifyStored(_ object: ObjectMetadata) async
    /// Whether reads of this object, or of another one with the same size and checksum, are refused because its stored bytes
    /// are damaged.
    func mayBeDamaged(_ object: FolderObject) -> Bool
    /// A URL that gives access to the object without credentials, valid for `seconds` if that is not nil. Throws
    /// `invalidArgument` if the engine's URLs do not expire.
    func downloadURL(of reference: Reference, expiresIn seconds: Int64?, for caller: Caller) async throws(StorageError)
        -> String
    /// Revokes the earlier URLs, and returns a new one.
    func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String

    /// How preconditions are checked in a bucket, as far as it is known.
    func preconditionChecks(in bucket: String) -> PreconditionChecks

    /// The newest generation that the engine has given. Nil if the engine does not say, or if its generations have no
    /// order.
    func lastGeneration() async throws(StorageError) -> Int64?
    /// Whether an object exists that was stored since a task began. Throws why the engine could not look.
    func isNewer(_ reference: Reference, than began: Beginning, for caller: Caller) async throws(StorageError) -> Bool

    /// Returns when background work is done, such as cancelling sessions at the server.
    func settle() async
}

extension Backend {
    public func preconditionChecks(in bucket: String) -> PreconditionChecks { PreconditionChecks(all: .atomic) }
    public func delete(together objects: [Reference], after writes: Int, for caller: Caller) async -> Set<Reference> {
        []
    }
    public func lastGeneration() async throws(StorageError) -> Int64? { nil }
    public func mayBeDamaged(_ object: FolderObject) -> Bool { false }
    public func isNewer(
        _ reference: Reference, than began: Beginning, for caller: Caller
    ) async throws(StorageError) -> Bool {
        do throws(StorageError) { return began.isBefore(try await metadata(of: reference, for: caller)) } catch {
            guard error.code == .objectNotFound else { throw error }
            return false
        }
    }
    public func knownMetadata(of reference: Reference) -> Result<ObjectMetadata, StorageError>? { nil }
    public func knownList(_ query: ListQuery) -> Listing? { nil }
    public func verifyStored(_ object: ObjectMetadata) async {}
    public func settle() async {}
}

/// One upload or download at its engine. At most one step is in flight.
public protocol TransferSession<Strategy>: Sendable {
    associatedtype Strategy: TransferStrategy

    /// Never throws: the answer is an event of the task machine. A download continues after the last byte on the disk if
    /// the object is unchanged, else from the first. The cancellation of the Swift task stops the step: it answers
    /// `aborted` at once, unless its effect can no longer be stopped.
    @Loop func perform(_ step: Strategy.Step, _ context: StepContext) async -> Strategy.Answer
    /// Closes files and gives back memory, while the task is paused. A step that was stopped may still be ending.
    func park()
    /// Removes what has been transferred so far.
    func discard()
    /// The step in flight cannot continue before the client sends more.
    @Loop var waitsForItsClient: Bool { get }
    /// The state of the session from which the next process resumes; nil if it would start over.
    func bookmark() async -> Bookmark?
}

extension TransferSession {
    @Loop public var waitsForItsClient: Bool { false }
    public func park() {}
}

/// What a step may do.
public struct StepFlags: Sendable {
    /// False if no client of this process has asked for the transfer. An object or a local file that was written since
    /// the task began then stays, and the answer is `superseded`.
    public var replacesNewer = true
    /// The task store has no record of the task, and gets none before the step has ended.
    public var isUnrecorded = false

    public init(replacesNewer: Bool = true, isUnrecorded: Bool = false) {
        (self.replacesNewer, self.isUnrecorded) = (replacesNewer, isUnrecorded)
    }
}

/// The circumstances of a step.
public struct StepContext: Sendable {
    public var flags: StepFlags
    /// Takes the progress of a download, on any thread.
    public var report: @Sendable (Progress) -> Void
    /// The bytes that the client of an upload has sent for the step; nil unless the client sends the bytes itself.
    public var bytes: IncomingBytes?
    /// Whether the step is stopped by a pause, which lets it end by itself if it is about to and that saves work.
    public var isPaused: @Sendable () -> Bool

    public init(
        _ flags: StepFlags = StepFlags(), report: @escaping @Sendable (Progress) -> Void = { _ in },
        isPaused: @escaping @Sendable () -> Bool = { false }
    ) {
        (self.flags, self.report, self.isPaused) = (flags, report, isPaused)
    }

    public var replacesNewer: Bool { flags.replacesNewer }
}

public typealias UploadSession = TransferSession<UploadStrategy>
public typealias DownloadSession = TransferSession<DownloadStrategy>

/// An upload of bytes or a file, or a copy of an object: the record of its task, its source, and its caller.
public struct Upload: Sendable {
    /// The record of the task. The id is empty for an upload without a task.
    public var record: TaskRecord
    /// The task store has the record, or gets it when the task has to wait. An engine with its own task store writes the
    /// task's success in the transaction that stores the object.
    public var isRecorded = false
    public var source: UploadSource
    public var caller: Caller
    /// When the task over a folder began that the upload belongs to. Nil for any other upload.
    public var began: Beginning?
    /// The task over a folder has listed the target since it began, and there is no object with the name.
    public var isListedAsNew = false
    /// The file's bytes at its inspection, for the first attempt. Nil if they were not read.
    public var bytesOfFile: [UInt8]?
    /// An earlier process, or an earlier session, began the upload: the record has the state of that session.
    public var isRestored = false

    public let preconditions: Preconditions

    public init(_ record: TaskRecord, from source: UploadSource, for caller: Caller) {
        (self.record, self.source, self.caller) = (record, source, caller)
        preconditions = record.request?.preconditions ?? Preconditions()
    }

    /// An upload without a task.
    public init(
        reference: Reference, source: UploadSource, metadata: SettableMetadata, expectedMD5: String? = nil,
        if preconditions: Preconditions = Preconditions(), caller: Caller = Caller(retryTime: .seconds(600))
    ) {
        let request = TaskRequest(file: "", retryTime: 0, preconditions: preconditions, hasOwnTokens: false)
        let record = TaskRecord(
            id: "", kind: .upload, number: 0, began: Timestamp(microseconds: 0), reference: reference,
            progress: .unknown, metadata: metadata, md5Hash: expectedMD5, stage: .unfinished(request, nil))
        self.init(record, from: source, for: caller)
    }

    /// The upload with the bytes that its client has sent for a step; with nil the upload itself.
    package func with(_ bytes: IncomingBytes?) -> Upload {
        var upload = self
        if let bytes { upload.source = .incoming(bytes) }
        return upload
    }

    package func with(bytesOfFile bytes: [UInt8]?) -> Upload {
        var upload = self
        upload.bytesOfFile = bytes
        return upload
    }

    /// The record; nil for a task that is not recorded.
    public var recorded: TaskRecord? { isRecorded ? record : nil }

    /// The id of the task; nil for an upload without a task.
    public var task: String? { record.id.isEmpty ? nil : record.id }
    /// The id of the task over a folder that it belongs to.
    public var folder: String? { record.folder }
    public var reference: Reference { record.reference }
    public var metadata: SettableMetadata {
        get { record.metadata }
        set { record.metadata = newValue }
    }
    /// The base64 MD5 that the bytes must have.
    public var expectedMD5: String? {
        get { record.md5Hash }
        set { record.md5Hash = newValue }
    }
    public var expectedCRC32C: UInt32? { record.request?.crc32c }
    /// The source is a file that the service made for this upload.
    public var isSpooled: Bool { record.request?.isSpooled ?? false }
    public var bookmark: Bookmark? {
        get { record.bookmark }
        set { record.bookmark = newValue }
    }
}

public enum UploadSource: Sendable {
    case data([UInt8])
    case file(path: String, FileIdentity)
    case incoming(IncomingBytes)
    case object(CopySource)

    /// In bytes; nil while it is unknown.
    public var size: Int64? {
        switch self {
        case .data(let bytes): Int64(bytes.count)
        case .file(_, let identity): identity.size
        case .incoming(let bytes): bytes.size
        case .object(let source): source.found?.size
        }
    }

    /// The object that is copied; nil if the source is no object.
    public var copy: CopySource? { if case .object(let source) = self { source } else { nil } }
}

public struct FileIdentity: Codable, Equatable, Sendable {
    public var size: Int64
    /// When its bytes last changed, as the file system reports it: seconds since 1970 and nanoseconds.
    public var modifiedSeconds: Int64
    public var modifiedNanoseconds: Int64
    public var inode: UInt64
    /// When the bytes, the name or the permissions last changed: no program can reset this time. Nil if it says nothing
    /// about the bytes, and in records of earlier versions.
    public var changedSeconds: Int64?
    public var changedNanoseconds: Int64?
    /// The inode's generation, which differs between files that have the same inode number one after the other. Nil if
    /// the file system has none.
    public var generation: UInt32?
    /// The CRC32C of the file's first and last block.
    public var ends: UInt32

    public init(size: Int64, modifiedSeconds: Int64, modifiedNanoseconds: Int64, inode: UInt64, ends: UInt32) {
        (self.size, self.modifiedSeconds, self.modifiedNanoseconds) = (size, modifiedSeconds, modifiedNanoseconds)
        (self.inode, self.ends) = (inode, ends)
    }

    /// Whether both are the same file with the same bytes, as far as the two identities say.
    public func isSame(as other: FileIdentity) -> Bool { ends == other.ends && change(since: other) == nil }

    /// The first difference besides `ends`, as a sentence; nil if there is none. An unknown value equals any value.
    package func change(since earlier: FileIdentity) -> String? {
        if inode != earlier.inode { return "another file took its place" }
        if size != earlier.size { return "its size went from \(earlier.size) to \(size) bytes" }
        if (modifiedSeconds, modifiedNanoseconds) != (earlier.modifiedSeconds, earlier.modifiedNanoseconds) {
            return "it was written to"
        }
        if !Self.isSame(generation, earlier.generation) { return "another file took its place" }
        guard Self.isSame(changedSeconds, earlier.changedSeconds),
            Self.isSame(changedNanoseconds, earlier.changedNanoseconds)
        else { return "it was written to, or its name or permissions were changed" }
        return nil
    }

    private static func isSame<Value: Equatable>(_ a: Value?, _ b: Value?) -> Bool { a == nil || b == nil || a == b }
}

/// The first and the largest size of chunks, in bytes. Sizes follow the speed of the network; a failure resets them.
public struct ChunkSizes: Equatable, Sendable {
    public var first: Int64
    public var largest: Int64

    /// Every chunk but the last is a multiple of this, as the services demand.
    public static let granularity: Int64 = 256 << 10

    public init(first: Int64 = granularity, largest: Int64) { (self.first, self.largest) = (first, largest) }

    /// A fixed size, rounded up to the granularity.
    public static func fixed(_ size: Int64) -> ChunkSizes {
        let rounded =
            size > .max - granularity
            ? .max / granularity * granularity : (max(size, 1) + granularity - 1) / granularity * granularity
        return ChunkSizes(first: rounded, largest: rounded)
    }
}

/// The sizes of the parts of an upload, for an engine that wants all but the last to have the same size.
public struct PartSizes: Equatable, Sendable {
    /// In bytes, like `usual` and `largest`.
    public var smallest: Int64 = 5 << 20
    public var usual: Int64 = 8 << 20
    public var largest: Int64 = 5 << 30
    public var mostParts: Int64 = 10_000

    public init() {}

    /// The size of the parts of an object.
    ///
    /// - Parameters:
    ///   - size: the size of the object in bytes; nil if it is unknown.
    ///   - wanted: the size that the client has set; nil for the usual one.
    public func size(of size: Int64?, wanted: Int64?) -> Int64 {
        let chosen = max(ChunkSizes.fixed(wanted ?? usual).first, smallest)
        // Rounded up, so that parts of whole granules suffice.
        let needed = ChunkSizes.fixed((size ?? 0) / mostParts + 1).first
        return min(max(chosen, needed), largest)
    }
}
