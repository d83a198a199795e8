/// A request to download an object to a file.
public struct Download: Sendable {
    public var reference: Reference
    /// An absolute path. An existing file stays until the object is complete.
    public var file: String
    public var caller: Caller
    /// Unique and hard to guess: names the partial download.
    public var task: String
    /// An earlier process began the download, and may have left a partial file.
    public var isRestored = false
    /// The checkpoint of the earlier process.
    public var bookmark: Bookmark?

    public init(reference: Reference, file: String, task: String, caller: Caller) {
        self.task = task
        self.reference = reference
        self.file = file
        self.caller = caller
    }
}

/// One download at its engine. At most one attempt is in flight.
public protocol DownloadSession: Sendable {
    /// Fetches the missing bytes, verifies the object and moves it to its place. The next attempt continues after the
    /// last byte on the disk if the object is unchanged, else from the first. `report` may be called on any thread.
    /// Never throws: the answer is an event of the task machine.
    func fetch(_ report: @escaping @Sendable (Progress) -> Void) async -> DownloadAnswer
    /// The attempt in flight answers `aborted` at once, unless its effect can no longer be stopped.
    func abort()
    /// Removes the partial download.
    func discard()
    /// The state for the next process; nil where that would begin anew.
    func bookmark() async -> Bookmark?
}

/// The end of one attempt to download.
public enum DownloadAnswer: Equatable, Sendable {
    case completed(ObjectMetadata)
    case failed(StorageError)
    case aborted
}
