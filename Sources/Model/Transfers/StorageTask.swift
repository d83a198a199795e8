import Platform
import Storage

/// One task of the service: an upload, a download, or a task over a folder.
///
/// Its machine decides, as a value; `post` carries out the decisions. The parts that all tasks have in common are here:
/// the controls, and the waits for their effects.
@Loop public protocol StorageTask: AnyObject, Sendable {
    associatedtype Machine: ControlledMachine
    associatedtype Snapshot: TaskResult

    /// The beginning of the names of its methods.
    nonisolated static var kind: String { get }
    /// The list of the tasks of this kind.
    static func tasks(of transfers: Transfers) -> TaskList<Self>

    /// Unique across restarts.
    var id: String { get }
    /// Orders tasks by their creation.
    var number: Int64 { get }
    var reference: Reference { get }
    var key: String? { get }
    /// The endpoint of the task, if it is another than the service's: the task cannot be resumed here.
    var endpoint: String? { get }
    var machine: Machine { get }
    var control: TaskControl { get set }
    /// The state for clients: an end counts once it is recorded.
    var state: TaskState { get }
    /// The task waits for its client, who may be gone.
    var isStream: Bool { get }

    func snapshot(for status: Status?) -> Snapshot
    /// Passes a control to the machine, and carries out the effects.
    func post(_ control: ClientControl)
    /// Uses the tokens of a client for a control that the state allows.
    func use(_ tokens: (any TokenSource)?, for control: ClientControl)
    /// Returns when the present state is recorded.
    func untilRecorded() async
    /// Ends the wait after a failure; false if there is none.
    func endRest() -> Bool
    /// The task has failed, and can run again.
    var mayRunAgain: Bool { get }
    /// Runs a failed task again: returns the task that runs; nil if that is not possible any more.
    func runAgain(_ tokens: (any TokenSource)?, in transfers: Transfers) async throws -> Self?
    /// The number of the task's own steps at the engine; nil while something else happens to the task.
    var stepsInFlight: Int? { get }
    func notify(_ observer: Observer, _ event: Told<Snapshot>)
}

/// The state that all tasks have in common, besides their machines.
public struct TaskControl {
    /// How far the end of a task is told.
    enum End {
        case none
        /// It is being recorded; clients see this state meanwhile.
        case recording(shown: TaskState)
        case told
    }

    var end = End.none
    /// A client of this process started or resumed the task: the task may replace an object that is newer than itself.
    var replacesNewer = true
    var observers: [Observer] = []
    /// The state that the list counts the task in; nil while it is not in the list.
    var counted: TaskState?
    let settled = Waiters()
    let finished = Waiters()

    init(hasEnded: Bool) { if hasEnded { end = .told } }

    /// Takes note of the change of state by an event.
    mutating func note(_ before: TaskState, _ after: TaskState) {
        if after.isFinished, !before.isFinished { end = .recording(shown: before == .paused ? .paused : .running) }
    }
}

extension StorageTask {
    public var state: TaskState { toldState }
    public var isStream: Bool { false }

    var toldState: TaskState { if case .recording(let shown) = control.end { shown } else { machine.taskState } }
    var isTold: Bool { if case .told = control.end { true } else { false } }
    /// The task has ended, and that is being recorded.
    var isEnding: Bool { if case .recording = control.end { true } else { false } }
    public var hasEnded: Bool { state.isFinished }
    var isAtRest: Bool { state.isFinished || state == .paused }

    public func snapshot() -> Snapshot { snapshot(for: nil) }

    /// Progress events show a running task, pause events a paused one, even if the state has changed since.
    func state(for status: Status?) -> TaskState {
        switch status {
        case .progress: .running
        case .pause: .paused
        case .resume, .success, .failure, nil: state
        }
    }

    /// Publishes the end, which is recorded.
    func tellEnd() {
        control.end = .told
        publish(machine.taskState == .success ? .success : .failure)
        forget { _ in true }
    }

