import JSONText
import JSONRPC
import Storage
import Transfers

/// `…Task/snapshot`: the task as it is now.
struct TakeSnapshot<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/snapshot" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        return task.snapshot().json
    }
}

/// `…Task/wait`: answers when the task has ended.
struct WaitForEnd<Course: TransferCourse>: TaskMethod {
    static var name: String { "\(Course.kind)Task/wait" }
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        try request.checkWait()
        request.stepAside()
        return try await task.result().json
    }
}

/// `…Task/list`: all tasks that have not ended, and the newest of those that have.
struct ListTasks<Course: TransferCourse>: ParameterlessMethod {
    static var name: String { "\(Course.kind)Task/list" }

    func run(in request: Request<Session>) async throws -> JSON {
        let transfers = request.context.transfers
        try await transfers.ready()
        return ["tasks": .array(Course.tasks(of: transfers).all.map { $0.snapshot().json })]
    }
}
