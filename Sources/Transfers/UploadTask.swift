import EventLoop
import FoundationEssentials
import Storage

/// One upload as its owner sees it: runs the machine, one event after the other, and tells the observers.
@Loop
public final class UploadTask {
    /// Unique across restarts: 122 random bits.
    public let id = UUID().uuidString.lowercased()
    /// Tells which of two tasks was created first.
    let number: Int
    private(set) var upload: Upload
    private var machine: UploadMachine
    /// Nil once the task has ended, as its bytes are: what is kept of it must be small.
    private var session: (any UploadSession)?
    private let places: Places
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> Timestamp
    private let ended: @Loop (UploadTask) -> Void
    private var events: [UploadMachine.Event] = []
    private var isHandling = false
    private var observers: [Observer] = []
    private let settled = Waiters()
    private let finished = Waiters()
    private var alarm: Task<Void, Never>?

    init(
        number: Int, upload: Upload, machine: UploadMachine, session: any UploadSession, places: Places,
        clock: any Clock<Duration>, now: @escaping @Sendable () -> Timestamp,
        ended: @escaping @Loop (UploadTask) -> Void
    ) {
        self.number = number
        self.upload = upload
        self.machine = machine
        self.session = session
        self.places = places
        self.clock = clock
        self.now = now
        self.ended = ended
    }

    public var state: TaskState { machine.taskState }

    public func snapshot(for status: Status? = nil) -> TaskSnapshot {
        var snapshot = TaskSnapshot(
            task: id, status: status ?? state.status, state: state(for: status),
            progress: machine.progress, reference: upload.reference,
            metadata: .uploading(upload.metadata, md5Hash: upload.expectedMD5))
        if var retry = machine.retry {
            retry.error = retry.error.about(upload.reference)
            snapshot.retry = retry
        }
        if status == .progress { return snapshot }
        switch machine.state {
        case .ended(.succeeded(let metadata)): snapshot.metadata = .stored(metadata)
        case .ended(.failed(let error)): snapshot.error = error.about(upload.reference)
        case .ended(.cancelled): snapshot.error = .cancelled(upload.reference)
        case .ready, .queued, .working, .stopping, .resting, .paused: break
        }
        return snapshot
    }

    /// The last progress is about an upload that ran, and a pause that was taken back about one that stood still.
    private func state(for status: Status?) -> TaskState {
        switch status {
        case .progress: .running
        case .pause: .paused
        case .resume, .success, .failure, nil: state
        }
    }
}

// MARK: - What its owner may do

extension UploadTask {
    public func start() { post(.asked(.start)) }

    /// Returns once the upload has stopped moving; false where the state does not allow it, or it ended first.
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

    /// Returns once the upload has stopped for good; false where it had ended, or was committed in that moment.
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

extension UploadTask {
    /// Each event is handled whole, with all its effects, before the next one.
    func post(_ event: UploadMachine.Event) {
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

    private func carryOut(_ effect: UploadMachine.Effect) {
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

    private func perform(_ step: UploadMachine.Step) {
        guard let session else { return }
        let elapsed = clock.stopwatch()
        Task { [now] in
            let answer = await session.perform(step)
            post(.answered(answer, took: elapsed(), at: now()))
        }
    }

    /// In the turn after this one: by then a step that was begun in this one is in flight, and can hear of it.
    private func abort() {
        Task { [session] in session?.abort() }
    }

    private func wake(_ attempt: Int, after pause: Duration) {
        alarm?.cancel()
        alarm = Task { [clock] in
            do { try await clock.sleep(for: pause) } catch { return }
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
        upload.source = .data([])
        ended(self)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Tells how long ago it was made.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
