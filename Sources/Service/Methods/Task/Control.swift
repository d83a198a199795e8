import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

extension Request<ConnectionContext> {
    /// Waits for tasks of earlier processes to be read. Throws `invalidArgument` for a task that is unknown, or that the
    /// connection may not know, and `unauthorized` for one that it may only look at.
    @Loop func task<Controlled: MethodTask>(_ id: String, _ access: TaskAccess) async throws -> Controlled {
        try await context.transfers.ready(for: id)
        let task = try Controlled.tasks(of: context.transfers).task(id)
        try context.check(task, access)
        return task
    }
}

extension ConnectionContext {
    func check(_ task: some MethodTask, _ access: TaskAccess) throws(StorageError) { try rights?.check(task, access) }
}

extension Rights {
    @Loop fileprivate func check(_ task: some MethodTask, _ access: TaskAccess) throws(StorageError) {
        let snapshot = task.snapshot()
        guard know(snapshot) else { throw .noTask(task.id, type(of: task).kind) }
        guard access != .reading else { return }
        try checkControl(of: snapshot)
        guard access == .resuming, let files, task.usesFiles(outside: files) else { return }
        throw StorageError(
            .unauthorized, "The task uses files of a client with other rights, so this connection cannot resume it.")
    }

    /// Checks a task that other clients may have begun, of which the error tells nothing.
    @Loop func checkContinued(_ task: any StorageTask) throws(StorageError) {
        guard let task = task as? any MethodTask, (try? check(task, .resuming)) != nil else {
            throw StorageError(.unauthorized, "The key is that of a task that this connection may not resume.")
        }
    }
}

/// A task whose snapshots can be results.
protocol MethodTask: StorageTask where Snapshot: JSONConvertible & JSONObjectWritable & ConfinedSnapshot {}

extension TransferTask: MethodTask {}
extension FolderTask: MethodTask {}

/// A method with a task as its only param.
protocol TaskMethod: ServiceMethod {
    init(task: String)
}

extension TaskMethod {
    /// `Request.task` checks the rights to the task.
    var uses: [Use] { [] }

    init(_ params: inout Params) throws(RPCError) { self.init(task: try params.string("task")) }
}

/// `…Task/pause`: pauses a task, and answers when no more bytes move.
struct Pause<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/pause" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> ControlAnswer<Controlled.Snapshot> {
        let task: Controlled = try await request.task(task, .control)
        return accepted(try await task.pause(), task)
    }
}

/// `…Task/resume`: resumes a task after the last acknowledged byte.
struct Resume<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/resume" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> ControlAnswer<Controlled.Snapshot> {
        let task: Controlled = try await request.task(task, .resuming)
        try task.checkEndpoint()
        let isResumed = task.resume(tokens: request.context.tokens)
        if !task.hasEnded { request.context.began(task, ranAlready: !isResumed) }
        return accepted(isResumed, task)
    }
}

/// `…Task/retry`: ends the wait for a retry; restarts a task that has failed.
struct RetryTask<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/retry" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> ControlAnswer<Controlled.Snapshot> {
        let task: Controlled = try await request.task(task, .resuming)
        let running = try await request.context.transfers.retry(task, tokens: request.context.tokens)
        // A task that waited for its next attempt is the same object.
        if let running { request.context.began(running, ranAlready: running === task) }
        return accepted(running != nil, running ?? task)
    }
}

/// `…Task/cancel`: cancels a task, and answers when it has ended.
struct Cancel<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/cancel" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> ControlAnswer<Controlled.Snapshot> {
        let task: Controlled = try await request.task(task, .control)
        return accepted(try await task.cancel(tokens: request.tokens), task)
    }
}

/// `…Task/forget`: removes a task that has ended from the list.
struct Forget<Controlled: MethodTask>: TaskMethod {
    static var name: String { "\(Controlled.kind)Task/forget" }
    let task: String

    func run(in request: Request<ConnectionContext>) async throws -> ControlAnswer<Controlled.Snapshot> {
        let task: Controlled = try await request.task(task, .control)
        return accepted(await Controlled.tasks(of: request.context.transfers).forget(task), task)
    }
}

/// Whether a task has accepted a control, and its state afterwards.
struct ControlAnswer<Snapshot: JSONConvertible>: JSONConvertible, JSONObjectWritable {
    let accepted: Bool
    let snapshot: Snapshot

    func writeMembers(to json: inout JSONWriter) {
        json.member("accepted", accepted)
        json.member("snapshot", snapshot)
    }
}

@Loop private func accepted<Task: MethodTask>(_ accepted: Bool, _ task: Task) -> ControlAnswer<Task.Snapshot> {
    ControlAnswer(accepted: accepted, snapshot: task.snapshot())
}
