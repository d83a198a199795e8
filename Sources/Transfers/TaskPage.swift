import Storage

/// Where a page of a list of tasks ended: the next one begins behind that task, whichever end or are forgotten meanwhile.
struct TaskPageToken {
    let number: Int64
    let id: String

    init<Course>(after task: TransferTask<Course>) { (number, id) = (task.number, task.id) }

    /// Throws `invalidArgument` unless it can have been given for a page of this kind of tasks.
    init(_ text: String, of kind: TaskKind) throws(StorageError) {
        let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let number = Int64(parts[1]), !parts[2].isEmpty,
            case let token = TaskPageToken(number: number, id: String(parts[2])),
            token.text(for: kind).hasSameBytes(as: text)
        else {
            throw .invalidArgument("pageToken", "The page token was not given for a list of \(kind)s.")
        }
        self = token
    }

    private init(number: Int64, id: String) { (self.number, self.id) = (number, id) }

    func text(for kind: TaskKind) -> String { "\(kind)s.\(number).\(id)" }

    func precedes<Course>(_ task: TransferTask<Course>) -> Bool { (number, id) < (task.number, task.id) }
}

extension TaskList {
    /// Tasks in the order of their creation, behind those of an earlier page: at most `maxResults`, or as many as fit
    /// into so many bytes, but one in any case. Without `maxResults` it has to be all of them.
    ///
    /// - Parameter item: what is to be told of a task, and how long that is.
    public func page<Item>(
        _ maxResults: Int64?, after pageToken: String?, bytes: Int, _ item: (TransferTask<Course>) -> (Item, bytes: Int)
    ) throws(StorageError) -> (items: [Item], pageToken: String?) {
        let most = try maxResults.map { asked throws(StorageError) in try Listing.checked(maxResults: asked) }
        let token = try pageToken.map { text throws(StorageError) in try TaskPageToken(text, of: Course.kind) }
        var items: [Item] = [], last: TransferTask<Course>?, room = bytes
        for task in all where token?.precedes(task) ?? true {
            let (next, size) = item(task)
            room -= size
            if let last, items.count == most || room < 0 {
                guard most != nil else { throw .tooManyTasks(Course.kind) }
                return (items, TaskPageToken(after: last).text(for: Course.kind))
            }
            items.append(next)
            last = task
        }
        return (items, nil)
    }
}

extension StorageError {
    fileprivate static func tooManyTasks(_ kind: TaskKind) -> StorageError {
        StorageError(
            .quotaExceeded, "There are more \(kind)s than one answer can tell of: ask for pages, with maxResults.")
    }
}
