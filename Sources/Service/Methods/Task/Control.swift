import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

extension Request<ConnectionContext> {
    /// Throws `invalidArgument` where there is no such task; those of earlier processes are waited for.
    @Loop func task<Strategy: ListedStrategy>(_ id: String) async throws -> TransferTask<Strategy> {
        try await context.transfers.ready()
        return try Strategy.tasks(of: context.transfers).task(id)
    }
}

/// A method with a task as its only param.
protocol TaskMethod: RPCMethod where Context == ConnectionContext {
    init(task: String)
}

extension TaskMethod {
    init(_ params: inout Params) throws(RPCError) { self.init(task: try params.string("task")) }
}

/// `…Task/pause`: answers once the task has stopped moving.
struct Pause<Strategy: ListedStrategy>: TaskMethod {
    static var name: String { "\(Strategy.kind)Task/pause" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: TransferTask<Strategy> = try await request.task(task)
        return accepted(try await task.pause(), task)
    }
}

/// `…Task/resume`: continues after the last acknowledged byte.
struct Resume<Strategy: ListedStrategy>: TaskMethod {
    static var name: String { "\(Strategy.kind)Task/resume" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: TransferTask<Strategy> = try await request.task(task)
        try task.checkEndpoint()
        return accepted(task.resume(tokens: request.context.tokens), task)
    }
}

/// `…Task/retry`: ends the wait after a failure; a task that has failed begins anew.
struct RetryTask<Strategy: ListedStrategy>: TaskMethod {
    static var name: String { "\(Strategy.kind)Task/retry" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: TransferTask<Strategy> = try await request.task(task)
        let running = try await request.context.transfers.retry(task, tokens: request.context.tokens)
        return accepted(running != nil, running ?? task)
    }
}

/// `…Task/cancel`: answers once the task has stopped for good.
struct Cancel<Strategy: ListedStrategy>: TaskMethod {
    static var name: String { "\(Strategy.kind)Task/cancel" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: TransferTask<Strategy> = try await request.task(task)
        return accepted(try await task.cancel(tokens: request.tokens), task)
    }
}

/// `…Task/forget`: a task that has ended is not listed any more.
struct Forget<Strategy: ListedStrategy>: TaskMethod {
    static var name: String { "\(Strategy.kind)Task/forget" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: TransferTask<Strategy> = try await request.task(task)
        return accepted(await Strategy.tasks(of: request.context.transfers).forget(task), task)
    }
}

@Loop private func accepted(_ accepted: Bool, _ task: TransferTask<some ListedStrategy>) -> JSON {
    ["accepted": .bool(accepted), "snapshot": task.snapshot().json]
}
