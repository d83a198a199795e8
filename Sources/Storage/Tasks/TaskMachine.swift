/// The rules of one upload or download, without clocks, sockets or disks.
///
/// Feed it events in the order they happened and carry out the effects in the order returned, each finished before the
/// next. At most one step is in flight, ever; which one comes next, and what its answer means, is the course's to say.
/// After a failure it rests, then goes on: both are published as progress. Only bytes that were never there before
/// renew patience. Exactly one of success and failure is published, last.
///
///     ready ──▶ queued ──▶ working ──▶ ended
///                 ▲        │ ▲   │ ▲
///                 │        ▼ │   ▼ │
///               paused ◀── stopping resting
public struct TaskMachine<Course: TaskCourse>: Equatable, Sendable {
    public enum State: Equatable, Sendable {
        /// Nobody has asked it to start.
        case ready
        /// Waits for a place among those that move bytes.
        case queued
        /// One step is in flight.
        case working(Step)
        /// That step was told to stop; nothing else happens until it has ended.
        case stopping(Step, then: Intent)
        /// The last step failed and will be tried again.
        case resting(Retry, for: Duration)
        case paused
        case ended(Outcome)
    }

    public typealias Step = Course.Step
    public typealias Answer = Course.Answer

    public enum Intent: Equatable, Sendable { case pause, goOn, cancel }

    public typealias Outcome = TaskOutcome

    public private(set) var state = State.ready
    private(set) var course: Course
    private var patience: Patience
    /// Why it was paused by itself.
    public private(set) var hold: StorageError?
    /// When the step in flight last made progress, counted from its begin.
    private var lastProgress = Duration.zero

    /// `patience` is how long rests and failing steps may take in all without progress, `seed` what rests are drawn from.
    public init(_ course: Course, patience: Duration = .seconds(600), seed: UInt64 = 0) {
        self.course = course
        self.patience = Patience(limit: patience, seed: seed)
    }

    /// One that was under way in an earlier process, and waits to be resumed.
    public init(restored course: Course, patience: Duration = .seconds(600), seed: UInt64 = 0) {
        self.init(course, patience: patience, seed: seed)
        state = .paused
    }

    /// One that ended in an earlier process.
    public init(_ course: Course, ended outcome: Outcome) {
        self.init(course)
        state = .ended(outcome.bounded)
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .asked(.start): start()
        case .asked(.resume): resume()
        case .asked(.pause): pause()
        case .asked(.cancel): cancel()
        case .admitted: state == .queued ? [.publish(.resume)] + begin() : []
        case .reported(let progress, let took): hear(progress, took)
        case .answered(let answer, let took, let time): accept(answer, took, time)
        case .retryDue(let attempt): retry(attempt)
        }
    }
}

// MARK: - Wishes

extension TaskMachine {
    /// Whether the present state allows it. What is being stopped for a pause may be paused: the two are one.
    public func allows(_ wish: Wish) -> Bool {
        switch (wish, state) {
        case (_, .ended): false
        case (.cancel, _): true
        case (.start, .ready): true
        case (.pause, .paused), (.pause, .stopping(_, .cancel)): false
        case (.pause, _): true
        case (.resume, .paused), (.resume, .stopping(_, .pause)): true
        case (.start, _), (.resume, _): false
        }
    }

    private mutating func start() -> [Effect] {
        state == .ready ? turn(to: .queued, [.acquire]) : []
    }

    private mutating func resume() -> [Effect] {
        switch state {
        case .paused: goOn()
        case .stopping(let step, .pause): turn(to: .stopping(step, then: .goOn))
        case .ready, .queued, .working, .stopping, .resting, .ended: []
        }
    }

    private mutating func goOn() -> [Effect] {
        hold = nil
        return turn(to: .queued, [.acquire])
    }

    private mutating func pause() -> [Effect] {
        switch state {
        case .working(let step): turn(to: .stopping(step, then: .pause), [.abort])
        case .stopping(let step, .goOn): turn(to: .stopping(step, then: .pause))
        case .ready, .queued, .resting: turn(to: .paused, [.release, .publish(.pause)])
        case .stopping, .paused, .ended: []
        }
    }

    private mutating func cancel() -> [Effect] {
        switch state {
        case .working(let step): turn(to: .stopping(step, then: .cancel), [.abort])
        case .stopping(let step, _): turn(to: .stopping(step, then: .cancel))
        case .ready, .queued, .resting, .paused: end(.cancelled)
        case .ended: []
        }
    }
}

// MARK: - Answers

