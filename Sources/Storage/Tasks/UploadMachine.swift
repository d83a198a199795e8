/// The rules of one upload, without clocks, sockets or disks.
///
/// Feed it events in the order they happened and carry out the effects in the order returned,
/// each finished before the next. At most one step is in flight, ever; after a failure it rests, then
/// the engine is asked where it is before anything is sent. What it says is believed, but only bytes that
/// it never had before are progress, which alone renews patience. Exactly one of success and failure is
/// published, last.
///
///     ready ──▶ queued ──▶ working ──▶ ended
///                 ▲        │ ▲   │ ▲
///                 │        ▼ │   ▼ │
///               paused ◀── stopping resting
public struct UploadMachine: Equatable, Sendable {
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

    public enum Step: Equatable, Sendable {
        /// Everything in one request.
        case sendWhole
        case open
        case query
        /// The one that ends at the size finishes the upload, even when it is empty.
        case send(Range<Int64>)
    }

    public enum Intent: Equatable, Sendable { case pause, goOn, cancel }

    public enum Outcome: Equatable, Sendable {
        case succeeded(ObjectMetadata)
        case cancelled
        case failed(StorageError)
    }

    /// In bytes.
    public let size: Int64
    public private(set) var state = State.ready
    /// Bytes that the engine has acknowledged; never goes back, even when the engine forgets some.
    public private(set) var acknowledged: Int64 = 0

    private let oneRequest: Bool
    private var chunk: NextChunk
    private var patience: Patience
    private var offset: Int64 = 0
    private var isOpen = false
    private var offsetIsCertain = true
    /// What had been acknowledged when the engine forgot it.
    private var acknowledgedBeforeForgotten: Int64?

    /// `patience` is how long rests and failing steps may take in all without progress, `seed` what rests are drawn from.
    public init(
        size: Int64, oneRequest: Bool = false, chunks: ChunkSizes, patience: Duration = .seconds(600), seed: UInt64 = 0
    ) {
        self.size = size
        self.oneRequest = oneRequest
        self.chunk = NextChunk(chunks)
        self.patience = Patience(limit: patience, seed: seed)
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .asked(.start): start()
        case .asked(.resume): resume()
        case .asked(.pause): pause()
        case .asked(.cancel): cancel()
        case .admitted: state == .queued ? [.publish(.resume)] + begin() : []
        case .answered(let answer, let took, let time): accept(answer, took, time)
        case .retryDue(let attempt): retry(attempt)
        }
    }
}

// MARK: - Wishes

extension UploadMachine {
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
        case .paused: turn(to: .queued, [.acquire])
        case .stopping(let step, .pause): turn(to: .stopping(step, then: .goOn))
        case .ready, .queued, .working, .stopping, .resting, .ended: []
        }
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

extension UploadMachine {
    private mutating func accept(_ answer: Answer, _ took: Duration, _ time: Timestamp) -> [Effect] {
        let step: Step, stopping: Intent?
        switch state {
        case .working(let inFlight): (step, stopping) = (inFlight, nil)
        case .stopping(let inFlight, let intent): (step, stopping) = (inFlight, intent)
        case .ready, .queued, .resting, .paused, .ended: return []
        }
        let answer = judged(answer, to: step, wasStopped: stopping != nil)
        if case .completed(let metadata) = answer { return succeed(metadata) }
        if stopping == .cancel { return end(.cancelled) }
        if let error = final(answer) { return end(.failed(error)) }
        let news = learn(from: answer, to: step, took, time)
        if stopping == .pause { return news + turn(to: .paused, [.release, .publish(.pause)]) }
        if stopping == .goOn { return news + [.publish(.pause), .publish(.resume)] + begin() }
        if case .failed(let error) = answer { return rest(after: error, of: step, time) }
        return news + begin()
    }

