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
    /// The uploads of clients.
    @Loop weak var uploads: TaskList<UploadTask>?

    init(
        _ backend: any Backend, _ ends: OutcomeRecorder?, _ limits: TransferLimits, _ time: TimeSource,
        _ random: RandomSource, _ log: TransferLog
    ) {
        (self.backend, engine, self.ends, self.limits) = (backend, backend.properties, ends, limits)
        (self.time, self.random, self.log) = (time, random, log)
    }

    /// The error of a missing object says that its upload has not ended, if that is so.
    @Loop func explained(_ error: StorageError) -> StorageError {
        guard error.code == .objectNotFound, let sentence = uploads?.unfinishedUpload(of: error) else { return error }
        return error.adding(sentence)
    }
}

extension TaskList<UploadTask> {
    /// A sentence about the unfinished upload to the object of an error. Nil if there is none.
    fileprivate func unfinishedUpload(of error: StorageError) -> String? {
        guard let bucket = error.bucket, let object = error.object,
            let reference = try? Reference(bucket: bucket, object: object),
            let upload = tasks.values.first(where: { !$0.state.isFinished && $0.reference == reference })
        else { return nil }
        let (isPaused, progress) = (upload.state == .paused, upload.machine.progress)
        let done = progress.total == nil ? nil : "\(Int(progress.fractionCompleted * 100)) %"
        // The id of an upload of the gateway is a secret with which any program can send bytes.
        let id = upload.origin == .gateway ? nil : "task \(upload.id)"
        let about = [id, isPaused ? "paused" : nil, done].compactMap(\.self).joined(separator: ", ")
        let remedy = isPaused ? "resume it, and wait for it" : "wait for it"
        return "The upload of \(reference.url) has not ended (\(about)); \(remedy) first."
    }
}

/// Writes lines about tasks. The closure of a level that is not logged is nil.
public struct TransferLog: Sendable {
    let info: (@Sendable (String) -> Void)?
    let debug: (@Sendable (String) -> Void)?

    /// - Parameters:
    ///   - info: logs the ends of tasks.
    ///   - debug: logs the retries of tasks.
    public init(info: (@Sendable (String) -> Void)? = nil, debug: (@Sendable (String) -> Void)? = nil) {
        (self.info, self.debug) = (info, debug)
    }
}
