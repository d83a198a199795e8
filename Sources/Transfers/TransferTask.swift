import Platform
import Storage

public typealias UploadTask = TransferTask<UploadCourse>
public typealias DownloadTask = TransferTask<DownloadCourse>

/// One upload or download as its owner sees it: runs the machine, one event after the other, and tells the observers.
@Loop
public final class TransferTask<Course: TaskCourse> {
    typealias Machine = TaskMachine<Course>

    /// Unique across restarts.
    public let id: String
    /// Tells which of two tasks was created first.
    let number: Int64
    let reference: Reference
    /// The endpoint that it belongs to, where it is not the service's own: it does not go on here.
    let endpoint: String?
    /// What is being uploaded; nil for a download, and once its success is told.
    private var metadata: TaskSnapshot.Metadata?
    /// Until it has ended, or is paused and they are on the disk.
    private var held: HeldBytes<Course>?
    var machine: Machine
    var line: Line<Course>
    let places: Places
    /// Nil where nobody keeps tasks, and once it has ended.
    var page: JournalPage?
    /// What of it was handed to the journal.
    var noted: Noted
    /// Everybody has heard how it ended.
    var isTold: Bool
    /// It stood still before it ended.
    var wasPaused = false
    /// A client of this process asked for it: it may replace what was stored since it began.
    private(set) var replacesNewer = true
    let time: TimeKeeping
    private let released: @Loop (_ bytes: Int) -> Void
    let ended: @Loop (TransferTask) -> Void
    var events: [Machine.Event] = []
    var isHandling = false
    var observers: [Observer] = []
    let settled = Waiters()
    let finished = Waiters()
    var alarm: Task<Void, Never>?

    init(
        _ plan: TransferPlan<Course>, time: TimeKeeping, released: @escaping @Loop (_ bytes: Int) -> Void,
        ended: @escaping @Loop (TransferTask) -> Void
    ) {
        id = plan.record.id
        number = plan.record.number
        reference = plan.record.reference
        endpoint = plan.record.endpoint
        metadata = Course.kind == .upload ? .uploading(plan.record.metadata, md5Hash: plan.record.md5Hash) : nil
        held = plan.held
        machine = plan.machine
        line = plan.line
        places = plan.places
        page = plan.page
        noted = Noted(plan.machine)
        isTold = plan.machine.taskState.isFinished
        self.time = time
        self.released = released
        self.ended = ended
        page?.didKeep = { [weak self] in self?.goOnFromDisk() }
        if isTold { keepLess() }
    }

    /// Keeps of a task whose end was told no more than its snapshot tells.
    func keepLess() {
        (page, alarm) = (nil, nil)
        switch (machine.state, metadata) {
        case (.ended(.succeeded), _): metadata = nil
        case (_, .uploading(let settable, let md5Hash)):
            metadata = .uploading(settable.bounded, md5Hash: md5Hash)
        case (_, .stored), (_, nil): break
        }
    }

    /// As everybody may know it: an end that is not recorded yet has not been told.
    public var state: TaskState {
        guard isEnding else { return machine.taskState }
        return wasPaused ? .paused : .running
    }

    /// It has ended, and that is being recorded.
    private var isEnding: Bool { machine.taskState.isFinished && !isTold }

    var isAtRest: Bool { state.isFinished || state == .paused }

    public func snapshot(for status: Status? = nil) -> TaskSnapshot {
        var snapshot = TaskSnapshot(
            kind: Course.kind, task: id, status: status ?? state.status, state: state(for: status),
            progress: machine.progress, reference: reference, metadata: metadata, endpoint: endpoint)
        if var retry = machine.retry {
            retry.error = retry.error.about(reference)
            snapshot.retry = retry
        }
        if status == .progress || isEnding { return snapshot }
        switch machine.state {
        case .ended(.succeeded(let metadata)): snapshot.metadata = .stored(metadata)
        case .ended(.failed(let error)): snapshot.error = error.about(reference)
        case .ended(.cancelled): snapshot.error = .cancelled(Course.kind, of: reference)
        case .paused: snapshot.error = machine.hold?.about(reference)
        case .ready, .queued, .working, .stopping, .resting: break
        }
        return snapshot
    }

