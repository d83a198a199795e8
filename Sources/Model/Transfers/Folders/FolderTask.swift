import Platform
import Storage

/// One task over a folder: a machine decides, a work lists, transfers and deletes, and a plan outlives the process.
///
///     FolderMachine   decides, as a value
///        ▼ ▲         ┌──▶ observers: snapshots
///     FolderTask ────┴──▶ FolderPlan: the items and their states
///        ▼ ▲
///     FolderWork      plans, then transfers, then deletes; each transfer is a task that clients do not see
@Loop public final class FolderTask: StorageTask {
    private var stored: StoredFolder
    private unowned let transfers: Transfers
    /// The time since the task was made in this process, or was retried.
    private var elapsed: @Sendable () -> Duration
    public private(set) var machine: FolderMachine
    public var control: TaskControl
    private var tokens: (any TokenSource)?
    /// The running work; nil while the task is paused or has ended.
    private(set) var work: FolderWork?
    /// The local directory, which the works and the transfers share.
    private(set) lazy var tree = request.directory.map {
        transfers.engine.localFiles(of: request.client.confinement)
            .tree($0, isWritten: request.kind == .write && !request.isDryRun)
    }
    /// Unfinished transfers of large files by the paths of their items. A transfer resumes when the work begins its item.
    var transfersBefore: [String: any FolderTransfer] = [:]
    /// Finished transfers of an earlier process by the paths of their items, which the plan still has as pending.
    var endedBefore: [String: (task: String, result: ObjectMetadata)] = [:]
    private(set) var counts = FolderCounts()
    private(set) var failures: [FolderItem] = []
    private var tellsProgress = false
    /// The sources of copies are to be planned again, once the plan is carried out, or the folder that is deleted.
    private(set) var isRefreshing: Bool
    /// Whether the plan takes all that exists: a client has just created or retried the task.
    private var takesAll: Bool
    /// Whether the last work deletes, or has deleted, without a plan. The counts then have only the listed objects.
    var isUnplanned = false

    /// Creates a new task, or restores a task of an earlier process, which is paused or has ended.
    init(_ stored: StoredFolder, isNew: Bool, tokens: (any TokenSource)? = nil, of transfers: Transfers) {
        (self.stored, self.tokens, self.transfers) = (stored, tokens, transfers)
        elapsed = transfers.context.time.clock.stopwatch()
        switch stored.stage {
        case .ended(let outcome, _): machine = FolderMachine(.ended(outcome))
        case .planning, .completing, .working: machine = FolderMachine(isNew ? .ready : .paused)
        }
        (isRefreshing, takesAll) = (stored.request.refreshes == true, isNew)
        control = TaskControl(hasEnded: machine.taskState.isFinished)
    }

    public var id: String { stored.plan.id }
    public var number: Int64 { stored.number }
    var request: FolderRequest { stored.request }
    var plan: any FolderPlan { stored.plan }
    var began: Beginning { stored.began }
    /// The moment for which a plan stands that is made or completed after an interruption: others have stored what is newer.
    /// Nil while the plan takes all that exists.
    var planned: Beginning? { takesAll ? nil : stored.retried ?? stored.began }
    var stage: FolderStage { stored.stage }
    public var reference: Reference { request.reference }
    public var key: String? { request.key }
    public var endpoint: String? { stored.endpoint }

    var copies: [FolderCopy] { request.copies ?? [] }

    public func usesFiles(outside confinement: LocalConfinement) -> Bool {
        request.directory != nil && request.client.confinement != confinement
    }

    /// Takes what has come to the sources since they were planned, and the copies of a request, too. An end that comes first
    /// prevents this.
    func refresh(with other: FolderRequest) async throws(StorageError) {
        if request.kind == .delete { return try await refreshDeletion() }
        let known = Set(copies), new = (other.copies ?? []).filter { !known.contains($0) }
        guard other.target?.bucket.hasSameBytes(as: request.target?.bucket ?? "") == true else {
            throw .invalidArgument("to", "Task \(id) copies to another bucket.")
        }
        guard copies.count + new.count <= FolderCopy.most else {
            throw .invalidArgument("others", "Task \(id) would have more than \(FolderCopy.most) folders and objects.")
        }
        // The work sees them at once, so that a refresh that ends meanwhile does not store the request without them.
        (stored.request.copies, stored.request.refreshes, isRefreshing) = (copies + new, true, true)
        takesAll = false
        do throws(StorageError) { try await plan.keep(request) } catch {
            stored.request.copies?.removeAll { new.contains($0) }
            throw error
        }
    }

