import JSONText
import JSONRPC
import Storage
import Transfers

/// `…Task/observe`: registers an observer of this connection for one status.
struct Observe<Controlled: MethodTask>: ServiceMethod {
    static var name: String { "\(Controlled.kind)Task/observe" }
    var uses: [Use] { [] }

    let task: String
    let status: Status

    struct Registered: JSONConvertible, JSONObjectWritable {
        let task: Controlled
        let handle: String
        func writeMembers(to json: inout JSONWriter) { json.member("handle", handle) }
    }

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.status("status", in: params.require("status"))
    }

    func run(in request: Request<ConnectionContext>) async throws -> Registered {
        let task: Controlled = try await request.task(task, .reading)
        return Registered(task: task, handle: try request.context.observers.newHandles(1)[0])
    }

    func didReply(_ registered: Registered, in context: ConnectionContext) {
        registered.task.observe(status, handle: registered.handle, context.observers)
    }
}

/// `…Task/removeObserver`: removes one of this connection's observers by its handle.
struct RemoveObserver<Controlled: MethodTask>: ServiceMethod, PromptMethod {
    static var name: String { "\(Controlled.kind)Task/removeObserver" }
    var uses: [Use] { [] }

    let handle: String

    init(_ params: inout Params) throws(RPCError) { handle = try params.string("handle") }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        ["removed": .bool(request.context.observers.removeObserver(handle, of: Controlled.self))]
    }
}

/// `…Task/removeAllObservers`: removes this connection's observers of a task, or those of one status.
struct RemoveAllObservers<Controlled: MethodTask>: ServiceMethod {
    static var name: String { "\(Controlled.kind)Task/removeAllObservers" }
    var uses: [Use] { [] }

    let task: String
    let status: Status?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        status = try params.take("status").map { value throws(RPCError) in try params.status("status", in: value) }
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task: Controlled = try await request.task(task, .reading)
        return ["removed": JSON(Int64(request.context.observers.removeAllObservers(of: task, for: status)))]
    }
}
