/// A request to download an object to a file.
public struct Download: Sendable {
    public var reference: Reference
    /// An absolute path. An existing file stays until the object is complete.
    public var file: String
    public var caller: Caller
    /// The umask of the client, which a new file follows. Nil for that of this process.
    public var newFilesMask: UInt32?
    /// Unique and hard to guess: names the partial download.
    public var task: String
    /// The task over a folder that it belongs to.
    public var folder: String?
    /// When its task began, or the one over a folder that it belongs to.
    public var began: Beginning?
    /// No link is followed between that directory, an absolute path, and the file.
    public var tree: String?
    /// An earlier process began the download, and may have left a partial file.
    public var isRestored = false
    /// Records the task, durably: called before the download leaves a file that only the record finds. Nil where that
    /// is done.
    public var record: (@Sendable () async throws(StorageError) -> Void)?
    /// The checkpoint of the earlier process.
    public var bookmark: Bookmark?

    public init(reference: Reference, file: String, task: String, caller: Caller) {
        (self.task, self.reference, self.file, self.caller) = (task, reference, file, caller)
    }
}

public enum DownloadAnswer: TransferAnswer {
    case completed(ObjectMetadata)
    /// The bytes before the end of the part have arrived.
    case received(Progress)
    /// The file that is there was changed since the task began, and stays.
    case superseded(StorageError)
    case failed(StorageError)
    case aborted
}
