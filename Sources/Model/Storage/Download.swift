/// A request to download an object to a file.
public struct Download: Sendable {
    public var reference: Reference
    /// The absolute path of the target. An existing file is replaced when the object is complete.
    public var file: String
    public var caller: Caller
    /// The umask of the client, for a new file. Nil for the umask of this process.
    public var newFilesMask: UInt32?
    /// The directories that the file must be in, if the client is confined.
    public var confinement: LocalConfinement?
    /// The id of the download's task, unique and hard to guess; the partial file is named after it.
    public var task: String
    /// The id of the task over a folder that the download belongs to.
    public var folder: String?
    /// When the download's task began, or the task over a folder that it belongs to.
    public var began: Beginning?
    /// The directory of a task over a folder: between it and the file no link is followed.
    public var tree: (any LocalTree)?
    /// A file that exists at the target fails the download with `preconditionFailed`, also one that appears meanwhile.
    public var keepsExisting = false
    /// An earlier process began the download, and may have left a partial file.
    public var isRestored = false
    /// Writes the task's record durably. Called before the download creates a file that can be found only through the
    /// record. Nil if the record exists already.
    public var record: (@Sendable () async throws(StorageError) -> Void)?
    /// The bookmark that the earlier process left.
    public var bookmark: Bookmark?

    public init(reference: Reference, file: String, task: String, caller: Caller) {
        (self.task, self.reference, self.file, self.caller) = (task, reference, file, caller)
    }
}

public enum DownloadAnswer: TransferAnswer {
    case completed(ObjectMetadata)
    /// The bytes before the end of the part have arrived.
    case received(Progress)
    /// The local file was changed since the task began, and is kept.
    case superseded(StorageError)
    case failed(StorageError)
    case aborted

    public var failure: StorageError? { if case .failed(let error) = self { error } else { nil } }
}
