import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

/// The params `observe` and `wait` of methods that start a task.
struct StartOptions: Sendable {
    let observe: [Status]
    let wait: Bool
    /// The task waits for the client.
    private let isStream: Bool

    /// The client learns of the task when it has ended.
    var isAwaited: Bool { wait && observe.isEmpty }

    init(_ params: inout Params) throws(RPCError) {
        observe = try params.statuses("observe")
        wait = try params.optionalBool("wait") ?? false
        isStream = false
    }

    /// Of a method that has no `wait`: its task waits for the client.
    init(observing params: inout Params) throws(RPCError) {
        (observe, wait, isStream) = (try params.statuses("observe"), false, true)
    }

    /// Makes a task if its observers and the wait are within the limits. It starts after the reply, so that events
    /// follow it; with `wait` it starts at once.
    @Loop func start<Controlled: MethodTask>(
        in request: Request<ConnectionContext>, _ make: @Loop () async throws -> Controlled
    ) async throws -> Started<Controlled> {
        let context = request.context
        if wait { try request.checkWait() }
        let observers = Array(zip(observe, try context.observers.newHandles(observe.count)))
        let task: Controlled
        do {
            task = try await make()
        } catch {
            for (_, handle) in observers { context.observers.drop(handle) }
            throw error
        }
        context.hasBegunTasks = true
        if !wait, !isStream { context.began(task) }
        let started = Started(task: task, snapshot: task.snapshot(), observers: observers)
        guard wait else { return started }
        started.didReply(in: context)
        request.beginWaiting()
        return Started(task: nil, snapshot: try await task.awaitedEnd(), observers: observers)
    }
}

/// A new task with its observers, as a result.
struct Started<Controlled: MethodTask>: JSONConvertible {
    /// Nil if it was started already.
    let task: Controlled?
    let snapshot: Controlled.Snapshot
    let observers: [(Status, handle: String)]

    @Loop func didReply(in context: ConnectionContext) {
        guard let task else { return }
        for (status, handle) in observers { task.observe(status, handle: handle, context.observers) }
        task.start()
    }

    var json: JSON {
        guard !observers.isEmpty, case .object(var members) = snapshot.json else { return snapshot.json }
        let handles = observers.map { JSON.Member(key: $0.rawValue, value: .string($1)) }
        members.append(.init(key: "observers", value: .object(handles)))
        return .object(members)
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
