import Platform
import Storage

/// What happens to unfinished tasks of an earlier process. Those of other endpoints stay as they are.
public enum UnfinishedTasks: String, CaseIterable, Sendable {
    /// They continue, unless they need a client's own tokens.
    case resume
    case pause
    /// They are cancelled and removed.
    case forget
}

extension Transfers {
    /// Returns when the tasks of earlier processes are restored.
    public func ready() async throws { while !isReady { try await readiness.wait() } }

    /// Restores the recorded tasks, once, before any task is made. `tokens` are for `.resume`.
    public func restore(_ unfinished: UnfinishedTasks, tokens: (any TokenSource)? = nil) async throws {
        // Their transfers need to know when these began.
        try await restoreFolders()
        let transfers = try await restoreTransfers(unfinished, tokens)
        await continueFolders(unfinished, transfers, tokens)
        noteRefusedAppends()
        isReady = true
        readiness.wakeAll()
    }

    /// Returns the records of transfers that belong to folders.
    private func restoreTransfers(
        _ unfinished: UnfinishedTasks, _ tokens: (any TokenSource)?
    ) async throws -> [TaskRecord] {
        guard let ends else { return [] }
        var ofFolders: [TaskRecord] = []
        var ended: [(TaskRecord, TaskOutcome, at: Timestamp)] = []
        var records: [TaskRecord] = []
        for result in try await ends.persistence.store.records() {
            switch result {
            case .success(let record): records.append(record)
            case .failure(let error): ends.persistence.complain(error.message)
            }
        }
        for record in records.sorted(by: { $0.number < $1.number }) {
            switch record.stage {
            case .ended where record.folder != nil: ofFolders.append(record)
            case .ended(let outcome, let time): ended.append((record, outcome, time))
            case .unfinished(let request, let bookmark):
                if record.folder != nil { ofFolders.append(record) }
                switch record.kind {
                case .upload:
                    let task: UploadTask? = restore(record, request, bookmark)
                    guard let task else {
                        ends.persistence.complain(
                            "Task \(record.id) cannot be restored: its record does not say what its file was like. It is kept."
                        )
                        continue
                    }
                    try await settle(task, unfinished, request, tokens, in: uploads)
                case .download:
                    let task: DownloadTask = restore(record, request, bookmark)
                    try await settle(task, unfinished, request, tokens, in: downloads)
                }
            }
        }
        ended.sort { $0.at < $1.at }
        // The oldest are dropped first.
        for (record, outcome, _) in ended where record.endpoint != nil { remember(record, outcome) }
        for (record, outcome, _) in ended where record.endpoint == nil { remember(record, outcome) }
        return ofFolders
    }

    private func settle<Strategy>(
        _ task: TransferTask<Strategy>, _ unfinished: UnfinishedTasks, _ request: TaskRequest,
        _ tokens: (any TokenSource)?, in list: TaskList<Strategy>
    ) async throws {
        guard task.endpoint == nil, task.folder == nil else { return }
        switch unfinished {
        case .pause: return
        case .resume: if !request.hasOwnTokens { _ = task.resume(tokens: tokens, replacesNewer: false) }
        case .forget:
            _ = try await task.cancel(tokens: tokens)
            _ = await list.forget(task)
        }
    }

    private func remember(_ record: TaskRecord, _ outcome: TaskOutcome) {
        switch record.kind {
        case .upload:
            let size = record.progress.totalUnitCount
            let strategy = UploadStrategy(size: size, chunks: backend.chunkSizes)
                .restored(acknowledged: record.progress.completedUnitCount, isOpen: false)
            uploads.make(record, UploadMachine(strategy, ended: outcome), .closed, large)
        case .download:
            let strategy = DownloadStrategy(record.progress)
            downloads.make(record, DownloadMachine(strategy, ended: outcome), .closed, arriving)
        }
    }
}
