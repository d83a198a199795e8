import Platform
import Storage

/// The transfer of one file of a folder.
@Loop protocol FolderTransfer: StorageTask {
    /// Its task survives the process, or would have: it goes on where it was. Any other begins anew.
    var isRecorded: Bool { get }
    /// Bytes that are transferred.
    var completed: Int64 { get }
    var didProgress: (@Loop () -> Void)? { get set }
    /// Starts, or continues with the tokens of the client that has resumed the folder.
    func begin(_ tokens: (any TokenSource)?, replacesNewer: Bool)
    /// Stops it: a recorded one is paused, any other cancelled.
    func stop()
    /// Nil while it is paused by a request.
    var end: FolderTransferEnd? { get }
}

enum FolderTransferEnd {
    case transferred(size: Int64)
    case stopped
    /// What is at its target is newer than the folder's task.
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
        case .ended(.succeeded(let metadata)): .transferred(size: metadata.size)
        case .ended(.cancelled), .ended(.cancelledInDoubt): .stopped
        case .ended(.failed(let error)): .failed(error)
        case .paused: machine.pauseReason.map(FolderTransferEnd.superseded)
        case .ready, .queued, .working, .stopping, .resting: nil
        }
    }
}