    /// The last progress is about a task that ran, and a pause that was taken back about one that stood still.
    private func state(for status: Status?) -> TaskState {
        switch status {
        case .progress: .running
        case .pause: .paused
        case .resume, .success, .failure, nil: state
        }
    }
}

// MARK: - What its owner may do

extension TransferTask {
    public func start() { post(.asked(.start)) }

    /// Returns once it has stopped moving; false where the state does not allow it, or it ended first.
    public func pause() async throws -> Bool {
        guard beginPause() else { return try await refusal() }
        try await settle()
        return !state.isFinished
    }

    /// False where the state does not allow it; else `settle` returns once it has stopped moving.
    func beginPause() -> Bool {
        guard machine.allows(.pause) else { return false }
        post(.asked(.pause))
        return true
    }

    /// Goes on from the last acknowledged byte; false where the state does not allow it. One from an earlier process
    /// goes on with these tokens. One that no client asks for does not replace what was stored since it began.
    public func resume(tokens: (any TokenSource)? = nil, replacesNewer: Bool = true) -> Bool {
        guard machine.allows(.resume), endpoint == nil else { return false }
        self.replacesNewer = replacesNewer
        pickUp(tokens)
        post(.asked(.resume))
        return true
    }

    /// Throws `invalidArgument` for a task of another endpoint that has not ended.
    public func checkEndpoint() throws(StorageError) {
        if let endpoint, !state.isFinished { throw .belongs(id, to: endpoint).about(reference) }
    }

    /// Returns once it has stopped for good; false where it had ended, or was completed in that moment.
    public func cancel(tokens: (any TokenSource)? = nil) async throws -> Bool {
        guard machine.allows(.cancel) else { return try await refusal() }
        pickUp(tokens)
        post(.asked(.cancel))
        try await settle()
        return state == .cancelled
    }

    /// The snapshot after success. Throws the task's error, or `CancellationError` when the waiting is cancelled.
    public func result() async throws -> TaskSnapshot {
        while !isTold { try await finished.wait() }
        let snapshot = snapshot()
        if let error = snapshot.error { throw error }
        return snapshot
    }

    /// Hears at once if the status fits the present state; a task that has ended takes no observers beyond that.
    public func observe(_ status: Status, handle: String, _ listener: Listener) {
        guard listener.isThere else { return }
        if !state.isFinished {
            observers.append(Observer(handle: handle, status: status, listener: listener))
            listener.add(handle, self)
        } else {
            listener.drop(handle)
        }
        if state.fits(status) { listener.hear(handle, snapshot(for: status)) }
    }

    @discardableResult
    func forget(where matches: (Observer) -> Bool) -> Int {
        let gone = observers.filter(matches)
        observers.removeAll(where: matches)
        for observer in gone { observer.listener.drop(observer.handle) }
        return gone.count
    }

    /// Returns once it stands still, everybody knows, and it is kept.
    func settle() async throws {
        while !machine.isSettled || isEnding { try await settled.wait() }
        await page?.settled()
    }

    /// False, once it is known how the task ended, if it has.
    private func refusal() async throws -> Bool {
        if isEnding { try await settle() }
        return false
    }

    private func pickUp(_ tokens: (any TokenSource)?) {
        if case .known(let open) = line { line = .open(open(tokens)) }
    }

    /// A paused task needs no bytes in memory once they are on the disk: it goes on as one from an earlier process does.
    private func goOnFromDisk() {
        guard case .paused = machine.state, let held, let (path, identity) = page?.source else { return }
        line = .known { _ in held.reopen(path, identity) }
        letGoOfBytes()
    }

    func letGoOfBytes() {
        guard let bytes = held?.count else { return }
        held = nil
        released(bytes)
    }

    var session: Session<Course>? {
        if case .open(let session) = line { session } else { nil }
    }
}

extension TransferTask: Observed, InLine {
    func admit() { post(.admitted) }
}

/// Where tasks have the time from: rests are slept on the clock, `now` is the time of day that is told.
struct TimeKeeping: Sendable {
    let clock: any Clock<Duration>
    let now: @Sendable () -> Timestamp
}

extension Clock where Duration == Swift.Duration {
    /// Tells how long ago it was made.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
