import Platform
import Storage

/// The transfer of one file of a folder.
@Loop protocol FolderTransfer: StorageTask {
    /// Whether the transfer has a record, or had one before it ended. After a kill a recorded transfer resumes, and an
    /// unrecorded one restarts.
    var isRecorded: Bool { get }
    /// The number of transferred bytes.
    var completed: Int64 { get }
    /// Whether all bytes have arrived, so that only the disk delays the end.
    var isFinishing: Bool { get }
    var didProgress: (@Loop () -> Void)? { get set }
    /// Starts the transfer, or resumes it with the tokens of the client that resumed the folder.
    func begin(_ tokens: (any TokenSource)?, replacesNewer: Bool)
    /// Pauses a recorded transfer, and cancels an unrecorded one.
    func stop()
    /// How the transfer ended; nil while it runs, or is paused by a request.
    var end: FolderTransferEnd? { get }
}

/// How the transfer of one file of a folder ended.
enum FolderTransferEnd {
    case transferred(ObjectMetadata)
    case stopped
    /// The target has an object or a file that is newer than the folder's task.
    case superseded(StorageError)
    case failed(StorageError)
}

extension TransferTask: FolderTransfer {
    var isRecorded: Bool {
        switch recording {
        case .unrecorded: false
        case .recorded(let writer): writer.isKept
        case .ended(_, let wasRecorded): wasRecorded
        }
    }
    var completed: Int64 { machine.progress.completedUnitCount }

    func begin(_ tokens: (any TokenSource)?, replacesNewer: Bool) {
        if case .ready = machine.state { return start(replacesNewer: replacesNewer) }
        _ = resume(tokens: tokens, replacesNewer: replacesNewer)
    }

    func stop() { _ = isRecorded ? beginPause() : beginCancel() }

    var end: FolderTransferEnd? {
        switch machine.state {
        case .ended(.succeeded(let metadata)): .transferred(metadata)
        case .ended(.cancelled), .ended(.cancelledInDoubt): .stopped
        case .ended(.failed(let error)): .failed(error)
        case .paused: machine.pauseReason.map(FolderTransferEnd.superseded)
        case .ready, .queued, .working, .stopping, .resting: nil
        }
    }
}
