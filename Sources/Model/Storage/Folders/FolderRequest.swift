/// What a task over a folder was asked to do. Stored with its plan.
public struct FolderRequest: Codable, Equatable, Sendable {
    public enum Kind: String, Codable, CaseIterable, Sendable {
        /// Uploads a directory below a reference.
        case put
        /// Downloads what is below a reference to a directory.
        case write
        /// Deletes what is below a reference.
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
    /// The local directory, an absolute path; nil where objects are copied, moved or deleted.
    public var directory: String?
    /// What is copied or moved, the reference first. Nil for any other kind, and in requests of earlier versions.
    public var copies: [FolderCopy]?
    /// The files to take; all where that is empty. Each is a pattern of `FolderFilter`.
    public var include: [String] = []
    /// The files and folders to leave out.
    public var exclude: [String] = []
    /// Skips files whose target has the same size and checksum.
    public var onlyChanged = false
    /// A file that has changed neither its times nor its size since its checksum was computed is not read for that. Nil in
    /// requests of earlier versions.
    public var trustsTimes: Bool?
    /// Removes from the target what the source does not have, after everything else has succeeded.
    public var deletesOthers = false
    /// Replaces nothing.
    public var keepsExisting = false
    /// Plans, and changes nothing.
    public var isDryRun = false
    /// The items stay after a success, until the task is forgotten. Nil in requests of earlier versions.
    public var keepsItems: Bool?
    /// Of the new objects.
    public var metadata = SettableMetadata()
    /// Transfers, and deletions, at a time; nil where the limits of the service alone count.
    public var atOnce: Int?
    /// What its client has named it: the same request goes on with it until it has ended.
    public var key: String?
    public var client = FolderClient()

    public static let atOnceRange = 1...64

    public init(_ kind: Kind, _ reference: Reference, directory: String? = nil) {
        (self.kind, self.reference, self.directory) = (kind, reference, directory)
    }

    /// The folder that objects are copied or moved to.
    public var target: Reference? { copies?.first?.target }
}

/// A folder, or one object, that a task copies or moves.
public struct FolderCopy: Codable, Equatable, Sendable {
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
    /// In bytes; nil without a fixed size.
    public var chunkSize: Int64?
    public var userProject: String?
    /// The umask of the client, if it is known.
    public var newFilesMask: UInt32?
    /// The client used its own tokens: only a client with tokens may resume the task.
    public var hasOwnTokens = false

    public init() {}
}

/// One file of a task over a folder.
public struct FolderItem: Equatable, Sendable {
    public enum Action: String, CaseIterable, Sendable {
        /// Upload, download, copy or move, as the task does.
        case transfer
        /// Of the target, or of the folder that is deleted.
        case delete
        /// Of a local directory, or of what may be one: it has failed, so what is there is not known.
        case read
    }

    public enum State: String, CaseIterable, Sendable {
        /// Still to do; with `dryRun`, what would be done.
        case pending
        case done
        /// There was nothing to do: the target is the same, or is there and must not be replaced.
        case unchanged
        /// It cannot be an object, or a file: a link, a socket, a name.
        case refused
        case failed
    }

    /// Orders the items of a task by when they were found. 0 before the plan has it.
    public var number: Int64 = 0
    /// Below the folder and the directory: segments without slashes at their ends. Bytes that are no UTF-8 are replaced.
    /// The path of a copy is the name of the new object.
    public var path: String
    public var action: Action
    public var state: State
    /// In bytes, of the source or of what is deleted.
    public var size: Int64
    /// What is at the target, or the object that is downloaded, deleted, copied or moved.
    public var object: FolderObject?
    /// The object that is copied or moved.
    public var source: Reference?
    /// The generation at the target of a copy; nil where there is no object.
    public var replaced: Int64?
    /// The local file that is deleted.
    public var version: LocalVersion?
    /// Why it is refused or has failed.
    public var error: StorageError?

    public init(
        _ path: String, _ action: Action = .transfer, _ state: State = .pending, size: Int64 = 0,
        object: FolderObject? = nil, version: LocalVersion? = nil, error: StorageError? = nil
    ) {
        (self.path, self.action, self.state, self.size) = (path, action, state, size)
        (self.object, self.version, self.error) = (object, version, error)
    }
}

/// What a plan knows of an object.
public struct FolderObject: Equatable, Sendable {
    public var generation: Int64
    public var size: Int64
    public var md5: [UInt8]?
    public var crc32c: UInt32?

    public init(generation: Int64, size: Int64, md5: [UInt8]?, crc32c: UInt32?) {
        (self.generation, self.size, self.md5, self.crc32c) = (generation, size, md5, crc32c)
    }

    public init(_ metadata: ObjectMetadata) {
        self.init(
            generation: metadata.generation, size: metadata.size, md5: metadata.md5, crc32c: metadata.crc32c)
    }
}
