import JSONText
import JSONRPC
import Storage
import Transfers

/// `uploadTask/observe`: from now on this connection hears of one kind of event.
struct ObserveUpload: RPCMethod {
    static let name = "uploadTask/observe"

    let task: String
    let status: Status

    struct Registered: JSONConvertible {
        let task: UploadTask
        let handle: String
        var json: JSON { ["handle": .string(handle)] }
    }

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.status("status", in: params.require("status"))
    }

    func run(in request: Request<Session>) async throws -> Registered {
        let transfers = request.context.transfers
        return Registered(task: try transfers.task(task), handle: transfers.newHandle())
    }

    func didReply(_ registered: Registered, in session: Session) {
        registered.task.observe(status, handle: registered.handle, session.listener)
    }
}

/// `uploadTask/removeObserver`: one of this connection's observers, by its handle.
struct RemoveObserver: PromptMethod {
    static let name = "uploadTask/removeObserver"

    let handle: String

    init(_ params: inout Params) throws(RPCError) { handle = try params.string("handle") }

    func run(in request: Request<Session>) throws -> JSON {
        ["removed": .bool(request.context.listener.removeObserver(handle))]
    }
}

/// `uploadTask/removeAllObservers`: this connection's observers of a task, or those of one status.
struct RemoveAllObservers: PromptMethod {
    static let name = "uploadTask/removeAllObservers"

    let task: String
    let status: Status?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.take("status").map { value throws(RPCError) in try params.status("status", in: value) }
    }

    func run(in request: Request<Session>) throws -> JSON {
        let task = try request.context.transfers.task(task)
        return ["removed": JSON(Int64(request.context.listener.removeAllObservers(of: task, for: status)))]
    }
}