extension TaskMachine {
    /// The step that is under way, and what was decided to do after it.
    private var inFlight: (step: Step, stopping: Intent?)? {
        switch state {
        case .working(let step): (step, nil)
        case .stopping(let step, let intent): (step, intent)
        case .ready, .queued, .resting, .paused, .ended: nil
        }
    }

    private mutating func hear(_ progress: Progress, _ took: Duration) -> [Effect] {
        guard let inFlight, inFlight.stopping != .cancel else { return [] }
        switch course.hear(progress) {
        case .nothing: return []
        case .correction: return [.publish(.progress)]
        case .growth:
            lastProgress = took
            patience.renew()
            return [.publish(.progress)]
        }
    }

    private mutating func accept(_ answer: Answer, _ took: Duration, _ time: Timestamp) -> [Effect] {
        guard let (step, stopping) = inFlight else { return [] }
        let verdict = course.verdict(on: answer, to: step, wasStopped: stopping != nil)
        if case .completed(let metadata) = verdict { return succeed(metadata) }
        if stopping == .cancel { return end(.cancelled) }
        if let error = verdict.lastError { return end(.failed(error)) }
        if let error = verdict.error {
            patience.note(error, took: took - lastProgress, at: time, completed: progress.completedUnitCount)
        }
        let news = learn(from: answer, to: step, verdict, took)
        if case .held(let error) = verdict, stopping != .goOn {
            hold = error
            return news + turn(to: .paused, [.release, .publish(.pause)])
        }
        if stopping == .pause { return news + turn(to: .paused, [.release, .publish(.pause)]) }
        if stopping == .goOn { return news + [.publish(.pause), .publish(.resume)] + begin() }
        if case .failed(let error) = verdict { return rest(after: error, of: step, time) }
        return news + begin()
    }

    private mutating func learn(
        from answer: Answer, to step: Step, _ verdict: Verdict, _ took: Duration
    ) -> [Effect] {
        guard course.learn(from: answer, to: step, verdict, took: took) else { return [] }
        patience.renew()
        return [.publish(.progress)]
    }

    private mutating func succeed(_ metadata: ObjectMetadata) -> [Effect] {
        let last: [Effect] = course.complete(metadata) ? [.publish(.progress)] : []
        return finish(.succeeded(metadata), [.release] + last + [.publish(.success)])
    }
}

// MARK: - Steps

extension TaskMachine {
    private mutating func begin() -> [Effect] {
        lastProgress = .zero
        let step = course.nextStep
        return turn(to: .working(step), [.perform(step)])
    }

    private mutating func rest(after error: StorageError, of step: Step, _ time: Timestamp) -> [Effect] {
        guard let pause = patience.nextRest(atLeast: error.retryAfter) else {
            return end(.failed(error.retriedTooOften(patience.attempts)))
        }
        let retry = Retry(
            attempt: patience.retries, of: course.stage(of: step), at: time.advanced(by: pause), error: error)
        return turn(
            to: .resting(retry, for: pause), [.publish(.progress), .wake(attempt: retry.attempt, after: pause)])
    }

    private mutating func retry(_ attempt: Int) -> [Effect] {
        guard case .resting(let retry, let pause) = state, retry.attempt == attempt else { return [] }
        patience.rested(pause)
        return [.publish(.progress)] + begin()
    }

    private mutating func end(_ outcome: Outcome) -> [Effect] {
        finish(outcome, [.discard, .release, .publish(.failure)])
    }

    /// Keeps no more than is told of a task that has ended.
    private mutating func finish(_ outcome: Outcome, _ effects: [Effect]) -> [Effect] {
        patience.renew()
        hold = nil
        return turn(to: .ended(outcome.bounded), effects)
    }

    private mutating func turn(to next: State, _ effects: [Effect] = []) -> [Effect] {
        state = next
        return effects
    }
}

// MARK: - What can be seen

extension TaskMachine {
    /// What of the inner state is anybody's business: a task being stopped still runs.
    public var taskState: TaskState {
        switch state {
        case .ready, .queued: .queued
        case .working, .stopping, .resting: .running
        case .paused: .paused
        case .ended(.succeeded): .success
        case .ended(.cancelled): .cancelled
        case .ended(.failed): .failed
        }
    }

    public var progress: Progress { course.progress }

    public var retry: Retry? {
        if case .resting(let retry, _) = state { retry } else { nil }
    }

    /// It was told to stop and has not yet: a pause or a cancellation is not answered before it has.
    public var isSettled: Bool {
        if case .stopping = state { false } else { true }
    }
}
