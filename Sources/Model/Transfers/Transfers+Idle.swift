import Platform
import Storage

extension Transfers {
    /// Whether nothing happens to any task, while so many of the steps in flight wait.
    public func areIdle(waiting steps: Int) -> Bool {
        let (up, down) = (uploads.stepsInFlight, downloads.stepsInFlight)
        let (folderUp, folderDown) = (tasks.folderUploads.stepsInFlight, tasks.folderDownloads.stepsInFlight)
        guard readiness.isReady, folders.areIdle, let up, let down, let folderUp, let folderDown else { return false }
        return up + down + folderUp + folderDown == steps
    }
}

extension TaskList {
    /// The number of steps in flight; nil while something else happens to a task.
    fileprivate var stepsInFlight: Int? {
        var steps = 0
        for task in tasks.values {
            guard let count = task.stepsInFlight else { return nil }
            steps += count
        }
        return steps
    }
}

extension TransferTask {
    fileprivate var stepsInFlight: Int? {
        switch machine.state {
        case .working: session?.waitsForItsClient == true ? 0 : 1
        case .ready, .queued, .resting: 0
        case .stopping: nil
        case .paused: recordWriter?.isWriting == true ? nil : 0
        case .ended: isTold ? 0 : nil
        }
    }
}
