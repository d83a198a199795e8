import JSONText
import JSONRPC
import Storage
import Transfers

/// `uploadTask/snapshot`: the task as it is now.
struct SnapshotUpload: TaskMethod, PromptMethod {
    static let name = "uploadTask/snapshot"
    let task: String

    func run(in request: Request<Session>) throws -> JSON {
        try request.context.transfers.task(task).snapshot().json
    }
}

/// `uploadTask/wait`: answers when the task has ended.
struct WaitForUpload: TaskMethod {
    static let name = "uploadTask/wait"
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task = try request.context.transfers.task(task)
        request.stepAside()
        return try await task.result().json
    }
}

/// `uploadTask/list`: all tasks that have not ended, and the newest of those that have.
struct ListUploads: ParameterlessMethod, PromptMethod {
    static let name = "uploadTask/list"

    func run(in request: Request<Session>) throws -> JSON {
        ["tasks": .array(request.context.transfers.all.map { $0.snapshot().json })]
    }
}
