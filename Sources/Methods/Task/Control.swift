import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

extension Request<Session> {
    /// Throws `invalidArgument` where there is no such task; those of earlier processes are waited for.
    @Loop func task<Course: TransferCourse>(_ id: String) async throws -> TransferTask<Course> {
        try await context.transfers.ready()
        return try Course.tasks(of: context.transfers).task(id)
    }
}

/// A method whose only param is a task.
protocol TaskMethod: RPCMethod where Context == Session {
    init(task: String)
}

extension TaskMethod {
    init(_ params: inout Params) throws(RPCError) { self.init(task: try params.string("task")) }
}

/// `…Task/pause`: answers once the task has stopped moving.
struct Pause<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/pause" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        return accepted(try await task.pause(), task)
    }
}

/// `…Task/resume`: goes on from the last acknowledged byte.
struct Resume<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/resume" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        try task.checkEndpoint()
        return accepted(task.resume(tokens: request.context.tokens), task)
    }
}

/// `…Task/cancel`: answers once the task has stopped for good.
struct Cancel<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/cancel" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        return accepted(try await task.cancel(tokens: request.tokens), task)
    }
}

/// `…Task/forget`: a task that has ended is not listed any more.
struct Forget<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/forget" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        return accepted(await Course.tasks(of: request.context.transfers).forget(task), task)
    }
}

@Loop private func accepted(_ accepted: Bool, _ task: TransferTask<some TransferCourse>) -> JSON {
    ["accepted": .bool(accepted), "snapshot": task.snapshot().json]
}
