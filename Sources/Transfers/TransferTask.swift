import EventLoop
import FoundationEssentials
import Storage

public typealias UploadTask = TransferTask<UploadCourse>
public typealias DownloadTask = TransferTask<DownloadCourse>

/// One upload or download as its owner sees it: runs the machine, one event after the other, and tells the observers.
@Loop
public final class TransferTask<Course: TaskCourse> {
    typealias Machine = TaskMachine<Course>

    /// Unique across restarts: 122 random bits.
    public let id = UUID().uuidString.lowercased()
    /// Tells which of two tasks was created first.
    let number: Int
    let reference: Reference
    private let metadata: TaskSnapshot.Metadata?
    /// What it holds while it moves bytes or waits to.
    let bytesInMemory: Int
    private var machine: Machine
    /// Nil once the task has ended, as its bytes are: what is kept of it must be small.
    private var session: Session<Course>?
    private let places: Places
    private let time: TimeKeeping
    private let ended: @Loop (TransferTask) -> Void
    private var events: [Machine.Event] = []
    private var isHandling = false
    private var observers: [Observer] = []
    private let settled = Waiters()
    private let finished = Waiters()
    private var alarm: Task<Void, Never>?

    init(
        _ plan: TransferPlan<Course>, number: Int, time: TimeKeeping, ended: @escaping @Loop (TransferTask) -> Void
    ) {
        self.number = number
        reference = plan.reference
        metadata = plan.metadata
        bytesInMemory = plan.bytesInMemory
        machine = plan.machine
        session = plan.session
        places = plan.places
        self.time = time
        self.ended = ended
    }

    public var state: TaskState { machine.taskState }

    public func snapshot(for status: Status? = nil) -> TaskSnapshot {
        var snapshot = TaskSnapshot(
            kind: Course.kind, task: id, status: status ?? state.status, state: state(for: status),
            progress: machine.progress, reference: reference, metadata: metadata)
        if var retry = machine.retry {
            retry.error = retry.error.about(reference)
            snapshot.retry = retry
        }
        if status == .progress { return snapshot }
        switch machine.state {
        case .ended(.succeeded(let metadata)): snapshot.metadata = .stored(metadata)
        case .ended(.failed(let error)): snapshot.error = error.about(reference)
        case .ended(.cancelled): snapshot.error = .cancelled(Course.kind, of: reference)
        case .ready, .queued, .working, .stopping, .resting, .paused: break
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
        guard machine.allows(.pause) else { return false }
        post(.asked(.pause))
        try await settle()
        return !state.isFinished
    }

    /// Goes on from the last acknowledged byte; false where the state does not allow it.
    public func resume() -> Bool {
        guard machine.allows(.resume) else { return false }
        post(.asked(.resume))
        return true
    }

    /// Returns once it has stopped for good; false where it had ended, or was completed in that moment.
    public func cancel() async throws -> Bool {
        guard machine.allows(.cancel) else { return false }
        post(.asked(.cancel))
        try await settle()
        return state == .cancelled
    }

    /// The snapshot after success. Throws the task's error, or `CancellationError` when the waiting is cancelled.
    public func result() async throws -> TaskSnapshot {
        while !state.isFinished { try await finished.wait() }
        let snapshot = snapshot()
        if let error = snapshot.error { throw error }
        return snapshot
    }

    /// Hears at once if the status fits the present state; a task that has ended takes no observers beyond that.
    public func observe(_ status: Status, handle: String, _ listener: Listener) {
        guard listener.isThere else { return }
        if !state.isFinished {
            observers.append(Observer(handle: handle, status: status, listener: listener))
            listener.observing[handle] = self
        }
        if state.fits(status) { listener.hear(handle, snapshot(for: status)) }
    }

    @discardableResult
    func forget(where matches: (Observer) -> Bool) -> Int {
        let gone = observers.filter(matches)
        observers.removeAll(where: matches)
        for observer in gone { observer.listener.observing[observer.handle] = nil }
        return gone.count
    }

    private func settle() async throws {
        while !machine.isSettled { try await settled.wait() }
    }
}

// MARK: - Running the machine

extension TransferTask {
    /// Each event is handled whole, with all its effects, before the next one.
    func post(_ event: Machine.Event) {
        events.append(event)
        guard !isHandling else { return }
        isHandling = true
        while !events.isEmpty {
            for effect in machine.handle(events.removeFirst()) { carryOut(effect) }
        }
        isHandling = false
        if machine.isSettled { settled.wakeAll() }
        if state.isFinished { finished.wakeAll() }
    }

    /// The process ends, and the task with it.
    func letGo() { session?.discard() }

    private func carryOut(_ effect: Machine.Effect) {
        switch effect {
        case .acquire: places.acquire(self)
        case .release: places.release(self)
        case .perform(let step): perform(step)
        case .abort: abort()
        case .wake(let attempt, let pause): wake(attempt, after: pause)
        case .discard: session?.discard()
        case .publish(let status): publish(status)
        }
    }

    private func perform(_ step: Course.Step) {
        guard let session else { return }
        let elapsed = time.clock.stopwatch()
        let reports = Reports { [weak self] in self?.post(.reported($0, took: elapsed())) }
        Task { [time] in
            let answer = await session.perform(step, reports.take)
            reports.close()
            post(.answered(answer, took: elapsed(), at: time.now()))
        }
    }

    /// In the turn after this one: by then a step that was begun in this one is in flight, and can hear of it.
    private func abort() {
        Task { [session] in session?.abort() }
    }

    private func wake(_ attempt: Int, after pause: Duration) {
        alarm?.cancel()
        alarm = Task { [time] in
            do { try await time.clock.sleep(for: pause) } catch { return }
            post(.retryDue(attempt: attempt))
        }
    }

    private func publish(_ status: Status) {
        let news = snapshot(for: status)
        for observer in observers where observer.status == status { observer.listener.hear(observer.handle, news) }
        guard status == .success || status == .failure else { return }
        forget { _ in true }
        alarm?.cancel()
        session = nil
        ended(self)
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
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
