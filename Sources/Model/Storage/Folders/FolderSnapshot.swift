/// The state of a task over a folder at one moment.
public struct FolderSnapshot: TaskResult {
    /// The maximum number of failed and refused items in a snapshot.
    public static let mostFailures = 20

    public var task: String
    public var request: FolderRequest
    public var status: Status
    public var state: TaskState
    /// In bytes, over all files.
    public var progress: Progress
    public var counts: FolderCounts
    /// All items are known.
    public var isPlanned: Bool
    /// The first items that have failed or are refused.
    public var failures: [FolderItem]
    public var error: StorageError?
    /// The endpoint of the task, if it is another than the service's.
    public var endpoint: String?

    public init(
        task: String, request: FolderRequest, status: Status, state: TaskState, progress: Progress,
        counts: FolderCounts, isPlanned: Bool, failures: [FolderItem], error: StorageError?, endpoint: String?
    ) {
        (self.task, self.request, self.status, self.state) = (task, request, status, state)
        (self.progress, self.counts, self.isPlanned) = (progress, counts, isPlanned)
        (self.failures, self.error, self.endpoint) = (failures, error, endpoint)
    }
}

extension FolderRequest {
    /// The object of an item; the new object of a copy. Throws `invalidArgument` for a name that no object may have.
    public func object(_ path: String) throws(StorageError) -> Reference {
        try Reference(bucket: (target ?? reference).bucket, object: prefix + path)
    }

    /// The prefix of an item's path in the name of its object.
    private var prefix: String { target == nil ? reference.prefix : "" }

    /// The path of an item by its object; nil if the object is not below the folder.
    public func path(of object: Reference) -> String? {
        let prefix = prefix
        guard object.object.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: object.object.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
}
