import Foundation

/// What happens to a task, and what an observer asks for.
public enum StorageTaskStatus: Int, Sendable {
    /// The service has not answered yet. No observer can ask for it.
    case unknown
    /// The task runs, or waits for its turn. Its event comes when it starts and when it continues.
    case resume
    /// Bytes were stored or have arrived.
    case progress
    /// The task is paused.
    case pause
    /// The task has succeeded. The last event.
    case success
    /// The task has failed or was cancelled. The last event.
    case failure

    init(_ status: StorageWire.Status) {
        switch status {
        case .resume: self = .resume
        case .progress: self = .progress
        case .pause: self = .pause
        case .success: self = .success
        case .failure: self = .failure
        }
    }

    var isEnd: Bool { self == .success || self == .failure }
}

/// What the service has sent about a task.
struct Report: Sendable {
    var status = StorageTaskStatus.unknown
    /// Nil before the first answer.
    var state: StorageWire.State?
    var completed: Int64 = 0
    var total: Int64 = 0
    /// All bytes of an object without bytes are stored or have arrived.
    var isEmpty = false
    var metadata: StorageWire.Metadata?
    var error: StorageError?
    var serviceError: StorageWire.StorageError?
    var retry: StorageWire.Retry?
    var folder: StorageWire.FolderSnapshot?

    init() {}

    init(_ snapshot: StorageWire.Snapshot) {
        (status, state) = (StorageTaskStatus(snapshot.status), snapshot.state)
        take(snapshot.progress)
        (metadata, retry, serviceError) = (snapshot.metadata, snapshot.retry, snapshot.error)
        error = snapshot.error.map { StorageError($0) }
    }

    init(_ snapshot: StorageWire.FolderSnapshot) {
        (status, state) = (StorageTaskStatus(snapshot.status), snapshot.state)
        take(snapshot.progress)
        (serviceError, folder) = (snapshot.error, snapshot)
        error = snapshot.error.map { StorageError($0) }
    }

    private mutating func take(_ progress: StorageWire.Progress) {
        (completed, total) = (progress.completedUnitCount, progress.totalUnitCount)
        isEmpty = total == 0 && progress.fractionCompleted == 1
    }

    func failed(_ error: StorageError) -> Report {
        var report = self
        (report.status, report.state, report.error) = (.failure, .failed, error)
        return report
    }
}

/// An upload, a download or a task over a folder. It continues without a reference to it.
///
/// Sound: all that changes is guarded by `lock`.
open class StorageTask: NSObject, @unchecked Sendable {
    /// The reference that the task was started with.
    let reference: StorageReference
    let lock = NSLock()
    /// The newest that the service has sent.
    var current = Report()

    init(reference: StorageReference) { self.reference = reference }

    /// The task as of the last message of the service. What `pause()`, `resume()` and `cancel()` cause shows when it has
    /// happened.
    public var snapshot: StorageTaskSnapshot {
        StorageTaskSnapshot(task: self, report: lock.withLock { current })
    }
}

/// The commands of a task, as a protocol.
public protocol StorageTaskManagement: NSObjectProtocol {
    /// Starts the task.
    func enqueue()
}

extension StorageTaskManagement {
    /// Pauses the task, if it can be paused.
    public var pause: (() -> Void)? { command { $0.pause() } }
    /// Cancels the task, if it can be cancelled.
    public var cancel: (() -> Void)? { command { $0.cancel() } }
    /// Continues the task, if it can be paused.
    public var resume: (() -> Void)? { command { $0.resume() } }

    private func command(_ body: @escaping (StorageObservableTask) -> Void) -> (() -> Void)? {
        (self as? StorageObservableTask).map { task in { body(task) } }
    }
}

/// A task at one moment. Sound: it does not change, and its progress is its own.
open class StorageTaskSnapshot: NSObject, @unchecked Sendable {
    /// The task.
    public let task: StorageTask
    /// Of an upload: what is being uploaded, and after success what is stored. Of a download: after success, what the
    /// object has.
    public let metadata: StorageMetadata?
    /// Where the task has its object.
    public let reference: StorageReference
    /// The bytes that are stored or have arrived, and all of them.
    public let progress: Progress?
    /// Why the task has failed: a `StorageError`.
    public let error: (any Error)?
    /// The event, or the state of the task as its event.
    public let status: StorageTaskStatus
    /// The error that the service has sent, with its message and its attempts.
    public let serviceError: StorageWire.StorageError?
    /// When the task is tried again after a failure, if it waits for that.
    public let retry: StorageWire.Retry?
    /// The state at the service. Nil before its first answer.
    public let state: StorageWire.State?
    /// What the service counts in a task over a folder.
    public let folder: StorageWire.FolderSnapshot?

    init(task: StorageTask, report: Report) {
        (self.task, reference, status, state) = (task, task.reference, report.status, report.state)
        let progress = report.isEmpty ? EmptyProgress.complete() : Progress(totalUnitCount: report.total)
        if !report.isEmpty { progress.completedUnitCount = report.completed }
        (self.progress, metadata) = (progress, report.metadata.map(StorageMetadata.init))
        (error, serviceError, retry, folder) = (report.error, report.serviceError, report.retry, report.folder)
    }

    /// The status, and what belongs to it.
    override open var description: String {
        switch status {
        case .unknown: "<State: Unknown>"
        case .resume: "<State: Resume>"
        case .progress: "<State: Progress, Progress: \(progress?.description ?? "nil")>"
        case .pause: "<State: Paused>"
        case .success: "<State: Success>"
        case .failure: "<State: Failed, Error: \(error.map { "\($0)" } ?? "nil")>"
        }
    }
}

/// The progress of an object without bytes: 0 of 0, and complete. `Progress` takes these counts for a total that is not known.
private final class EmptyProgress: Progress, @unchecked Sendable {
    #if canImport(ObjectiveC)
        override var fractionCompleted: Double { 1 }
        override var isFinished: Bool { true }
        override var isIndeterminate: Bool { false }
    #else
        // Where these cannot be overridden, they follow the counts that are set, 1 of 1, and not those of the service.
        override var totalUnitCount: Int64 {
            get { 0 }
            set { super.totalUnitCount = newValue }
        }
        override var completedUnitCount: Int64 {
            get { 0 }
            set { super.completedUnitCount = newValue }
        }
    #endif

    static func complete() -> EmptyProgress {
        #if canImport(ObjectiveC)
            return EmptyProgress(totalUnitCount: 0)
        #else
            let progress = EmptyProgress(totalUnitCount: 1)
            progress.completedUnitCount = 1
            return progress
        #endif
    }
}
