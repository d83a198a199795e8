import JSONText
import JSONRPC
import Storage
import Transfers

/// `…Task/snapshot`: returns the present state of a task.
struct TakeSnapshot<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/snapshot" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> Controlled.Snapshot {
        let task: Controlled = try await request.task(task, .reading)
        return task.snapshot()
    }
}

/// `…Task/wait`: answers when the task has ended.
struct WaitForEnd<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/wait" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> Controlled.Snapshot {
        let task: Controlled = try await request.task(task, .reading)
        try request.checkWait()
        request.beginWaiting()
        return try await task.awaitedEnd()
    }
}

/// `…Task/list`: returns the unfinished tasks and the newest ended ones, or a page of all tasks.
struct ListTasks<Controlled: MethodTask>: ServiceMethod {
    static var name: String { "\(Controlled.kind)Task/list" }
    var uses: [Use] { [] }
    /// The size in bytes at which a page with `maxResults` ends early.
    private static var longestPage: Int { 4 << 20 }

    let maxResults: Int64?
    let pageToken: String?

    init(_ params: inout Params) throws(RPCError) {
        maxResults = try params.optionalInteger("maxResults")
        pageToken = try params.optionalString("pageToken")
    }

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        let transfers = request.context.transfers
        try await transfers.allTasks()
        try await request.roomToAnswer(expecting: Self.longestPage)
        let longest = request.context.service.configuration.longestAnswer - 1024
        return try await Controlled.tasks(of: transfers)
            .page(maxResults, after: pageToken, where: request.context.knownTasks())
            .encoded(within: maxResults == nil ? longest : min(longest, Self.longestPage))
    }
}
