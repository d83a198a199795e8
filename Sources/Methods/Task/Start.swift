import JSONText
import Platform
import JSONRPC
import Storage
import Transfers

/// What whoever starts a task wants to hear of it.
struct StartOptions: Sendable {
    let observe: [Status]
    let wait: Bool

    init(_ params: inout Params) throws(RPCError) {
        observe = try params.statuses("observe")
        wait = try params.optionalBool("wait") ?? false
    }

    /// The task starts after the reply, so that nobody hears of it before; one who waits for its end hears of it at once.
    /// It is made only where there is room for its observers, and for the wait.
    @Loop func start<Course>(
        in request: Request<Session>, _ make: @Loop () async throws -> TransferTask<Course>
    ) async throws -> Started<Course> {
        let session = request.context
        if wait { try request.checkWait() }
        let observers = Array(zip(observe, try session.listener.newHandles(observe.count)))
        let task: TransferTask<Course>
        do {
            task = try await make()
        } catch {
            for (_, handle) in observers { session.listener.drop(handle) }
            throw error
        }
        let started = Started(task: task, snapshot: task.snapshot(), observers: observers)
        guard wait else { return started }
        started.didReply(in: session)
        request.beginWaiting()
        return Started(task: nil, snapshot: try await task.awaitedEnd(), observers: observers)
    }
}

/// A task that was made, and the observers that go with it.
struct Started<Course: TaskCourse>: JSONConvertible {
    /// Nil when it has been started already.
    let task: TransferTask<Course>?
    let snapshot: TaskSnapshot
    let observers: [(Status, handle: String)]

    @Loop func didReply(in session: Session) {
        guard let task else { return }
        for (status, handle) in observers { task.observe(status, handle: handle, session.listener) }
        task.start()
    }

    var json: JSON {
        guard !observers.isEmpty, case .object(var members) = snapshot.json else { return snapshot.json }
        let handles = observers.map { JSON.Member(key: $0.rawValue, value: .string($1)) }
        members.append(.init(key: "observers", value: .object(handles)))
        return .object(members)
    }
}

extension TransferTask {
    /// A wait that is cancelled names the task, which goes on: nobody loses it.
    @Loop func awaitedEnd() async throws -> TaskSnapshot {
        do { return try await result() } catch is CancellationError {
            throw CancelledWait(data: ["task": .string(id)])
        }
    }
}

extension Request<Session> {
    /// Throws where too many requests of the connection wait for tasks already.
    func checkWait() throws(StorageError) {
        if mayWait() { return }
        let most = context.service.configuration.limits.connection.waitingRequests
        throw .noRoom(for: "requests of this connection that wait for tasks", "--max-waiting-requests", is: most)
    }
}
