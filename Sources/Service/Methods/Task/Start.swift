import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

/// The params `observe` and `wait` of methods that start a task.
struct StartOptions: Sendable {
    let observe: [Status]
    let wait: Bool
    /// The task needs further requests of the client, so the client cannot wait for its end.
    private let isStream: Bool

    /// The client waits for the task's end without observing it.
    var isAwaited: Bool { wait && observe.isEmpty }

    init(_ params: inout Params) throws(RPCError) {
        observe = try params.statuses("observe")
        wait = try params.optionalBool("wait") ?? false
        isStream = false
    }

    /// The options of a method without `wait`, whose task needs further requests of the client.
    init(observing params: inout Params) throws(RPCError) {
        (observe, wait, isStream) = (try params.statuses("observe"), false, true)
    }

    /// Creates a task if its observers and the wait are within the limits. The task starts after the reply, so that
    /// events follow it; with `wait` it starts at once.
    @Loop func start<Controlled: MethodTask>(
        in request: Request<ConnectionContext>, _ make: @Loop () async throws -> Controlled
    ) async throws -> Started<Controlled> {
        try await startOrGoOn(in: request) { RequestedTask(try await make()) }
    }

    /// Creates a task like `start`, or joins an unfinished one: its observers get events after the reply, and a paused
    /// task is resumed.
    @Loop func startOrGoOn<Controlled: MethodTask>(
        in request: Request<ConnectionContext>, _ make: @Loop () async throws -> RequestedTask<Controlled>
    ) async throws -> Started<Controlled> {
        let context = request.context
        if wait { try request.checkWait() }
        let handles = try context.observers.newHandles(observe.count)
        let observers = zip(observe, handles).map { (status, handle) in (status, handle: handle) }
        let requested: RequestedTask<Controlled>
        do {
            requested = try await make()
        } catch {
            for (_, handle) in observers { context.observers.drop(handle) }
            throw error
        }
        context.hasBegunTasks = true
        let task = requested.task
        if !wait, !isStream { context.began(task, ranAlready: requested.isContinued && !task.mayResume) }
        guard wait else { return Started(requested, snapshot: task.snapshot(), observers: observers) }
        requested.begin(observers, in: context)
        request.beginWaiting()
        let end = try await task.awaitedEnd()
        return Started(requested, snapshot: end, observers: observers, hasBegun: true)
    }

    /// Returns the outcome of an upload whose client waits for its end. Begins it if the wait is within the limit.
    @Loop func untilEnd(
        of upload: UploadRequest, in request: Request<ConnectionContext>
    ) async throws -> Started<UploadTask> {
        try request.checkWait()
        var task: String?
        do {
            let end = try await request.context.transfers.uploadAwaited(upload) { id in
                task = id
                request.context.hasBegunTasks = true
                request.beginWaiting()
            }
            return Started(nil, snapshot: end, observers: [], hasBegun: true)
        } catch let error as CancellationError {
            throw task.map { CancelledWait(data: ["task": .string($0)]) } ?? error
        }
    }
}

/// A new or joined task with its observers, as a result.
struct Started<Controlled: MethodTask>: JSONConvertible, JSONObjectWritable {
    /// Nil for a task that has ended before the reply.
    let requested: RequestedTask<Controlled>?
    let snapshot: Controlled.Snapshot
    let observers: [(Status, handle: String)]
    /// The task was started or resumed before the reply.
    let hasBegun: Bool

    init(
        _ requested: RequestedTask<Controlled>?, snapshot: Controlled.Snapshot, observers: [(Status, handle: String)],
        hasBegun: Bool = false
    ) {
        (self.requested, self.snapshot, self.observers, self.hasBegun) = (requested, snapshot, observers, hasBegun)
    }

    @Loop func didReply(in context: ConnectionContext) {
        if !hasBegun { requested?.begin(observers, in: context) }
    }

    func writeMembers(to json: inout JSONWriter) {
        snapshot.writeMembers(to: &json)
        if requested?.isContinued == true { json.member("continued", true) }
        guard !observers.isEmpty else { return }
        json.member("observers") {
            $0.object { json in for (status, handle) in observers { json.member(named: status.rawValue, handle) } }
        }
    }
}

extension RequestedTask {
    @Loop fileprivate func begin(_ observers: [(Status, handle: String)], in context: ConnectionContext) {
        // Resumes before observers get events: they must not see the paused state.
        if isContinued { _ = task.resume(tokens: context.tokens) }
        for (status, handle) in observers { task.observe(status, handle: handle, context.observers) }
        if !isContinued { task.start() }
    }
}

extension MethodTask {
    /// The error of a cancelled wait names the task, which continues.
    @Loop func awaitedEnd() async throws -> Snapshot {
        do { return try await result() } catch is CancellationError {
            throw CancelledWait(data: ["task": .string(id)])
        }
    }
}

extension Request<ConnectionContext> {
    /// Throws if too many requests of the connection wait for tasks.
    func checkWait() throws(StorageError) {
        if mayWait() { return }
        let most = context.service.configuration.limits.connection.waitingRequests
        throw .noRoom(for: "requests of this connection that wait for tasks", "--max-waiting-requests", is: most)
    }
}
