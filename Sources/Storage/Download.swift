/// What is fetched, and which file is to hold it.
public struct Download: Sendable {
    public var reference: Reference
    /// An absolute path. What is there stays until all of the object has arrived.
    public var file: String
    public var caller: Caller
    /// Unique and hard to guess: the name of what arrives is made from it.
    public var task: String
    /// It was begun by an earlier process, which may have left something behind.
    public var isRestored = false
    /// Where that was with it.
    public var bookmark: Bookmark?

    public init(reference: Reference, file: String, task: String, caller: Caller) {
        self.task = task
        self.reference = reference
        self.file = file
        self.caller = caller
    }
}

/// One download's line to its engine. At most one try is under way, ever.
public protocol DownloadSession: Sendable {
    /// Fetches what is missing, verifies the whole and puts it in its place. The next try goes on from the last byte
    /// on the disk, if the object is still the same, else from the first. `report` may be called from anywhere.
    /// Never throws: how the try ended is an event for the machine.
    func fetch(_ report: @escaping @Sendable (Progress) -> Void) async -> DownloadAnswer
    /// The try under way answers `aborted` at once, unless its effect can no longer be stopped.
    func abort()
    /// What has arrived so far is not wanted any more.
    func discard()
    /// Where it is now, for the next process; nil where that would begin anew.
    func bookmark() async -> Bookmark?
}

/// How a try to download ended.
public enum DownloadAnswer: Equatable, Sendable {
    case completed(ObjectMetadata)
    case failed(StorageError)
    case aborted
}
