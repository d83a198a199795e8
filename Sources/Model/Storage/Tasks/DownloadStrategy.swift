public typealias DownloadMachine = TaskMachine<DownloadStrategy>

/// A download: one step that fetches what is missing, repeated until all bytes have arrived.
///
/// Reports carry the progress. If the object has changed, it is fetched again from its first byte: the progress then
/// stays the same until more has arrived than before, but never exceeds the total.
public struct DownloadStrategy: TransferStrategy {
    public enum Step: Equatable, Sendable {
        case fetch
        /// Fetches the bytes before an offset of the object, and damages the first one, for a test. The engine answers
        /// `received` if the object has more bytes.
        case fetchPart(to: Int64, isDamaged: Bool)

        /// The offset at which the step ends; nil for a step that fetches all bytes.
        public var end: Int64? { if case .fetchPart(let end, _) = self { end } else { nil } }
        public var isDamaged: Bool { if case .fetchPart(_, let isDamaged) = self { isDamaged } else { false } }
    }

    public typealias Answer = DownloadAnswer

    public static let kind = TaskKind.download
    public static let persistInterval: Int64 = 1 << 20

    public static func isOpening(_ step: Step) -> Bool { false }

    public private(set) var progress = Progress.unknown
    /// The number of bytes before the wanted part of the object.
    private var skipped: Int64 = 0

    /// - Parameter progress: the bytes that an earlier process has fetched.
    public init(_ progress: Progress = .unknown) { self.progress = progress }

    public init(from offset: Int64) { skipped = offset }

    public var nextStep: Step { .fetch }

    public func stage(of step: Step) -> Retry.Stage { .download }

    public func outcome(of answer: Answer, to step: Step, wasStopped: Bool) -> StepOutcome {
        switch answer {
        case .completed(let metadata): .completed(metadata)
        case .received: .advanced
        case .superseded(let error): .paused(error)
        case .failed(let error): .failed(error)
        case .aborted: wasStopped ? .advanced : .failed(.unrequestedStop)
        }
    }

    public mutating func apply(_ answer: Answer, to step: Step, _ outcome: StepOutcome, took: Duration) -> Bool {
        if case .received(let progress) = answer { apply(progress) == .growth } else { false }
    }

    public mutating func apply(_ report: Progress) -> ProgressChange {
        let before = progress
        let total = max(report.totalUnitCount, 0)
        let completed = min(max(report.completedUnitCount, before.completedUnitCount), total)
        progress = Progress(completedUnitCount: completed, totalUnitCount: total)
        if completed > before.completedUnitCount { return .growth }
        return progress == before ? .none : .correction
    }

    public mutating func complete(_ metadata: ObjectMetadata) -> Bool {
        let before = progress
        let count = max(metadata.size - skipped, 0)
        progress = Progress(completedUnitCount: count, totalUnitCount: count)
        return progress != before
    }
}
