/// The rules of one upload or download, without clocks, sockets or disks.
///
/// Feed it events in the order in which they happened, and carry out the effects in the order in which they are returned,
/// each one to its end before the next. At most one step is in flight. The strategy decides which step comes next, and
/// what the engine's answer means. After a failure the machine waits (`resting`), then retries; both are published as
/// progress. Only new bytes renew the retry budget. Exactly one of success and failure is published, last.
///
///     ready ──▶ queued ──▶ working ──▶ ended
///                 ▲        │ ▲   │ ▲
///                 │        ▼ │   ▼ │
///               paused ◀── stopping resting
public struct TaskMachine<Strategy: TransferStrategy>: ControlledMachine {
    public enum State: Equatable, Sendable {
        case ready
        /// The task waits for the concurrency limiter.
        case queued
        case working(Step)
        /// The step is being aborted; the next transition happens when it has ended.
        case stopping(Step, then: Intent)
        /// The last step failed; the task retries after this delay.
        indirect case resting(Retry, for: Duration)
        case paused
        case ended(Outcome)
    }

    public typealias Step = Strategy.Step
    public typealias Answer = Strategy.Answer

    public enum Intent: Equatable, Sendable { case pause, resume, cancel }

    public typealias Outcome = TaskOutcome

    public private(set) var state = State.ready
    private(set) var strategy: Strategy
    private var retryBudget: RetryBudget
    /// Why the task was paused without a request of a client.
    @Boxed public private(set) var pauseReason: StorageError? = nil
    /// When the step in flight last made progress, measured from its start.
    private var lastProgress = Duration.zero

    /// `retryTime` limits the time of delays and failing steps without progress; `seed` determines the random delays.
    public init(_ strategy: Strategy, retryTime: Duration = .seconds(600), seed: UInt64 = 0) {
        self.strategy = strategy
        retryBudget = RetryBudget(limit: retryTime, seed: seed)
    }

    /// An unfinished task of an earlier process; it waits for `resume`.
    public init(restored strategy: Strategy, retryTime: Duration = .seconds(600), seed: UInt64 = 0) {
        self.init(strategy, retryTime: retryTime, seed: seed)
        state = .paused
    }