    /// Also deletes the objects that were added to the folder until now. Later additions stay.
    private func refreshDeletion() async throws(StorageError) {
        let moment = Beginning(
            transfers.context.time.now(), lastGeneration: try await transfers.backend.lastGeneration())
        guard !isEnding, !hasEnded else { return }
        (stored.request.refreshed, stored.request.refreshes, isRefreshing) = (moment, true, true)
        // A deletion needs no room on the disk.
        do throws(StorageError) { try await plan.keep(request) } catch  where error.isWithoutRoom {}
    }

    /// All sources are about to be planned. A request that comes meanwhile is one for the next time.
    func willRefresh() { isRefreshing = false }

    /// All sources are planned, unless the work has broken off.
    func didRefresh(_ isDone: Bool) async {
        guard request.refreshes == true else { return }
        if !isDone { isRefreshing = true }
        guard !isRefreshing else { return }
        stored.request.refreshes = nil
        // After a failure the next process plans them once more.
        try? await plan.keep(request)
    }

    private var title: String { "the task over \(request.reference.url)" }

    /// Reads the counts and the failures from the plan.
    func recall() async throws(StorageError) {
        counts = try await plan.counts()
        failures = try await plan.items([.failed, .refused], after: 0, most: FolderSnapshot.mostFailures)
    }

    public var state: TaskState {
        if case .working = machine.state, work?.isQueued == true { return .queued }
        return toldState
    }

    public func snapshot(for status: Status?) -> FolderSnapshot {
        var error: StorageError?
        switch machine.state {
        case .ended(.failed(let failure)) where isTold: error = failure
        case .ended(.cancelled) where isTold: error = .cancelledFolder(request)
        case .ready, .working, .stopping, .paused, .ended: break
        }
        return FolderSnapshot(
            task: id, request: request, status: status ?? state.status, state: state(for: status), progress: progress,
            counts: counts, isPlanned: !isUnplanned && stage != .planning && stage != .completing,
            failures: failures, error: status == .progress ? nil : error, endpoint: endpoint)
    }

    private var progress: Progress {
        // A transfer that is paused keeps its bytes.
        let kept = transfersBefore.values.reduce(work?.bytesInFlight ?? 0) { $0.addingSaturated($1.completed) }
        let completed = counts.completedBytes.addingSaturated(kept)
        let total = max(counts.totalBytes, completed)
        return Progress(completedUnitCount: completed, totalUnitCount: total)
    }

    // MARK: - What its work reports

    /// The number of engine requests in flight that belong to no transfer.
    var operations: Int { work?.operations ?? 0 }

    func count(_ change: (inout FolderCounts) -> Void) {
        change(&counts)
        didProgress()
        if transfers.context.log.changes != nil { trace() }
    }

    func note(_ item: FolderItem) {
        if failures.count < FolderSnapshot.mostFailures { failures.append(item) }
    }

    func begin(_ stage: FolderStage, _ counts: FolderCounts, _ failures: [FolderItem]) {
        (stored.stage, self.counts, self.failures) = (stage, counts, failures)
        didProgress()
    }

    /// Publishes progress, at most once in an iteration of the loop.
    func didProgress() {
        guard !tellsProgress, !control.observers.isEmpty else { return }
        tellsProgress = true
        Loop.atEndOfIteration { [self] in
            tellsProgress = false
            if case .working = machine.state { publish(.progress) }
        }
    }

    // MARK: - Events and effects

    /// Traces the present state, if the trace has another one.
    func trace() {
        trace(TracedPoint(state, nil, progress), in: transfers.context.log) { TaskChange(snapshot(for: nil)) }
    }

    private func post(_ event: FolderMachine.Event) {
        let before = machine.taskState, effects = machine.handle(event)
        control.note(before, machine.taskState)
        for effect in effects {
            switch effect {
            case .begin: begin()
            case .stop: work?.stop()
            case .publish(let status): publish(status)
            case .end: end()
            }
        }
        transfers.folders.count(self)
        trace()
        if machine.isSettled { control.settled.wakeAll() }
    }

    private func begin() {
        let work = FolderWork(self, transfers, tokens, replacesNewer: control.replacesNewer)
        (self.work, isUnplanned) = (work, false)
        Loop.task { [self] in
            let end = await work.run()
            (self.work, takesAll) = (nil, false)
            // The request for it came after the work had looked.
            if end == .succeeded, isRefreshing, case .working = machine.state { return begin() }
            post(end.map(FolderMachine.Event.finished) ?? .stopped)
        }
    }

