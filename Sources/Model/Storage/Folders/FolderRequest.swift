/// The request of a task over a folder, stored with its plan.
public struct FolderRequest: Codable, Equatable, Sendable {
    public enum Kind: String, Codable, CaseIterable, Sendable {
        /// Uploads a directory below a reference.
        case put
        /// Downloads everything below a reference to a directory.
        case write
        /// Deletes everything below a reference.
        case delete
        /// Copies what is below references.
        case copy
        /// Gives what is below references other names.
        case move

        package var isCopy: Bool { self == .copy || self == .move }
    }

    public var kind: Kind
    /// The folder, or the root of a bucket.
    public var reference: Reference
    /// The local directory, an absolute path; nil if objects are copied, moved or deleted.
    public var directory: String?
    /// The folders and objects to copy or move, the reference first. Nil for any other kind, and in requests of earlier
    /// versions.
    public var copies: [FolderCopy]?
    /// The patterns (`FolderFilter`) of the files to take; empty for all files.
    public var include: [String] = []
    /// The patterns of the files and folders to leave out.
    public var exclude: [String] = []
    /// Skips files whose target has the same size and checksum.
    public var onlyChanged = false
    /// Takes a stored checksum for a file whose size and times are unchanged, instead of reading the file. Nil in
    /// requests of earlier versions.
    public var trustsTimes: Bool?
    /// Removes from the target what the source does not have, after everything else has succeeded.
    public var deletesOthers = false
    /// Skips files whose target exists.
    public var keepsExisting = false
    /// Plans without changing anything.
    public var isDryRun = false
    /// Keeps the items after a success, until the task is forgotten. Nil in requests of earlier versions.
    public var keepsItems: Bool?
    /// The metadata of new objects.
    public var metadata = SettableMetadata()
    /// The maximum number of concurrent transfers, and of concurrent deletions; nil for the service's limits.
    public var atOnce: Int?
    /// The key that the client has given the task: a request with the same key joins the task until the task has ended.
    public var key: String?
    /// Where the key joins an unfinished task of copies: that task takes these copies, too, and plans its sources again. A
    /// task that deletes lists its folder again. In a stored request: the sources are to be planned again. Nil in requests
    /// of earlier versions.
    public var refreshes: Bool?
    /// The moment of the last request that a task that deletes lists its folder again: it deletes nothing newer. Nil if
    /// there was none since the last retry, and in requests of earlier versions.
    public var refreshed: Beginning?
    public var client = FolderClient()

    public static let atOnceRange = 1...64

    public init(_ kind: Kind, _ reference: Reference, directory: String? = nil) {
        (self.kind, self.reference, self.directory) = (kind, reference, directory)
    }

    /// The folder that objects are copied or moved to.
    public var target: Reference? { copies?.first?.target }
}

/// A folder, or one object, that a task copies or moves.
public struct FolderCopy: Codable, Hashable, Sendable {
    public var source: Reference
    public var target: Reference
    public var isObject: Bool

    public static let most = 10_000

    public init(_ source: Reference, to target: Reference, isObject: Bool = false) {
        (self.source, self.target, self.isObject) = (source, target, isObject)
    }
}

/// The settings of the client that began a task over a folder.
public struct FolderClient: Codable, Equatable, Sendable {
    /// How long failures of one file, and of one request, may be retried, in seconds.
    public var retryTime: Double = 600
    public var operationRetryTime: Double = 120
    /// In bytes; nil for sizes that adapt.
    public var chunkSize: Int64?
    public var userProject: String?
    /// The umask of the client, if it is known.
    public var newFilesMask: UInt32?
    /// The directories that files must be in, if the client is confined.
    public var confinement: LocalConfinement?
    /// The client used its own tokens, so only a client with tokens may resume the task.
    public var hasOwnTokens = false

    public init() {}
}

/// One file of a task over a folder.
public struct FolderItem: Equatable, Sendable {
    public enum Action: String, CaseIterable, Sendable {
        /// An upload, a download, a copy or a move, depending on the task.
        case transfer
        /// The deletion of an object or a file: of the target, or in the folder that the task deletes.
        case delete
        /// The reading of a local directory, or of an entry of unknown kind. Such an item has always failed.
        case read
    }

    public enum State: String, CaseIterable, Sendable {
        /// To do; with `isDryRun` what would be done.
        case pending
        case done
        /// Nothing to do: the target has the same bytes, or exists and must not be replaced.
        case unchanged
        /// The entry cannot be transferred: a link, a socket, an invalid name.
        case refused
        case failed
    }

    /// Orders the items of a task by the time of their discovery. 0 until the item is in the plan.
    public var number: Int64 = 0
    /// The path below the folder and the directory: segments without slashes at their ends. Bytes that are no UTF-8 are
    /// replaced. The path of a copy is the name of the new object.
    public var path: String
    public var action: Action
    public var state: State
    /// In bytes: the size of the source, or of what is deleted.
    public var size: Int64
    /// The object at the target, or the object that is downloaded, deleted, copied or moved.
    public var object: FolderObject?
    /// The object that is copied or moved.
    public var source: Reference?
    /// The generation that a copy may replace at its target; nil if there is no object. Of a copy that is done the
    /// generation that the task has made.
    public var replaced: Int64?
    /// The version of the local file that is deleted.
    public var version: LocalVersion?
    /// Why the item is refused or has failed, or why an unchanged one is not known to be equal to its target.
    public var error: StorageError?

    public init(
        _ path: String, _ action: Action = .transfer, _ state: State = .pending, size: Int64 = 0,
        object: FolderObject? = nil, version: LocalVersion? = nil, error: StorageError? = nil
    ) {
        (self.path, self.action, self.state, self.size) = (path, action, state, size)
        (self.object, self.version, self.error) = (object, version, error)
    }
}

/// The properties of an object that a plan stores.
public struct FolderObject: Equatable, Sendable {
    /// Nil for a summary in a list. Its checksums prove that bytes are the same, but not that they differ.
    public var generation: Int64?
    public var size: Int64
    public var checksums: Checksums
    /// When the object was stored, by its server's clock. Nil unless the metadata or a list has told it.
    public var stored: Timestamp?

    public init(generation: Int64?, size: Int64, checksums: Checksums) {
        (self.generation, self.size, self.checksums) = (generation, size, checksums)
    }

    public init(_ metadata: ObjectMetadata) {
        self.init(generation: metadata.generation, size: metadata.size, checksums: metadata.checksums)
        stored = metadata.timeCreated
    }

    public var isSummary: Bool { generation == nil }

    /// Whether the sizes and checksums prove that the bytes are the same.
    package func hasSameBytes(as other: FolderObject) -> Bool {
        size == other.size && checksums.agree(with: other.checksums) == true
    }
}
