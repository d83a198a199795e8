import Platform
import Storage

/// The dependencies that all tasks of a service share.
final class TransferContext: Sendable {
    let backend: any Backend
    let engine: EngineProperties
    /// Nil without a task store: tasks end with the process.
    let ends: OutcomeRecorder?
    let limits: TransferLimits
    let time: TimeSource
    let random: RandomSource
    let log: TransferLog
    /// The uploads of clients, and those of tasks over folders.
    @Loop weak var uploads: TaskList<UploadTask>?
    @Loop weak var folderUploads: TaskList<UploadTask>?

    init(
        _ backend: any Backend, _ ends: OutcomeRecorder?, _ limits: TransferLimits, _ time: TimeSource,
        _ random: RandomSource, _ log: TransferLog
    ) {
        (self.backend, engine, self.ends, self.limits) = (backend, backend.properties, ends, limits)
        (self.time, self.random, self.log) = (time, random, log)
    }

    /// The error of a missing object says that its upload has not ended, if that is so.
    ///
    /// - Parameter task: the id of the task that has failed. It does not wait for itself.
    @Loop func explained(_ error: StorageError, of task: String? = nil) -> StorageError {
        guard error.code == .objectNotFound, let bucket = error.bucket, let object = error.object,
            let reference = try? Reference(bucket: bucket, object: object),
            let upload = uploads?.unfinishedTask(at: reference) ?? folderUploads?.unfinishedTask(at: reference),
            upload.id != task
        else { return error }
        return error.adding(upload.unfinishedSentence)
    }
}

extension UploadTask {
    /// A sentence for those who look for the object.
    fileprivate var unfinishedSentence: String {
        // Clients see no upload of a folder, and the id of one of the gateway is a secret with which any program can send
        // bytes.
        let id = list === context.uploads && origin != .gateway ? "task \(id)" : nil
        let (isPaused, progress) = (state == .paused, machine.progress)
        let done = progress.total == nil ? nil : "\(Int(progress.fractionCompleted * 100)) %"
        let about = [id, isPaused ? "paused" : nil, done].compactMap(\.self).joined(separator: ", ")
        let remedy = isPaused ? "resume it, and wait for it" : "wait for it"
        let how = about.isEmpty ? "" : " (\(about))"
        return "The upload of \(reference.url) has not ended\(how); \(remedy) first."
    }
}

/// Writes lines about tasks. The closure of a level that is not logged is nil.
public struct TransferLog: Sendable {
    let info: WriteLog?
    let debug: WriteLog?
    /// Nil without a trace.
    let changes: (@Sendable (TaskChange) -> Void)?

    /// - Parameters:
    ///   - info: logs the ends of tasks.
    ///   - debug: logs the retries of tasks.
    ///   - changes: traces the changes of tasks.
    public init(
        info: WriteLog? = nil, debug: WriteLog? = nil, changes: (@Sendable (TaskChange) -> Void)? = nil
    ) {
        (self.info, self.debug, self.changes) = (info, debug, changes)
    }
}
