import Platform
import Storage

/// The last task of a page. The next page begins after it, even if tasks end or are forgotten meanwhile.
struct TaskPageToken: Sendable {
    let number: Int64
    let id: String

    @Loop init(of task: any StorageTask) { (number, id) = (task.number, task.id) }

    /// Throws `invalidArgument` for a token that belongs to no page of this kind.
    init(_ text: String, of kind: String) throws(StorageError) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let number = Int64(parts[1]), !parts[2].isEmpty,
            case let token = TaskPageToken(number: number, id: String(parts[2])),
            token.text(for: kind).hasSameBytes(as: text)
        else { throw .invalidArgument("pageToken", "The page token was not given for a list of \(kind)s.") }
        self = token
    }

    private init(number: Int64, id: String) { (self.number, self.id) = (number, id) }

    func text(for kind: String) -> String { "\(kind)s.\(number).\(id)" }

    @Loop func precedes(_ task: any StorageTask) -> Bool { (number, id) < (task.number, task.id) }
}

/// The snapshots of tasks at one moment, from which any thread can make a page.
public struct TaskPage<Snapshot: Sendable>: Sendable {
    private let kind: String
    /// The maximum number of tasks of the page; nil for all tasks.
    private let most: Int?
    /// The tasks of the page, and the task after them if there is one.
    private let tasks: [(place: TaskPageToken, snapshot: Snapshot)]

    /// - Parameters:
    ///   - all: tasks in the order of their creation.
    ///   - pageToken: the token of the page before; nil for the first page.
    @Loop init<Task: StorageTask>(
        of all: [Task], _ maxResults: Int64?, after pageToken: String?
    ) throws(StorageError) where Task.Snapshot == Snapshot {
        kind = Task.kind
        most = try maxResults.map { asked throws(StorageError) in try Listing.checked(maxResults: asked) }
        let token = try pageToken.map { text throws(StorageError) in try TaskPageToken(text, of: Task.kind) }
        tasks = all.drop { token?.precedes($0) == false }.prefix(most.map { $0 + 1 } ?? .max)
            .map { (TaskPageToken(of: $0), $0.snapshot()) }
    }

    public var count: Int { tasks.count }

    /// The encoded tasks of the page that fit into a number of bytes, but at least one task.
    ///
    /// - Parameter item: encodes a task, and returns the length.
    public func fitting<Item>(
        _ bytes: Int, _ item: (Snapshot) -> (Item, bytes: Int)
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
    /// The snapshots for a page of these tasks.
    ///
    /// - Parameter isShown: tells which tasks the client may know; nil for all tasks.
    public func page(
        _ maxResults: Int64?, after pageToken: String?, where isShown: (@Loop (Listed.Snapshot) -> Bool)? = nil
    ) throws(StorageError) -> TaskPage<Listed.Snapshot> {
        let shown = isShown.map { isShown in all.filter { isShown($0.snapshot()) } } ?? all
        return try TaskPage(of: shown, maxResults, after: pageToken)
    }
}

extension StorageError {
    fileprivate static func tooManyTasks(_ kind: String) -> StorageError {
        StorageError(
            .quotaExceeded, "There are more \(kind)s than one answer can tell of: ask for pages, with maxResults.")
    }
}