    /// The answer, or the failure that it amounts to: no step that led nowhere is simply done again.
    private func judged(_ answer: Answer, to step: Step, wasStopped: Bool) -> Answer {
        switch (answer, step) {
        case (.completed, _), (.failed, _), (.opened, .open), (.forgotten, .query), (.forgotten, .send): answer
        case (.forgotten(let error), .open), (.forgotten(let error), .sendWhole): .failed(error)
        case (.aborted, _): wasStopped ? answer : .failed(.stoppedByItself)
        case (.received(let offset), .query): (0...size).contains(offset) ? answer : .failed(.lie(offset, of: size))
        case (.received(let offset), .send(let range)):
            if !(0...size).contains(offset) {
                .failed(.lie(offset, of: size))
            } else {
                offset > range.lowerBound || wasStopped ? answer : .failed(.tookNone(of: range))
            }
        case (.opened, _), (.received, _): .failed(.besideThePoint)
        }
    }

    /// The error that an answer ends the upload with. What is forgotten again before there was progress stays so.
    private func final(_ answer: Answer) -> StorageError? {
        switch answer {
        case .failed(let error): error.retryable ? nil : error
        case .forgotten(let error): acknowledgedBeforeForgotten == acknowledged ? error : nil
        case .opened, .received, .completed, .aborted: nil
        }
    }

    /// Takes in what the engine is known to have, and what is no longer certain.
    private mutating func learn(
        from answer: Answer, to step: Step, _ took: Duration, _ time: Timestamp
    ) -> [Effect] {
        switch answer {
        case .opened(let granularity):
            isOpen = true
            chunk.align(to: granularity)
        case .received(let offset):
            if case .send(let range) = step, offset == range.upperBound, range.length == chunk.size {
                chunk.adapt(toFullChunkIn: took)
            }
            return believe(offset)
        case .failed(let error):
            patience.note(error, took: took, at: time, completed: acknowledged)
            doubt()
        case .forgotten(let error):
            patience.note(error, took: took, at: time, completed: acknowledged)
            (isOpen, offset, acknowledgedBeforeForgotten) = (false, 0, acknowledged)
            doubt()
        case .aborted:
            doubt()
        case .completed:
            break
        }
        return []
    }

    private mutating func believe(_ offset: Int64) -> [Effect] {
        self.offset = offset
        offsetIsCertain = true
        guard offset > acknowledged else { return [] }
        acknowledged = offset
        patience.renew()
        return [.publish(.progress)]
    }

    private mutating func doubt() {
        offsetIsCertain = !isOpen
        chunk.startAnew()
    }

    private mutating func succeed(_ metadata: ObjectMetadata) -> [Effect] {
        acknowledged = size
        patience.renew()
        return turn(to: .ended(.succeeded(metadata)), [.release, .publish(.progress), .publish(.success)])
    }
}

// MARK: - Steps

extension UploadMachine {
    private mutating func begin() -> [Effect] {
        let step = nextStep
        return turn(to: .working(step), [.perform(step)])
    }

    private var nextStep: Step {
        if oneRequest { return .sendWhole }
        if !isOpen { return .open }
        if !offsetIsCertain { return .query }
        return .send(offset..<(size - offset > chunk.size ? offset + chunk.size : size))
    }

    private mutating func rest(after error: StorageError, of step: Step, _ time: Timestamp) -> [Effect] {
        guard let pause = patience.nextRest(atLeast: error.retryAfter) else {
            return end(.failed(error.retriedTooOften(patience.attempts)))
        }
        let retry = Retry(
            attempt: patience.retries, of: stage(of: step), at: time.advanced(by: pause), error: error)
        return turn(to: .resting(retry, for: pause), [.wake(attempt: retry.attempt, after: pause)])
    }

    private mutating func retry(_ attempt: Int) -> [Effect] {
        guard case .resting(let retry, let pause) = state, retry.attempt == attempt else { return [] }
        patience.rested(pause)
        return begin()
    }

    private mutating func end(_ outcome: Outcome) -> [Effect] {
        patience.renew()
        return turn(to: .ended(outcome), [.discard, .release, .publish(.failure)])
    }

    private mutating func turn(to next: State, _ effects: [Effect] = []) -> [Effect] {
        state = next
        return effects
    }
}

extension Range<Int64> {
    fileprivate var length: Int64 { upperBound - lowerBound }
}
