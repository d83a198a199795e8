import Platform
import Storage

/// What happens to the unfinished tasks of an earlier process. Tasks of other endpoints stay unchanged.
public enum UnfinishedTasks: String, CaseIterable, Sendable {
    /// Continues the tasks, except tasks that need a client's own tokens.
    case resume
    case pause
    /// Cancels and removes the tasks.
    case forget
}

extension Transfers {
    /// Returns when the unfinished tasks of earlier processes are restored.
    public func ready() async throws { try await readiness.untilReady() }

    /// Returns when the task is in its list, if it exists.
    public func ready(for task: String) async throws { if !hasRead(task) { try await allTasks() } }

    /// Whether the task is in its list, or does not exist.
    public func hasRead(_ task: String) -> Bool {
        readiness.isReady && (tasks.has(task) || !uploads.hasUnread && !downloads.hasUnread)
    }

    /// Returns when no list has more ended tasks than it keeps.
    public func readyToCount() async throws {
        try await ready()
        if uploads.hasTooMany || downloads.hasTooMany { try await allTasks() }
    }

    /// Returns when the lists have all tasks of earlier processes. The ended ones are read when a request first needs
    /// them: otherwise the start of each command would wait.
    public func allTasks() async throws {
        try await ready()
        while uploads.hasUnread || downloads.hasUnread {
            guard let ends = context.ends else { return }
            try await readiness.reading {
                let ended = inOrder(readable(try await ends.persistence.store.endedRecords(), ends))
                if uploads.hasUnread { uploads.add(unread: ended.filter { $0.kind == .upload }, remember) }
                if downloads.hasUnread { downloads.add(unread: ended.filter { $0.kind == .download }, remember) }
            }
        }
    }

    func readEndedSoon() {
        guard !readiness.isReading, let ends = context.ends else { return }
        Loop.task { [self] in
            do { try await allTasks() } catch {
                let reason = (error as? StorageError)?.message ?? "\(error)"
                ends.persistence.complain("Tasks that are over could not be forgotten: \(reason)")
            }
        }
    }

    /// Restores the recorded tasks. Called once, before any task is made.
    ///
    /// - Parameter tokens: the tokens for `.resume`.
    public func restore(_ unfinished: UnfinishedTasks, tokens: (any TokenSource)? = nil) async throws {
        // The transfers of a folder need to know when its task began.
        try await restoreFolders()
        let transfers = try await restoreTransfers(unfinished, tokens)
        try await continueFolders(unfinished, transfers, tokens)
        noteRefusedAppends()
        readiness.becomeReady()
    }

    /// Returns the records of transfers that belong to folders.
    private func restoreTransfers(
        _ unfinished: UnfinishedTasks, _ tokens: (any TokenSource)?
    ) async throws -> [TaskRecord] {
        guard let ends = context.ends else { return [] }
        var (ofFolders, ended): ([TaskRecord], [TaskRecord]) = ([], [])
        let open = try await ends.persistence.store.openRecords()
        uploads.leaveUnread(open.ended[.upload] ?? [:], after: open.lastNumber)
        downloads.leaveUnread(open.ended[.download] ?? [:], after: open.lastNumber)
        for record in readable(open.records, ends).sorted(by: { $0.number < $1.number }) {
            switch record.stage {
            case .ended where record.folder != nil: ofFolders.append(record)
            case .ended: ended.append(record)
            case .unfinished(let request, _):
                if record.folder != nil { ofFolders.append(record) }
                // The task over the folder resumes its transfers.
                let wanted = record.folder == nil ? unfinished : .pause
                switch record.kind {
                case .upload:
                    let task: UploadTask? = restore(record)
                    guard let task else {
                        ends.persistence.complain(
                            "Task \(record.id) cannot be restored: its record does not say what its file was like. It is kept."
                        )
                        continue
                    }
                    try await settle(task, wanted, hasOwnTokens: request.hasOwnTokens, tokens)
                case .download:
                    let task: DownloadTask = restore(record, request)
                    try await settle(task, wanted, hasOwnTokens: request.hasOwnTokens, tokens)
                }
            }
        }
        for record in inOrder(ended) { remember(record) }
        return ofFolders
    }

    private func readable(_ records: [Result<TaskRecord, StorageError>], _ ends: OutcomeRecorder) -> [TaskRecord] {
        records.compactMap { record in
            do throws(StorageError) { return try record.get() } catch {
                ends.persistence.complain(error.message)
                return nil
            }
        }
    }

    /// The order in which ended tasks are dropped: those of other endpoints first, then the oldest.
    private func inOrder(_ ended: [TaskRecord]) -> [TaskRecord] {
        ended.map { record in (record, isOwn: record.endpoint == nil ? 1 : 0, end: record.end ?? record.began) }
            .sorted { ($0.isOwn, $0.end, $0.0.number) < ($1.isOwn, $1.end, $1.0.number) }.map(\.0)
    }

    /// Continues, keeps or removes an unfinished task of this endpoint.
    func settle<Restored: StorageTask>(
        _ task: Restored, _ unfinished: UnfinishedTasks, hasOwnTokens: Bool, _ tokens: (any TokenSource)?
    ) async throws {
        guard task.endpoint == nil, !task.hasEnded else { return }
        switch unfinished {
        case .pause: return
        case .resume: if !hasOwnTokens { _ = task.resume(tokens: tokens, replacesNewer: false) }
        case .forget:
            _ = try await task.cancel(tokens: tokens)
            _ = await Restored.tasks(of: self).forget(task)
        }
    }

    /// Makes a task, and adds it to its list.
    @discardableResult func make<Strategy>(
        _ record: TaskRecord, _ machine: TaskMachine<Strategy>, _ sessionState: SessionState<Strategy>,
        _ limiter: ConcurrencyLimiter, _ recordWriter: TaskRecordWriter?, in list: TaskList<TransferTask<Strategy>>
    ) -> TransferTask<Strategy> {
        let task = TransferTask(record, machine, sessionState, limiter, recordWriter, in: list, context)
        list.add(task)
        return task
    }

    private func remember(_ record: TaskRecord) {
        guard case .ended(let outcome, _) = record.stage else { return }
        switch record.kind {
        case .upload:
            let strategy = UploadStrategy(size: record.progress.total, chunks: engine.chunkSizes)
                .restored(acknowledged: record.progress.completedUnitCount, isOpen: false)
            make(record, UploadMachine(strategy, ended: outcome), .closed, tasks.limits.large, nil, in: uploads)
        case .download:
            let strategy = DownloadStrategy(record.progress)
            make(
                record, DownloadMachine(strategy, ended: outcome), .closed, tasks.limits.downloads, nil, in: downloads)
        }
    }
}

extension TaskRecord {
    /// When the task ended; nil for an unfinished task.
    fileprivate var end: Timestamp? { if case .ended(_, let time) = stage { time } else { nil } }
}