    func wakeAll() {
        control.settled.wakeAll()
        control.finished.wakeAll()
    }

    // MARK: - Controls

    /// `replacesNewer` is false if a task over a folder that no client has resumed begins it.
    public func start(replacesNewer: Bool = true) {
        control.replacesNewer = replacesNewer
        post(.start)
    }

    /// Returns once no bytes move; false if the state does not allow a pause, or the task ends first.
    public func pause() async throws -> Bool {
        guard beginPause() else { return try await refusal() }
        try await settle()
        return !state.isFinished
    }

    /// False if the state does not allow a pause; else `settle` returns once no bytes move.
    func beginPause() -> Bool {
        guard machine.allows(.pause) else { return false }
        post(.pause)
        return true
    }

    /// Continues after the last acknowledged byte; false if the state does not allow it. `tokens` are those of the client
    /// that resumes the task. `replacesNewer` is false if no client asks for it.
    public func resume(tokens: (any TokenSource)? = nil, replacesNewer: Bool = true) -> Bool {
        guard machine.allows(.resume), endpoint == nil else { return false }
        control.replacesNewer = replacesNewer
        use(tokens, for: .resume)
        post(.resume)
        return true
    }

    /// Returns once the task has ended; false if it had ended before, or was completed in that moment.
    public func cancel(tokens: (any TokenSource)? = nil) async throws -> Bool {
        guard beginCancel(tokens: tokens) else { return try await refusal() }
        try await settle()
        return state == .cancelled
    }

    func beginCancel(tokens: (any TokenSource)? = nil) -> Bool {
        guard machine.allows(.cancel) else { return false }
        use(tokens, for: .cancel)
        post(.cancel)
        return true
    }

    /// Throws `invalidArgument` for a task of another endpoint that has not ended.
    public func checkEndpoint() throws(StorageError) {
        if let endpoint, !state.isFinished { throw .belongs(id, to: endpoint).about(reference) }
    }

    /// The answer to a control that the state does not allow; waits for the end if that is being recorded.
    private func refusal() async throws -> Bool {
        if isEnding { try await settle() }
        return false
    }

    // MARK: - Waits

    /// Returns once the task is not being stopped, its end is published, and its state is recorded.
    func settle() async throws {
        while !machine.isSettled || isEnding { try await control.settled.wait() }
        await untilRecorded()
    }

    /// Returns when the task is paused or has ended.
    func rested() async { while !isAtRest { do { try await control.settled.wait() } catch { return } } }

    /// The snapshot after success. Throws the task's error, or `CancellationError` if the waiting is cancelled.
    public func result() async throws -> Snapshot {
        while !isTold { try await control.finished.wait() }
        let snapshot = snapshot(for: nil)
        if let error = snapshot.error { throw error }
        return snapshot
    }
}

extension Transfers {
    /// Ends the wait of a task after a failure: a client knows that the reason of the failure is gone, such as a network
    /// that is back. A task that has failed begins anew, under the same id and with a new retry budget: like a task of an
    /// earlier process that a client resumes, with these tokens. Its observers know its end, and are gone.
    ///
    /// Returns the task that runs; nil for one that cannot be retried: that runs, is paused, or has ended for good.
    public func retry<Retried: StorageTask>(
        _ task: Retried, tokens: (any TokenSource)? = nil
    ) async throws -> Retried? {
        if task.endRest() { return task }
        return try await tasks.exclusively(for: task.key, of: Retried.kind) { [self] in
            guard task.mayRunAgain else { return nil }
            let list = Retried.tasks(of: self)
            if let key = task.key, let other = list.unfinishedTask(withKey: key), other !== task {
                throw StorageError.keyTaken(key, of: task.id, by: other.id)
            }
            try tasks.reservePlace()
            defer { tasks.giveBackPlace() }
            // From here on no other request retries or forgets it.
            guard list.reopen(task) else { return nil }
            var again: Retried?
            defer { if again == nil { list.finish(task) } }
            again = try await task.runAgain(tokens, in: self)
            return again
        }
    }
}
