import Storage

/// The last task of a page: the next page begins after it, even if tasks end or are forgotten meanwhile.
struct TaskPageToken: Sendable {
    let number: Int64
    let id: String

    init<Strategy>(of task: TransferTask<Strategy>) { (number, id) = (task.number, task.id) }

    /// Throws `invalidArgument` for a token that belongs to no page of this kind.
    init(_ text: String, of kind: TaskKind) throws(StorageError) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let number = Int64(parts[1]), !parts[2].isEmpty,
            case let token = TaskPageToken(number: number, id: String(parts[2])),
            token.text(for: kind).hasSameBytes(as: text)
        else { throw .invalidArgument("pageToken", "The page token was not given for a list of \(kind)s.") }
        self = token
    }

    private init(number: Int64, id: String) { (self.number, self.id) = (number, id) }

    func text(for kind: TaskKind) -> String { "\(kind)s.\(number).\(id)" }

    func precedes<Strategy>(_ task: TransferTask<Strategy>) -> Bool { (number, id) < (task.number, task.id) }
}

/// The tasks at one moment, from which a page is made. That takes time for many tasks, so any thread may
/// do it.
public struct TaskPage: Sendable {
    private let kind: TaskKind
    /// Nil returns all tasks.
    private let most: Int?
    /// One more task than a page may have, if there are as many.
    private let tasks: [(place: TaskPageToken, snapshot: TaskSnapshot)]

    fileprivate init(_ kind: TaskKind, most: Int?, _ tasks: [(place: TaskPageToken, snapshot: TaskSnapshot)]) {
        (self.kind, self.most, self.tasks) = (kind, most, tasks)
    }

    public var count: Int { tasks.count }

    /// As many tasks as the page may have and as fit into so many bytes, but at least one.
    ///
    /// - Parameter item: encodes a task, and returns its length.
    public func fitting<Item>(
        _ bytes: Int, _ item: (TaskSnapshot) -> (Item, bytes: Int)
    ) throws(StorageError) -> (items: [Item], pageToken: String?) {
        var items: [Item] = [], last: TaskPageToken?, room = bytes
        for (place, snapshot) in tasks {
            let (next, size) = item(snapshot)
            room -= size
            if let last, items.count == most || room < 0 {
                guard most != nil else { throw .tooManyTasks(kind) }
                return (items, last.text(for: kind))
            }
            items.append(next)
            last = place
        }
        return (items, nil)
    }
}

extension TaskList {
    /// Tasks in the order of their creation, after those of an earlier page: at most `maxResults`, or all.
    public func page(_ maxResults: Int64?, after pageToken: String?) throws(StorageError) -> TaskPage {
        let most = try maxResults.map { asked throws(StorageError) in try Listing.checked(maxResults: asked) }
        let token = try pageToken.map { text throws(StorageError) in try TaskPageToken(text, of: Strategy.kind) }
        let tasks = all.drop { token?.precedes($0) == false }.prefix(most.map { $0 + 1 } ?? .max)
        return TaskPage(Strategy.kind, most: most, tasks.map { (TaskPageToken(of: $0), $0.snapshot()) })
    }
}

extension StorageError {
    fileprivate static func tooManyTasks(_ kind: TaskKind) -> StorageError {
        StorageError(
            .quotaExceeded, "There are more \(kind)s than one answer can tell of: ask for pages, with maxResults.")
    }
}
