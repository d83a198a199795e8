import JSONText
import JSONRPC
import Storage
import Transfers

/// `…Task/observe`: from now on this connection hears of one kind of event.
struct Observe<Course: TransferCourse>: RPCMethod {
    static var name: String { "\(Course.kind)Task/observe" }

    let task: String
    let status: Status

    struct Registered: JSONConvertible {
        let task: TransferTask<Course>
        let handle: String
        var json: JSON { ["handle": .string(handle)] }
    }

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.status("status", in: params.require("status"))
    }

    func run(in request: Request<Session>) async throws -> Registered {
        let task: TransferTask<Course> = try await request.task(task)
        return Registered(task: task, handle: try request.context.listener.newHandles(1)[0])
    }

    func didReply(_ registered: Registered, in session: Session) {
        registered.task.observe(status, handle: registered.handle, session.listener)
    }
}

/// `…Task/removeObserver`: one of this connection's observers, by its handle.
struct RemoveObserver<Course: TransferCourse>: PromptMethod {
    static var name: String { "\(Course.kind)Task/removeObserver" }

    let handle: String

    init(_ params: inout Params) throws(RPCError) { handle = try params.string("handle") }

    func run(in request: Request<Session>) throws -> JSON {
        ["removed": .bool(request.context.listener.removeObserver(handle, of: Course.self))]
    }
}

/// `…Task/removeAllObservers`: this connection's observers of a task, or those of one status.
struct RemoveAllObservers<Course: TransferCourse>: RPCMethod {
    static var name: String { "\(Course.kind)Task/removeAllObservers" }

    let task: String
    let status: Status?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.take("status").map { value throws(RPCError) in try params.status("status", in: value) }
    }

    func run(in request: Request<Session>) async throws -> JSON {
        let task: TransferTask<Course> = try await request.task(task)
        return ["removed": JSON(Int64(request.context.listener.removeAllObservers(of: task, for: status)))]
    }
}
