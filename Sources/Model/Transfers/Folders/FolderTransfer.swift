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
    func start()
    /// Goes on, with the tokens of the client that resumes the folder.
    func goOn(_ tokens: (any TokenSource)?, replacesNewer: Bool)
    /// Ends the wait after a failure. False where there is none.
    func endRest() -> Bool
    /// Stops it: a recorded one is paused, any other cancelled.
    func stop()
    /// Cancels it, and returns when it has ended.
    func drop() async
    /// Returns when it is paused or has ended.
    func rested() async
    /// Nil while it is paused by a request.
    var end: FolderTransferEnd? { get }
}

enum FolderTransferEnd {
    case transferred(size: Int64)
    case stopped
    case failed(StorageError)
}

extension TransferTask: FolderTransfer {
    var isRecorded: Bool { recordWriter?.isKept ?? wasRecorded }
    var completed: Int64 { machine.progress.completedUnitCount }

    func goOn(_ tokens: (any TokenSource)?, replacesNewer: Bool) {
        _ = resume(tokens: tokens, replacesNewer: replacesNewer)
    }

    func stop() { _ = isRecorded ? beginPause() : beginCancel() }

    func drop() async { _ = try? await cancel() }

    var end: FolderTransferEnd? {
        switch machine.state {
        case .ended(.succeeded(let metadata)): .transferred(size: metadata.size)
        case .ended(.cancelled), .ended(.cancelledInDoubt): .stopped
        case .ended(.failed(let error)): .failed(error)
        case .paused: machine.pauseReason.map(FolderTransferEnd.failed)
        case .ready, .queued, .working, .stopping, .resting: nil
        }
    }
}
