import Platform

/// The plan of one task over a folder: the request, the items and their progress. It outlives the process, and its
/// memory does not grow with the number of items.
///
/// The methods of a plan throw errors of the disk. A plan belongs to one task and takes one call at a time, except that
/// pages of items may be read at any time.
public protocol FolderPlan: AnyObject, Sendable {
    var id: String { get }

    /// Adds files, and directories that have not been read. A path that the plan already has is skipped: returns the items
    /// of such paths.
    @discardableResult
    func add(_ items: [FolderItem], directories: [String]) async throws(StorageError) -> [FolderItem]
    /// The items of these paths; nil for a path that has none.
    func items(at paths: [String]) async throws(StorageError) -> [FolderItem?]
    /// A directory that has not been read; nil if all have been.
    func nextDirectory() async throws(StorageError) -> String?
    /// Marks a directory as read.
    func didRead(_ directory: String) async throws(StorageError)
    /// Stores which objects exist at the targets, or in the folder that is deleted. Returns the paths among them that have
    /// no item and lie below no refused or failed item: below such an item the source's files are unknown.
    func note(_ objects: [(path: String, object: FolderObject)]) async throws(StorageError) -> Set<String>
    /// Stores the generations at the targets of pending copies. With `settlesSame` a copy whose target has the size and a
    /// checksum of its source counts as unchanged.
    func noteTargets(
        _ objects: [(path: String, object: FolderObject)], settlesSame: Bool
    ) async throws(StorageError)
    /// A pair of copies into this bucket that cannot both be made: the first replaces the source of the second, or both
    /// move one object.
    func conflict(in bucket: String, moves: Bool) async throws(StorageError) -> (FolderItem, FolderItem)?
    /// Whether a file below each of these paths is transferred, so that the path must be a folder.
    func haveItems(below paths: [String]) async throws(StorageError) -> [Bool]
    /// Whether a file at this path may prevent a transfer: to a path below it, or to a directory of the path.
    func isInTheWay(_ path: String) async throws(StorageError) -> Bool
    /// Whether a transfer, or the reading of a local directory, has failed.
    func hasFailedTransfers() async throws(StorageError) -> Bool
    /// Removes all items and directories.
    func clear() async throws(StorageError)

    /// The next pending items of an action with numbers above the given one, in the order of their numbers.
    func pending(_ action: FolderItem.Action, after number: Int64, most: Int) async throws(StorageError) -> [FolderItem]
    /// Stores items by their numbers, all but path, action and source.
    func update(_ items: [FolderItem]) async throws(StorageError)
    /// Prepares a task that has ended for a retry, in one step with its stage: failed items become pending, and
    /// directories that could not be read are read again. Forgets the generations at the targets of copies, and all items
    /// of a task that failed before all of them were known. A retry that cannot be stored changes nothing.
    func renew(at retried: Beginning) async throws(StorageError) -> (stage: FolderStage, counts: FolderCounts)
    /// The items in the given states with numbers above the given one, in the order of their numbers.
    func items(_ states: [FolderItem.State], after number: Int64, most: Int) async throws(StorageError) -> [FolderItem]
    func counts() async throws(StorageError) -> FolderCounts
    /// Stores a request with more copies.
    func keep(_ request: FolderRequest) async throws(StorageError)

    /// Stores the stage of the task. Even on a full disk an end is stored, and is then read with the plan.
    func keep(_ stage: FolderStage) async throws(StorageError)
    /// Removes the plan with its file. Later calls fail.
    func remove() async
    func close() async
}

extension FolderPlan {
    /// The item of a path; nil if the plan has none.
    public func item(_ path: String) async throws(StorageError) -> FolderItem? { try await items(at: [path])[0] }

    public func hasItems(below path: String) async throws(StorageError) -> Bool {
        try await haveItems(below: [path])[0]
    }
}

/// The stage of a task over a folder.
public enum FolderStage: Equatable, Sendable {
    case planning
    /// Completes the plan after a failure: known items stay, directories that could not be read are read again, and what
    /// is at targets and to be removed by now is noted.
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

/// The numbers of items, and of their bytes.
public struct FolderCounts: Codable, Equatable, Sendable {
    /// All transfers in any state, and their bytes, without refused ones.
    public var total: Int64 = 0
    public var totalBytes: Int64 = 0
    /// Finished transfers; `completedBytes` includes the bytes of unchanged files.
    public var completed: Int64 = 0
    public var completedBytes: Int64 = 0
    public var unchanged: Int64 = 0
    /// The unchanged transfers whose targets exist and are not known to be equal. Nil for none.
    public var kept: Int64?
    /// The bytes of unchanged files; nil if there are none, and in counts of earlier versions.
    public var unchangedBytes: Int64?
    /// All deletions in any state, without refused ones; `deleted` counts the finished ones.
    public var toDelete: Int64 = 0
    public var deleted: Int64 = 0
    /// Refused items, transfers and deletions together.
    public var refused: Int64 = 0
    public var failed: Int64 = 0

    public init() {}

    /// Adds unchanged files, or takes them out for a negative number.
    public mutating func addUnchanged(_ count: Int64, bytes: Int64) {
        unchanged += count
        let sum = (unchangedBytes ?? 0).addingSaturated(bytes)
        unchangedBytes = sum == 0 ? nil : sum
        completedBytes = completedBytes.addingSaturated(bytes)
    }
}

/// A plan that an earlier process has left.
public struct StoredFolder: Sendable {
    public var plan: any FolderPlan
    public var request: FolderRequest
    public var stage: FolderStage
    /// Orders tasks by their creation.
    public var number: Int64
    public var began: Beginning
    /// The moment of the last retry; nil if there was none.
    public var retried: Beginning?
    /// The endpoint of the task, if it is another than the service's.
    public var endpoint: String?

    public init(
        plan: any FolderPlan, request: FolderRequest, stage: FolderStage, number: Int64, began: Beginning,
        retried: Beginning? = nil, endpoint: String? = nil
    ) {
        (self.plan, self.request, self.stage) = (plan, request, stage)
        (self.number, self.began, self.retried, self.endpoint) = (number, began, retried, endpoint)
    }
}

/// The plans of all tasks over folders.
public protocol FolderStore: Sendable {
    /// Returns when the plan survives the process.
    func begin(
        _ id: String, _ request: FolderRequest, number: Int64, began: Beginning
    ) async throws(StorageError) -> any FolderPlan
    /// All plans of earlier processes, including those of other endpoints. An unreadable plan is kept, and is returned
    /// as an error.
    func stored() async throws(StorageError) -> [Result<StoredFolder, StorageError>]
    /// The stored checksums of local files; nil if the store keeps none.
    var checksums: (any FileChecksums)? { get }
}

extension FolderStore {
    public var checksums: (any FileChecksums)? { nil }
}
