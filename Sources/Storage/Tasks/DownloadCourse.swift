/// The rules of one download: `DownloadCourse` in the skeleton of all tasks.
public typealias DownloadMachine = TaskMachine<DownloadCourse>

/// A download's way: one step, that fetches what is missing, again and again until all of it has arrived.
///
/// How far it is comes in reports. An object that has changed arrives from the first byte: what is shown then waits
/// until more has arrived than before, except that it is never more than there is in all.
public struct DownloadCourse: TaskCourse {
    public enum Step: Equatable, Sendable { case fetch }

    public typealias Answer = DownloadAnswer

    public static let kind = TaskKind.download
    public static let stepWorthKeeping: Int64 = 1 << 20

    public static func isOpening(_ step: Step) -> Bool { false }

    public private(set) var progress = Progress.unknown

    /// Begins with what arrived in an earlier process.
    public init(_ progress: Progress = .unknown) { self.progress = progress }

    public var nextStep: Step { .fetch }

    public func stage(of step: Step) -> Retry.Stage { .download }

    public func verdict(on answer: Answer, to step: Step, wasStopped: Bool) -> Verdict {
        switch answer {
        case .completed(let metadata): .completed(metadata)
        case .failed(let error): .failed(error)
        case .aborted: wasStopped ? .fine : .failed(.stoppedByItself)
        }
    }

    public mutating func learn(from answer: Answer, to step: Step, _ verdict: Verdict, took: Duration) -> Bool { false }

    public mutating func hear(_ report: Progress) -> News {
        let before = progress
        let total = max(report.totalUnitCount, 0)
        let completed = min(max(report.completedUnitCount, before.completedUnitCount), total)
        progress = Progress(completedUnitCount: completed, totalUnitCount: total)
        if completed > before.completedUnitCount { return .growth }
        return progress == before ? .nothing : .correction
    }

    public mutating func complete(_ metadata: ObjectMetadata) -> Bool {
        let before = progress
        progress = Progress(completedUnitCount: metadata.size, totalUnitCount: metadata.size)
        return progress != before
    }
}

extension TaskMachine where Course == DownloadCourse {
    /// `patience` is how long rests and failing steps may take in all without progress, `seed` what rests are drawn from.
    public init(patience: Duration = .seconds(600), seed: UInt64 = 0) {
        self.init(DownloadCourse(), patience: patience, seed: seed)
    }
}
