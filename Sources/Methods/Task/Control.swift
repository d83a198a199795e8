import JSONText
import EventLoop
import JSONRPC
import Storage
import Transfers

/// A method whose only param is a task.
protocol TaskMethod: RPCMethod where Context == Session {
    init(task: String)
}

extension TaskMethod {
    init(_ params: inout Params) throws(RPCError) { self.init(task: try params.string("task")) }
}

/// `uploadTask/pause`: answers once the upload has stopped moving.
struct PauseUpload: TaskMethod {
    static let name = "uploadTask/pause"
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task = try request.context.transfers.task(task)
        return accepted(try await task.pause(), task)
    }
}

/// `uploadTask/resume`: goes on from the last acknowledged byte.
struct ResumeUpload: TaskMethod, PromptMethod {
    static let name = "uploadTask/resume"
    let task: String

    func run(in request: Request<Session>) throws -> JSON {
        let task = try request.context.transfers.task(task)
        return accepted(task.resume(), task)
    }
}

/// `uploadTask/cancel`: answers once the upload has stopped for good.
struct CancelUpload: TaskMethod {
    static let name = "uploadTask/cancel"
    let task: String

    func run(in request: Request<Session>) async throws -> JSON {
        let task = try request.context.transfers.task(task)
        return accepted(try await task.cancel(), task)
    }
}

@Loop private func accepted(_ accepted: Bool, _ task: UploadTask) -> JSON {
    ["accepted": .bool(accepted), "snapshot": task.snapshot().json]
}
