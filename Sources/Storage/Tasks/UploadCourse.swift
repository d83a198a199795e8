/// The rules of one upload: `UploadCourse` in the skeleton of all tasks.
public typealias UploadMachine = TaskMachine<UploadCourse>

/// An upload's way: one request, or an opening and one chunk after the other.
///
/// After a failure the engine is asked where it is before anything is sent. What it says is believed, but only bytes
/// that it never had before are progress.
public struct UploadCourse: TaskCourse {
    public enum Step: Equatable, Sendable {
        /// Everything in one request.
        case sendWhole
        case open
        case query
        /// The one that ends at the size finishes the upload, even when it is empty.
        case send(Range<Int64>)
    }

    public enum Answer: Equatable, Sendable {
        /// Every chunk but the last has to be a multiple of so many bytes.
        case opened(granularity: Int64 = 1)
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        case failed(StorageError)
        /// The engine knows nothing of what was opened, any more.
        case forgotten(StorageError)
        /// An object was stored since the task began, which this upload may not replace by itself.
        case superseded(StorageError)
        case aborted
    }

    public static let kind = TaskKind.upload
    /// Every acknowledgement.
    public static let stepWorthKeeping: Int64 = 1

    public static func isOpening(_ step: Step) -> Bool { step == .open }

    /// In bytes.
    public let size: Int64
    /// False where the source could not be looked at.
    public var sizeIsKnown = true
    /// Bytes that the engine has acknowledged; never goes back, even when the engine forgets some.
    public private(set) var acknowledged: Int64 = 0

    /// Everything goes in one request.
    public let isWhole: Bool
    private var chunk: NextChunk
    private var offset: Int64 = 0
    private var isOpen = false
    private var offsetIsCertain = true
    /// What had been acknowledged when the engine forgot it.
    private var acknowledgedBeforeForgotten: Int64?

    public init(size: Int64, oneRequest: Bool = false, chunks: ChunkSizes) {
        self.size = size
        isWhole = oneRequest
        self.chunk = NextChunk(chunks)
    }

    /// As an earlier process left it: with so many bytes acknowledged, and perhaps opened.
    public func restored(acknowledged: Int64, isOpen: Bool) -> UploadCourse {
        var course = self
        course.acknowledged = min(max(acknowledged, 0), max(size, 0))
        course.isOpen = isOpen
        course.offsetIsCertain = !isOpen
        return course
    }

    public var progress: Progress {
        sizeIsKnown ? Progress(completedUnitCount: acknowledged, totalUnitCount: size) : .unknown
    }

    public var nextStep: Step {
        if isWhole { return .sendWhole }
        if !isOpen { return .open }
        if !offsetIsCertain { return .query }
        return .send(offset..<(size - offset > chunk.size ? offset + chunk.size : size))
    }

    public func stage(of step: Step) -> Retry.Stage {
        switch step {
        case .open: .start
        case .query: .query
        case .send(let range) where range.upperBound == size: .finalize
        case .sendWhole, .send: .upload
        }
    }
}

// MARK: - Answers

extension UploadCourse {
    public func verdict(on answer: Answer, to step: Step, wasStopped: Bool) -> Verdict {
        switch (answer, step) {
        case (.completed(let metadata), _): .completed(metadata)
        case (.failed(let error), _): .failed(error)
        case (.superseded(let error), _): .held(error)
        case (.opened, .open): .fine
        // What is forgotten again before there was progress stays so.
        case (.forgotten(let error), .query), (.forgotten(let error), .send):
            acknowledgedBeforeForgotten == acknowledged ? .over(error) : .lost(error)
        case (.forgotten(let error), .open), (.forgotten(let error), .sendWhole): .failed(error)
        case (.aborted, _): wasStopped ? .fine : .failed(.stoppedByItself)
        case (.received(let offset), .query), (.received(let offset), .send):
            verdict(on: offset, step, wasStopped)
        case (.opened, _), (.received, _): .failed(.besideThePoint)
        }
    }

    private func verdict(on offset: Int64, _ step: Step, _ wasStopped: Bool) -> Verdict {
        guard (0...size).contains(offset) else { return .failed(.lie(offset, of: size)) }
        guard case .send(let range) = step, offset <= range.lowerBound, !wasStopped else { return .fine }
        return .failed(.tookNone(of: range))
    }

    public mutating func learn(from answer: Answer, to step: Step, _ verdict: Verdict, took: Duration) -> Bool {
        switch (verdict, answer) {
        case (.fine, .opened(let granularity)):
            isOpen = true
            chunk.align(to: granularity)
        case (.fine, .received(let offset)):
            if case .send(let range) = step, offset == range.upperBound, range.length == chunk.size {
                chunk.adapt(toFullChunkIn: took)
            }
            return believe(offset)
        case (.lost, _):
            (isOpen, offset, acknowledgedBeforeForgotten) = (false, 0, acknowledged)
            doubt()
        case (.fine, _), (.failed, _), (.over, _), (.held, _), (.completed, _):
            doubt()
        }
        return false
    }

    /// Its answers say all that there is to know.
    public mutating func hear(_ report: Progress) -> News { .nothing }

    public mutating func complete(_ metadata: ObjectMetadata) -> Bool {
        acknowledged = size
        return true
    }

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

extension TaskMachine where Course == UploadCourse {
    /// `patience` is how long rests and failing steps may take in all without progress, `seed` what rests are drawn from.
    public init(
        size: Int64, oneRequest: Bool = false, chunks: ChunkSizes, patience: Duration = .seconds(600), seed: UInt64 = 0
    ) {
        self.init(UploadCourse(size: size, oneRequest: oneRequest, chunks: chunks), patience: patience, seed: seed)
    }

    /// In bytes.
    public var size: Int64 { course.size }
    public var acknowledged: Int64 { course.acknowledged }
}

extension Range<Int64> {
    fileprivate var length: Int64 { upperBound - lowerBound }
}
