import Platform

public typealias UploadMachine = TaskMachine<UploadStrategy>

/// An upload: in one request, or in a session with one chunk at a time.
///
/// After a failure the engine is asked for its offset before anything is sent. The offset may decrease, but only bytes
/// that the engine never had before count as progress.
///
/// A step that was stopped or has failed after all bytes were sent is in doubt: the object may be stored, now or later.
/// The next step resolves the doubt; if the upload is cancelled, the step is `settle`.
public struct UploadStrategy: TransferStrategy {
    public enum Step: Equatable, Sendable {
        case sendWhole
        case open
        case query
        /// The chunk that ends at the size of the object finishes the upload, even if it is empty.
        case send(Range<Int64>)
        /// Finds out whether a request without an answer has stored the object, and prevents that if the engine can.
        case settle
        /// Compares bytes that a client sends again with those that the engine has. Only `IncomingUpload` asks for it.
        case compare(Range<Int64>)
    }

    /// Boxed, since it passes through many closures.
    public indirect enum Answer: TransferAnswer {
        /// Every chunk except the last must end at a multiple of `granularity`. `size` is the size of the copied
        /// object.
        case opened(granularity: Int64 = 1, size: Int64? = nil)
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        case failed(StorageError)
        /// The step was stopped or has failed, and the engine may have stored the object, or may still store it.
        case unsettled(StorageError)
        /// The engine has lost the session.
        case forgotten(StorageError)
        /// An object is newer than the task, and a task of an earlier process may not replace it without a client's
        /// request.
        case superseded(StorageError)
        case aborted

        public var failure: StorageError? { if case .failed(let error) = self { error } else { nil } }
    }

    public static let kind = TaskKind.upload
    /// Records every acknowledgement.
    public static let persistInterval: Int64 = 1

    public static func isOpening(_ step: Step) -> Bool { step == .open }

    /// Nil while the source has not been inspected, its client has not announced the size, or the engine has not looked
    /// up the object that it copies.
    public private(set) var size: Int64?
    /// The number of acknowledged bytes; never decreases, even if the engine loses some.
    public private(set) var acknowledged: Int64 = 0

    /// All bytes are sent in one request.
    public private(set) var isWhole: Bool
    private var chunk: NextChunk
    private var offset: Int64 = 0
    private var isOpen = false
    private var offsetIsCertain = true
    private var isInDoubt = false
    /// The number of acknowledged bytes when the engine lost the session.
    private var acknowledgedBeforeForgotten: Int64?

    public init(size: Int64?, oneRequest: Bool = false, chunks: ChunkSizes) {
        self.size = size
        isWhole = oneRequest
        self.chunk = NextChunk(chunks)
    }

    /// The strategy of an upload that an earlier process has begun: with acknowledged bytes, and perhaps an open
    /// session.
    public func restored(acknowledged: Int64, isOpen: Bool) -> UploadStrategy {
        var strategy = self
        strategy.acknowledged = max(min(acknowledged, size ?? acknowledged), 0)
        (strategy.isOpen, strategy.isWhole) = (isOpen, isWhole && !isOpen)
        strategy.offsetIsCertain = !isOpen
        return strategy
    }

    public var progress: Progress { Progress(completedUnitCount: acknowledged, total: size) }

    public var nextStep: Step {
        if isWhole { return .sendWhole }
        if !isOpen { return .open }
        if !offsetIsCertain { return .query }
        let end = offset.addingSaturated(chunk.size)
        return .send(offset..<min(size ?? end, end))
    }

    public func stage(of step: Step) -> Retry.Stage {
        switch step {
        case .open: .start
        case .query, .settle, .compare: .query
        case .send(let range) where range.upperBound == size: .finalize
        case .sendWhole, .send: .upload
        }
    }

    // MARK: - Answers

    public func outcome(of answer: Answer, to step: Step, wasStopped: Bool) -> StepOutcome {
        switch (answer, step) {
        case (.completed(let metadata), _): .completed(metadata)
        case (.failed(let error), _): .failed(error)
        case (.unsettled(let error), _): wasStopped ? .advanced : .failed(error)
        case (.superseded(let error), _): .paused(error)
        case (.opened, .open): .advanced
        // A session that is lost a second time without progress is not reopened.
        case (.forgotten(let error), .query), (.forgotten(let error), .send):
            acknowledgedBeforeForgotten == acknowledged ? .fatal(error) : .lost(error)
        case (.forgotten(let error), .open), (.forgotten(let error), .sendWhole), (.forgotten(let error), .settle),
            (.forgotten(let error), .compare):
            .failed(error)
        case (.aborted, _): wasStopped ? .advanced : .failed(.unrequestedStop)
        case (.received(let offset), .query), (.received(let offset), .send): outcome(of: offset, step, wasStopped)
        case (.opened, _), (.received, _): .failed(.unexpectedAnswer)
        }
    }

    private func outcome(of offset: Int64, _ step: Step, _ wasStopped: Bool) -> StepOutcome {
        guard offset >= 0, offset <= size ?? offset else { return .failed(.impossibleOffset(offset, of: size)) }
        guard case .send(let range) = step, offset <= range.lowerBound, !wasStopped else { return .advanced }
        return .failed(.noneReceived(of: range))
    }

    public mutating func apply(_ answer: Answer, to step: Step, _ outcome: StepOutcome, took: Duration) -> Bool {
        switch (outcome, answer) {
        case (.advanced, .opened(let granularity, let found)):
            isOpen = true
            chunk.align(to: granularity)
            if let found { know(found) }
        case (.advanced, .received(let offset)):
            if case .send(let range) = step, offset == range.upperBound, range.length == chunk.size {
                chunk.adapt(toFullChunkIn: took)
            }
            return believe(offset)
        case (.lost, _):
            (isOpen, offset, acknowledgedBeforeForgotten) = (false, 0, acknowledged)
            doubt()
        case (.advanced, _), (.failed, _), (.fatal, _), (.paused, _), (.completed, _): doubt()
        }
        return false
    }

    /// Uploads have no reports: answers carry the progress.
    public mutating func apply(_ report: Progress) -> ProgressChange { .none }

    public mutating func complete(_ metadata: ObjectMetadata) -> Bool {
        acknowledged = metadata.size
        know(metadata.size)
        return true
    }

    /// Sets the size of the copied object.
    public mutating func know(_ found: Int64) {
        size = found
        acknowledged = min(acknowledged, found)
    }

    public mutating func noteDoubt(_ answer: Answer, to step: Step) {
        switch answer {
        case .unsettled: isInDoubt = true
        case .completed, .opened, .received, .forgotten: isInDoubt = false
        case .aborted, .failed: if step == .settle { isInDoubt = false }
        case .superseded: break
        }
    }

    public var settlingStep: Step? { isInDoubt ? .settle : nil }

    private mutating func believe(_ offset: Int64) -> Bool {
        self.offset = offset
        offsetIsCertain = true
        guard offset > acknowledged else { return false }
        acknowledged = offset
        return true
    }

    private mutating func doubt() {
        offsetIsCertain = !isOpen
        chunk.startAnew()
    }
}

extension Range<Int64> {
    fileprivate var length: Int64 { upperBound - lowerBound }
}
