/// The rules of one upload, without clocks, sockets or disks.
///
/// Feed it events in the order they happened and carry out the effects in the order returned,
/// each finished before the next. At most one step is in flight, ever; after a failure the engine
/// is asked where it is before anything is sent. Exactly one of success and failure is published, last.
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
        case resting(attempt: Int)
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

    public enum Event: Equatable, Sendable {
        case asked(Wish)
        /// It has a place now.
        case admitted
        case answered(Answer)
        case retryDue(attempt: Int)
    }

    /// What the user wants.
    public enum Wish: Equatable, Sendable, CaseIterable { case start, pause, resume, cancel }

    /// How the step in flight ended.
    public enum Answer: Equatable, Sendable {
        /// Every chunk but the last has to be a multiple of so many bytes.
        case opened(granularity: Int64 = ChunkSizes.granularity)
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        case failed(StorageError)
        /// The engine knows nothing of what was opened, any more.
        case forgotten(StorageError)
        case aborted
    }

    public enum Effect: Equatable, Sendable {
        /// Get in line for a place.
        case acquire
        /// Give the place back, or leave the line.
        case release
        case perform(Step)
        case abort
        case wake(attempt: Int, after: Duration)
        /// What was stored so far is not wanted any more.
        case discard
        case publish(Status)
    }

    /// In bytes.
    public let size: Int64
    public private(set) var state = State.ready
    /// Bytes that the engine has acknowledged; never goes back, even when the engine forgets some.
    public private(set) var acknowledged: Int64 = 0

    private let oneRequest: Bool
    private let chunks: ChunkSizes
    /// How long it may rest in all, after failures in a row, before it gives up.
    private let patience: Duration
    private var chunk: Int64
    private var offset: Int64 = 0
    private var isOpen = false
    private var offsetIsCertain = true
    private var failuresInARow = 0
    private var rested = Duration.zero

    public init(size: Int64, oneRequest: Bool = false, chunks: ChunkSizes, patience: Duration = .seconds(600)) {
        self.size = size
        self.oneRequest = oneRequest
        self.chunks = chunks
        self.patience = patience
        self.chunk = chunks.first
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .asked(.start): start()
        case .asked(.resume): resume()
        case .asked(.pause): pause()
        case .asked(.cancel): cancel()
        case .admitted: state == .queued ? [.publish(.resume)] + begin() : []
        case .answered(let answer): accept(answer)
        case .retryDue(let attempt): state == .resting(attempt: attempt) ? begin() : []
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
    private mutating func accept(_ answer: Answer) -> [Effect] {
        let stopping: Intent?
        switch state {
        case .working: stopping = nil
        case .stopping(_, let intent): stopping = intent
        case .ready, .queued, .resting, .paused, .ended: return []
        }
        if case .completed(let metadata) = answer { return succeed(metadata) }
        if stopping == .cancel { return end(.cancelled) }
        if case .failed(let error) = answer, !error.retryable { return end(.failed(error)) }
        if case .received(let offset) = answer, !(0...size).contains(offset) { return end(.failed(lie(offset))) }
        let news = learn(from: answer)
        if stopping == .pause { return news + turn(to: .paused, [.release, .publish(.pause)]) }
        if stopping == .goOn { return news + [.publish(.pause), .publish(.resume)] + begin() }
        if case .failed(let error) = answer { return rest(after: error) }
        return news + begin()
    }

    /// Takes in what the engine is known to have, and what is no longer certain.
    private mutating func learn(from answer: Answer) -> [Effect] {
        switch answer {
        case .opened:
            isOpen = true
        case .received(let offset):
            let asked = state.step == .query
            if !asked { chunk = chunk > chunks.largest / 2 ? chunks.largest : chunk * 2 }
            self.offset = offset
            offsetIsCertain = true
            failuresInARow = 0
            rested = .zero
            guard offset > acknowledged else { return [] }
            acknowledged = offset
            return [.publish(.progress)]
        case .failed, .forgotten, .aborted:
            offsetIsCertain = !isOpen
            chunk = chunks.first
        case .completed:
            break
        }
        return []
    }

    private mutating func succeed(_ metadata: ObjectMetadata) -> [Effect] {
        acknowledged = size
        return turn(to: .ended(.succeeded(metadata)), [.release, .publish(.progress), .publish(.success)])
    }

    private func lie(_ offset: Int64) -> StorageError {
        StorageError(.unknown, "The engine says that it has \(offset) bytes of an upload of \(size).")
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
        return .send(offset..<(size - offset > chunk ? offset + chunk : size))
    }

    private mutating func rest(after error: StorageError) -> [Effect] {
        let pause = Backoff.delay(afterFailures: failuresInARow)
        guard rested + pause <= patience else { return end(.failed(error.retriedTooOften)) }
        rested += pause
        failuresInARow += 1
        return turn(to: .resting(attempt: failuresInARow), [.wake(attempt: failuresInARow, after: pause)])
    }

    private mutating func end(_ outcome: Outcome) -> [Effect] {
        turn(to: .ended(outcome), [.discard, .release, .publish(.failure)])
    }

    private mutating func turn(to next: State, _ effects: [Effect] = []) -> [Effect] {
        state = next
        return effects
    }
}

extension UploadMachine.State {
    fileprivate var step: UploadMachine.Step? {
        switch self {
        case .working(let step), .stopping(let step, _): step
        case .ready, .queued, .resting, .paused, .ended: nil
        }
    }
}

extension StorageError {
    fileprivate var retriedTooOften: StorageError {
        var error = self
        error.code = .retryLimitExceeded
        error.message = "Max retry time for operation exceeded, please try again. The last failure: \(message)"
        return error
    }
}
