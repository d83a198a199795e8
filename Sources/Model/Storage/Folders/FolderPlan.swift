/// The plan of one task over a folder: what it was asked, its items and how far they are. It outlives the process, and the
/// memory that it takes does not grow with the number of items.
///
/// Errors are those of the disk. A plan is used by one task, and by one call at a time; pages of items may be read at
/// any time.
public protocol FolderPlan: AnyObject, Sendable {
    var id: String { get }

    /// Adds files, and directories that are still to be read. A path that is there is not added again: returns the items
    /// of such paths.
    @discardableResult
    func add(_ items: [FolderItem], directories: [String]) async throws(StorageError) -> [FolderItem]
    /// The item of a path; nil where there is none.
    func item(_ path: String) async throws(StorageError) -> FolderItem?
    /// A directory that is still to be read; nil where there is none.
    func nextDirectory() async throws(StorageError) -> String?
    /// The directory was read.
    func didRead(_ directory: String) async throws(StorageError)
    /// Notes what is at the targets, and returns the paths among these that no item has, and that are below none that is
    /// refused or has failed: it is not known what the source has there.
    func note(_ objects: [(path: String, object: FolderObject)]) async throws(StorageError) -> Set<String>
    /// Notes the generations at the targets of pending copies. With `settlesSame` a copy whose target has the size and a
    /// checksum of its source is unchanged.
    func noteTargets(
        _ objects: [(path: String, object: FolderObject)], settlesSame: Bool
    ) async throws(StorageError)
    /// A pair of copies into this bucket that cannot both be made: the first replaces the source of the second, or both
    /// move one object.
    func conflict(in bucket: String, moves: Bool) async throws(StorageError) -> (FolderItem, FolderItem)?
    /// Whether something is transferred below this path: then the path is a folder.
    func hasItems(below path: String) async throws(StorageError) -> Bool
    /// Whether a file of this path prevents a transfer: one below the path, or one to a directory of the path.
    func isInTheWay(_ path: String) async throws(StorageError) -> Bool
    /// Removes all items and directories.
    func clear() async throws(StorageError)

    /// The next pending items of an action, after a number, in the order of their numbers.
    func pending(_ action: FolderItem.Action, after number: Int64, most: Int) async throws(StorageError) -> [FolderItem]
    /// Stores the state, size and error of items.
    func update(_ items: [FolderItem]) async throws(StorageError)
    /// Turns the failed items of a task that has ended into pending ones, and failed reads into directories that are still
    /// to be read: it is about to go on. Forgets what is at the targets of copies. Returns whether there are such
    /// directories.
    func renew() async throws(StorageError) -> Bool
    /// Items after a number, in the order of their numbers; those of these states.
    func items(_ states: [FolderItem.State], after number: Int64, most: Int) async throws(StorageError) -> [FolderItem]
    func counts() async throws(StorageError) -> FolderCounts

    /// Stores how far the task is. An end is stored on a full disk, too, and is then read with the plan.
    func keep(_ stage: FolderStage) async throws(StorageError)
    /// Removes the plan with its file. Later calls fail.
    func remove() async
    func close() async
}

/// How far a task over a folder is.
public enum FolderStage: Equatable, Sendable {
    case planning
    /// The same after a failure: the items stay, and directories that could not be read are read again.
    case completing
    /// All items are known.
    case working
    case ended(FolderOutcome, at: Timestamp)
}

public enum FolderOutcome: Equatable, Sendable {
    case succeeded
    case cancelled
    case failed(StorageError)
}

/// How many items there are, and their bytes.
public struct FolderCounts: Codable, Equatable, Sendable {
    /// Transfers, whatever their state, and their bytes, without those that are refused.
    public var total: Int64 = 0
    public var totalBytes: Int64 = 0
    /// Transfers that are done, and their bytes with those of unchanged ones.
    public var completed: Int64 = 0
    public var completedBytes: Int64 = 0
    public var unchanged: Int64 = 0
    /// Deletions, whatever their state, without those that are refused, and those that are done.
    public var toDelete: Int64 = 0
    public var deleted: Int64 = 0
    /// Of either action.
    public var refused: Int64 = 0
    public var failed: Int64 = 0

    public init() {}
}

/// A plan as an earlier process has left it.
public struct StoredFolder: Sendable {
    public var plan: any FolderPlan
    public var request: FolderRequest
    public var stage: FolderStage
    /// Orders tasks by their creation.
    public var number: Int64
    public var began: Beginning
    /// The endpoint that the task belongs to, where it is not the service's own.
    public var endpoint: String?

    public init(
        plan: any FolderPlan, request: FolderRequest, stage: FolderStage, number: Int64, began: Beginning,
        endpoint: String? = nil
    ) {
        (self.plan, self.request, self.stage) = (plan, request, stage)
        (self.number, self.began, self.endpoint) = (number, began, endpoint)
    }
}

/// The plans of all tasks over folders.
public protocol FolderStore: Sendable {
    /// Returns when the plan survives the process.
    func begin(
        _ id: String, _ request: FolderRequest, number: Int64, began: Beginning
    ) async throws(StorageError) -> any FolderPlan
    /// All plans of earlier processes, those of other endpoints too; an unreadable one is the reason why, and is kept.
    func stored() async throws(StorageError) -> [Result<StoredFolder, StorageError>]
    /// The checksums of local files that outlive the process; nil where there are none.
    var checksums: (any FileChecksums)? { get }
}

extension FolderStore {
    public var checksums: (any FileChecksums)? { nil }
}
