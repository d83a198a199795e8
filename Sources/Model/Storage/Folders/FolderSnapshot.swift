/// The state of a task over a folder at one moment.
public struct FolderSnapshot: Equatable, Sendable {
    /// Failed and refused items that a snapshot shows.
    public static let mostFailures = 20

    public var task: String
    public var request: FolderRequest
    public var status: Status
    public var state: TaskState
    /// In bytes, of all files together.
    public var progress: Progress
    public var counts: FolderCounts
    /// All items are known.
    public var isPlanned: Bool
    /// The first items that have failed or are refused.
    public var failures: [FolderItem]
    public var error: StorageError?
    /// The endpoint that it belongs to, where it is not the service's own.
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
    /// The object of an item, whatever the kind; of a copy the new one. Throws `invalidArgument` for a name that no object
    /// may have.
    public func object(_ path: String) throws(StorageError) -> Reference {
        try Reference(bucket: (target ?? reference).bucket, object: prefix + path)
    }

    /// What precedes the path of an item in the name of its object.
    private var prefix: String { target == nil ? reference.prefix : "" }

    /// The path of an item by its object; nil where it is elsewhere.
    public func path(of object: Reference) -> String? {
        let prefix = prefix
        guard object.object.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: object.object.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
}