    /// A task that ended in an earlier process.
    public init(_ strategy: Strategy, ended outcome: Outcome) {
        self.init(strategy)
        state = .ended(outcome.bounded)
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .requested(.start): start()
        case .requested(.resume): resume()
        case .requested(.pause): pause()
        case .requested(.cancel): cancel()
        case .requested(.retry): endRest()
        case .admitted: state == .queued ? [.publish(.resume)] + begin() : []
        case .reported(let progress, let took): apply(progress, took)
        case .answered(let answer, let took, let time): accept(answer, took, time)
        case .retryDue(let attempt): retry(attempt)
        }
    }

    // MARK: - Controls

    /// A second pause joins the first while that is in progress.
    public func allows(_ control: Control) -> Bool {
        switch (control, state) {
        case (_, .ended): false
        case (.cancel, _): true
        case (.start, .ready): true
        case (.pause, .paused), (.pause, .stopping(_, .cancel)): false
        case (.pause, _): true
        case (.resume, .paused), (.resume, .stopping(_, .pause)): true
        case (.retry, .resting): true
        case (.start, _), (.resume, _), (.retry, _): false
        }
    }

    private mutating func start() -> [Effect] { state == .ready ? turn(to: .queued, [.acquire]) : [] }

    private mutating func resume() -> [Effect] {
        switch state {
        case .paused: queueAgain()
        case .stopping(let step, .pause): turn(to: .stopping(step, then: .resume))
        case .ready, .queued, .working, .stopping, .resting, .ended: []
        }
    }

    private mutating func queueAgain() -> [Effect] {
        pauseReason = nil
        return turn(to: .queued, [.acquire])
    }

    private mutating func pause() -> [Effect] {
        switch state {
        case .working(let step): turn(to: .stopping(step, then: .pause), [.abort])
        case .stopping(let step, .resume): turn(to: .stopping(step, then: .pause))
        case .ready, .queued, .resting: turn(to: .paused, [.release, .publish(.pause)])
        case .stopping, .paused, .ended: []
        }
    }

    private mutating func cancel() -> [Effect] {
        switch state {
        case .working(let step): turn(to: .stopping(step, then: .cancel), [.abort])
        case .stopping(let step, _): turn(to: .stopping(step, then: .cancel))
        case .ready, .queued, .resting, .paused: endCancelled()
        case .ended: []
        }
    }

    /// Ends the cancelled task once the machine knows that no object is stored, or that this cannot be known.
    private mutating func endCancelled(after step: Step? = nil) -> [Effect] {
        guard let settling = strategy.settlingStep else { return end(.cancelled) }
        if step == settling { return end(.cancelledInDoubt) }
        return turn(to: .stopping(settling, then: .cancel), [.perform(settling)])
    }

    /// Ends the delay before a retry. Like a delay that a pause ends, it does not use up the retry budget.
    private mutating func endRest() -> [Effect] { retry == nil ? [] : [.publish(.progress)] + begin() }

    // MARK: - Answers

    /// The step in flight, and the intent after it if it is being stopped.
    private var inFlight: (step: Step, stopping: Intent?)? {
        switch state {
        case .working(let step): (step, nil)
        case .stopping(let step, let intent): (step, intent)
        case .ready, .queued, .resting, .paused, .ended: nil
        }
    }

    private mutating func apply(_ progress: Progress, _ took: Duration) -> [Effect] {
        guard let inFlight, inFlight.stopping != .cancel else { return [] }
        switch strategy.apply(progress) {
        case .none: return []
        case .correction: return [.publish(.progress)]
        case .growth:
            lastProgress = took
            retryBudget.renew()
            return [.publish(.progress)]
        }
    }

    private mutating func accept(_ answer: Answer, _ took: Duration, _ time: Timestamp) -> [Effect] {
        guard let (step, stopping) = inFlight else { return [] }
        strategy.noteDoubt(answer, to: step)
        let outcome = strategy.outcome(of: answer, to: step, wasStopped: stopping != nil)
        if case .completed(let metadata) = outcome { return succeed(metadata) }
        if stopping == .cancel { return endCancelled(after: step) }
        if let error = outcome.lastError { return end(.failed(error)) }
        if let error = outcome.error {
            retryBudget.note(error, took: took - lastProgress, at: time, completed: progress.completedUnitCount)
        }
        let effects = apply(answer, to: step, outcome, took)
        if case .paused(let error) = outcome, stopping != .resume {
            pauseReason = error
            return effects + turn(to: .paused, [.release, .publish(.pause)])
        }
        if stopping == .pause { return effects + turn(to: .paused, [.release, .publish(.pause)]) }
        if stopping == .resume { return effects + [.publish(.pause), .publish(.resume)] + begin() }
        if case .failed(let error) = outcome { return rest(after: error, of: step, time) }
        return effects + begin()
    }

    private mutating func apply(_ answer: Answer, to step: Step, _ outcome: StepOutcome, _ took: Duration) -> [Effect] {
        guard strategy.apply(answer, to: step, outcome, took: took) else { return [] }
        retryBudget.renew()
        return [.publish(.progress)]
    }

    private mutating func succeed(_ metadata: ObjectMetadata) -> [Effect] {
        let last: [Effect] = strategy.complete(metadata) ? [.publish(.progress)] : []
        return finish(.succeeded(metadata), [.release] + last + [.publish(.success)])
    }

    // MARK: - Steps

    private mutating func begin() -> [Effect] {
        lastProgress = .zero
        let step = strategy.nextStep
        return turn(to: .working(step), [.perform(step)])
    }

    private mutating func rest(after error: StorageError, of step: Step, _ time: Timestamp) -> [Effect] {
        guard let pause = retryBudget.nextRest(atLeast: error.retryAfter) else {
            return end(.failed(error.retriedTooOften(retryBudget.attempts)))
        }
        let retry = Retry(
            attempt: retryBudget.retries, of: strategy.stage(of: step), at: time.advanced(by: pause), error: error)
        return turn(
            to: .resting(retry, for: pause), [.publish(.progress), .wake(attempt: retry.attempt, after: pause)])
    }

    private mutating func retry(_ attempt: Int) -> [Effect] {
        guard case .resting(let retry, let pause) = state, retry.attempt == attempt else { return [] }
        retryBudget.rested(pause)
        return [.publish(.progress)] + begin()
    }

    private mutating func end(_ outcome: Outcome) -> [Effect] {
        finish(outcome, [.discard, .release, .publish(.failure)])
    }

    /// Ends the task, and drops all state that the snapshot does not show.
    private mutating func finish(_ outcome: Outcome, _ effects: [Effect]) -> [Effect] {
        retryBudget.renew()
        pauseReason = nil
        return turn(to: .ended(outcome.bounded), effects)
    }

    private mutating func turn(to next: State, _ effects: [Effect] = []) -> [Effect] {
        state = next
        return effects
    }

    // MARK: - Public state

    public var taskState: TaskState {
        switch state {
        case .ready, .queued: .queued
        case .working, .stopping, .resting: .running
        case .paused: .paused
        case .ended(.succeeded): .success
        case .ended(.cancelled), .ended(.cancelledInDoubt): .cancelled
        case .ended(.failed): .failed
        }
    }

    public var progress: Progress { strategy.progress }

    public var retry: Retry? {
        if case .resting(let retry, _) = state { retry } else { nil }
    }

    public var isSettled: Bool {
        if case .stopping = state { false } else { true }
    }
}