    private func end() {
        guard case .ended(let outcome) = machine.state else { return }
        Loop.task { [self] in
            await dropTransfers()
            // A retry of a failed task needs the ends of its transfers.
            if outcome == .succeeded || outcome == .cancelled { await forgetEnded() }
            let end = FolderStage.ended(outcome, at: transfers.context.time.now())
            if let ends = transfers.context.ends {
                await ends.end(plan, end, titled: title)
            } else {
                // Without a store of ends the task ends with the process.
                try? await plan.keep(end)
            }
            await plan.close()
            stored.stage = end
            tellEnd()
            tokens = nil
            transfers.folders.count(self)
            trace()
            logEnd(outcome)
            transfers.folders.finish(self)
            wakeAll()
        }
    }

    private func logEnd(_ outcome: FolderOutcome) {
        let took = elapsed()
        transfers.folders.metrics.ended(state, after: took)
        let bytes = counts.completedBytes, files = counts.completed
        transfers.context.log.info?(
            "folder \(id) \(state.rawValue) after \(took): \(files) files, \(bytes) bytes",
            LogFacts(task: id, object: reference.url, bytes: bytes, duration: took))
    }

    /// Removes an ended task from the store, with its plan and its transfers.
    func remove() async {
        transfers.context.ends?.drop(id)
        await dropTransfers()
        await forgetEnded()
        await plan.remove()
    }

    /// Cancels the unfinished transfers, which hold files and sessions at servers.
    private func dropTransfers() async {
        let dropped = exchange(&transfersBefore, with: [:]).values
        for transfer in dropped { _ = try? await transfer.cancel(tokens: tokens) }
        await transfers.forgetFolderTransfers(dropped.map(\.id))
    }

    /// Removes the records of finished transfers that the plan has as pending.
    func forgetEnded() async {
        await transfers.forgetFolderTransfers(exchange(&endedBefore, with: [:]).values.map(\.task))
    }
}

// MARK: - Controls

extension FolderTask {
    public nonisolated static var kind: String { "folder" }
    public static func tasks(of transfers: Transfers) -> TaskList<FolderTask> { transfers.folders }

    public func post(_ control: ClientControl) { post(.requested(control)) }

    public func use(_ tokens: (any TokenSource)?, for control: ClientControl) {
        if control == .resume || self.tokens == nil { self.tokens = tokens }
    }

    public func endRest() -> Bool { work?.retry() ?? false }

    public var mayRunAgain: Bool { machine.allows(.retry) && endpoint == nil }

    /// Continues with failed and pending items. The task is unchanged if the plan cannot store the retry.
    public func runAgain(_ tokens: (any TokenSource)?, in transfers: Transfers) async throws -> FolderTask? {
        try await transfers.context.ends?.checkEnd(of: id, titled: title)
        let retried = Beginning(
            transfers.context.time.now(), lastGeneration: try await transfers.backend.lastGeneration())
        if request.refreshed != nil {
            stored.request.refreshed = nil
            try await plan.keep(request)
        }
        let renewed = try await plan.renew(at: retried)
        (stored.stage, stored.retried, counts) = (renewed.stage, retried, renewed.counts)
        failures = failures.filter { $0.state == .refused }
        if let refused = try? await plan.items([.refused], after: 0, most: FolderSnapshot.mostFailures) {
            failures = refused
        }
        (self.tokens, control.end, control.replacesNewer, takesAll) = (tokens, .none, true, true)
        elapsed = transfers.context.time.clock.stopwatch()
        post(.retry)
        return self
    }

    public func untilRecorded() async {}

    public func notify(_ observer: Observer, _ event: Told<FolderSnapshot>) {
        observer.connection.notifyFolder(observer.handle, event)
    }

    /// Returns a page of the task's items in the given states, and the token of the next page.
    public func items(
        _ states: [FolderItem.State], _ maxResults: Int64?, after pageToken: String?
    ) async throws(StorageError) -> (items: [FolderItem], pageToken: String?) {
        let most = try Listing.checked(maxResults: maxResults ?? Int64(Listing.mostResults))
        let after = try pageToken.map { text throws(StorageError) in try Self.number(text) } ?? 0
        let found = try await plan.items(
            states.isEmpty ? FolderItem.State.allCases : states, after: after, most: most + 1)
        let page = Array(found.prefix(most))
        return (page, found.count > most ? page.last.map { "items.\($0.number)" } : nil)
    }

    private static func number(_ text: String) throws(StorageError) -> Int64 {
        guard let number = Int64(text.dropFirst(6)), number > 0, text.hasSameBytes(as: "items.\(number)") else {
            throw .invalidArgument("pageToken", "The page token was not given for items of a task.")
        }
        return number
    }
}

extension StorageError {
    fileprivate static func cancelledFolder(_ request: FolderRequest) -> StorageError {
        StorageError(.cancelled, "The task over \(request.reference.url) was cancelled.").about(request.reference)
    }
}
