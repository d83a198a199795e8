import JSONText
import EventLoop
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
    @Loop func start<Course>(
        _ task: TransferTask<Course>, in request: Request<Session>
    ) async throws -> Started<Course> {
        let session = request.context
        let observers = observe.map { ($0, session.transfers.newHandle()) }
        let started = Started(task: task, snapshot: task.snapshot(), observers: observers)
        guard wait else { return started }
        started.didReply(in: session)
        request.stepAside()
        return Started(task: nil, snapshot: try await task.result(), observers: observers)
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
