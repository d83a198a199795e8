import Platform
import Storage

extension Transfers {
    /// Whether nothing happens to any task.
    ///
    /// - Parameter steps: the number of steps in flight that wait.
    public func areIdle(waiting steps: Int) -> Bool {
        let inFlight = [
            uploads.stepsInFlight, downloads.stepsInFlight, tasks.folderUploads.stepsInFlight,
            tasks.folderDownloads.stepsInFlight, folders.stepsInFlight,
        ].compactMap(\.self)
        return readiness.isReady && inFlight.count == 5 && inFlight.reduce(0, +) == steps
    }
}

extension TaskList<FolderTask> {
    /// The number of requests to the engine that are no transfers: lists and deletions.
    public var operations: Int { tasks.values.reduce(0) { $0 + $1.operations } }
}

extension TaskList {
    /// The number of steps in flight; nil while a task is stopping or its state is being recorded.
    fileprivate var stepsInFlight: Int? {
        var steps = 0
        seeAll()
        for task in tasks.values {
            guard let count = task.stepsInFlight else { return nil }
            steps += count
        }
        return steps
    }
}

extension TransferTask {
    public var stepsInFlight: Int? { ownSteps.map { $0 + (stream?.fetchesApart ?? 0) } }

    private var ownSteps: Int? {
        switch machine.state {
        case .working: session?.waitsForItsClient == true ? 0 : 1
        case .ready, .queued, .resting: 0
        case .stopping: nil
        case .paused: recordWriter?.isWriting == true ? nil : 0
        case .ended: isTold ? 0 : nil
        }
    }
}

extension FolderTask {
    /// Transfers of files do not count, since they are tasks of their own.
    public var stepsInFlight: Int? {
        switch machine.state {
        case .working: work?.isWaiting == true ? 0 : nil
        case .stopping: nil
        case .ready, .paused: 0
        case .ended: isTold ? 0 : nil
        }
    }
}
