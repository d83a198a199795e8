import Platform
import Storage

/// The transfer of one file of a folder.
@Loop protocol FolderTransfer: AnyObject, Sendable {
    var id: String { get }
    /// Its task survives the process, or would have: it goes on where it was. Any other begins anew.
    var isRecorded: Bool { get }
    /// Bytes that are transferred.
    var completed: Int64 { get }
    var didProgress: (@Loop () -> Void)? { get set }
    /// Starts, or continues with the tokens of the client that has resumed the folder.
    func begin(_ tokens: (any TokenSource)?, replacesNewer: Bool)
    /// Ends the wait after a failure. False where there is none.
    func endRest() -> Bool
    /// Stops it: a recorded one is paused, any other cancelled.
    func stop()
    /// Cancels it, with the tokens of the folder, and returns when it has ended.
    func drop(_ tokens: (any TokenSource)?) async
    /// Returns when it is paused or has ended.
    func rested() async
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
    var isRecorded: Bool { recordWriter?.isKept ?? wasRecorded }
    var completed: Int64 { machine.progress.completedUnitCount }

    func begin(_ tokens: (any TokenSource)?, replacesNewer: Bool) {
        if case .ready = machine.state { return start(replacesNewer: replacesNewer) }
        _ = resume(tokens: tokens, replacesNewer: replacesNewer)
    }

    func stop() { _ = isRecorded ? beginPause() : beginCancel() }

    func drop(_ tokens: (any TokenSource)?) async { _ = try? await cancel(tokens: tokens) }

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
