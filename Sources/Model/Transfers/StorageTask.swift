import Platform
import Storage

/// One task of the service: an upload, a download, or a task over a folder.
///
/// A machine, which is a value, makes the decisions; `post` carries them out. The extensions of this protocol are the
/// controls, and the waits for their effects.
@Loop public protocol StorageTask: AnyObject, Sendable {
    associatedtype Machine: ControlledMachine
    associatedtype Snapshot: TaskResult

    /// The prefix of the names of the protocol's methods for this kind of task.
    nonisolated static var kind: String { get }
    /// The list of the tasks of this kind.
    static func tasks(of transfers: Transfers) -> TaskList<Self>

    /// Unique across restarts.
    var id: String { get }
    /// Orders tasks by their creation.
    var number: Int64 { get }
    var reference: Reference { get }
    var key: String? { get }
    /// The endpoint of a task that this service cannot resume, since the service uses another one. Nil for other tasks.
    var endpoint: String? { get }
    var machine: Machine { get }
    var control: TaskControl { get set }
    /// The state for clients, who see an end once it is recorded.
    var state: TaskState { get }
    /// Whether a client sends or fetches the bytes piece by piece. The client may have disconnected.
    var isStream: Bool { get }
    /// Whether the task may pause at the end of the connections that have started or resumed it. False if the client
    /// that sends the bytes has none.
    var pausesWithConnections: Bool { get }

    /// Whether the task reads or writes local files, and was begun by a client that was not confined to these directories.
    func usesFiles(outside confinement: LocalConfinement) -> Bool
    func snapshot(for status: Status?) -> Snapshot
    /// Passes a control to the machine, and carries out the effects.
    func post(_ control: ClientControl)
    /// Uses the tokens of a client for a control that the state allows.
    func use(_ tokens: (any TokenSource)?, for control: ClientControl)
    /// Returns when the present state is recorded.
    func untilRecorded() async
    /// Ends the wait before a retry. False if the task does not wait for one.
    func endRest() -> Bool
    /// Whether the task has failed, and can run again.
    var mayRunAgain: Bool { get }
    /// Runs a failed task again. Returns the running task; nil if the task cannot run again.
    func runAgain(_ tokens: (any TokenSource)?, in transfers: Transfers) async throws -> Self?
    /// The number of the task's own steps in flight; nil while the task is stopping or its state is being recorded.
    var stepsInFlight: Int? { get }
    func notify(_ observer: Observer, _ event: Told<Snapshot>)
}

/// The state of a task outside of its machine.
public struct TaskControl {
    /// Whether clients know the end of a task.
    enum End {
        case none
        /// The end is being recorded. Clients see this state meanwhile.
        case recording(shown: TaskState)
        case told
    }

    var end = End.none
    /// Whether the task may replace an object that is newer than itself: a client of this process has started or
    /// resumed the task.
    var replacesNewer = true
    var observers: [Observer] = []
    /// The state that the list counts the task in; nil while the task is not in the list.
    var counted: TaskState?
    /// The last change in the trace; nil without a trace.
    var traced: TracedPoint?
    let settled = Waiters()
    let finished = Waiters()

    init(hasEnded: Bool) { if hasEnded { end = .told } }

    /// Records that an event has changed the state.
    mutating func note(_ before: TaskState, _ after: TaskState) {
        if after.isFinished, !before.isFinished { end = .recording(shown: before == .paused ? .paused : .running) }
    }
}

extension StorageTask {
    public var state: TaskState { toldState }
    public var isStream: Bool { false }
    public var pausesWithConnections: Bool { true }

    var toldState: TaskState { if case .recording(let shown) = control.end { shown } else { machine.taskState } }
    var isTold: Bool { if case .told = control.end { true } else { false } }
    /// Whether the task has ended, and the end is being recorded.
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

    /// Publishes the end, after it was recorded.
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

    /// - Parameter replacesNewer: false for a transfer of a task over a folder that no client has resumed.
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

    /// Whether `resume` would continue the task: it is paused, or is about to be.
    public var mayResume: Bool { machine.allows(.resume) && endpoint == nil }

    /// Continues after the last acknowledged byte. False if the state does not allow it.
    ///
    /// - Parameters:
    ///   - tokens: the tokens of the client that resumes the task.
    ///   - replacesNewer: false if the service resumes the task without a client.
    public func resume(tokens: (any TokenSource)? = nil, replacesNewer: Bool = true) -> Bool {
        guard mayResume else { return false }
        control.replacesNewer = replacesNewer
        use(tokens, for: .resume)
        post(.resume)
        return true
    }

    /// Returns once the task has ended. False if the task had ended before, or completes first.
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

    /// The answer to a control that the state does not allow. Waits for an end that is being recorded.
    private func refusal() async throws -> Bool {
        if isEnding { try await settle() }
        return false
    }

    // MARK: - Waits

    /// Returns once the task is not stopping, an end is published, and the state is recorded.
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
    /// Ends the wait of a task before a retry, for a client that knows that the cause of the failure has ended. A task
    /// that has failed runs again with the same id, a new retry budget and these tokens, and without its earlier
    /// observers.
    ///
    /// Returns the running task; nil for a task that cannot be retried: it runs, is paused, has succeeded or was
    /// cancelled.
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
            // Afterwards no other request can retry or forget the task.
            guard list.reopen(task) else { return nil }
            var again: Retried?
            defer { if again == nil { list.finish(task) } }
            again = try await task.runAgain(tokens, in: self)
            return again
        }
    }
}
