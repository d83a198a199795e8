import Platform
import Storage

/// One task over a folder: its machine decides, its work lists, transfers and deletes, and its plan outlives the process.
///
///     FolderMachine   decides, as a value
///        ▼ ▲         ┌──▶ observers: snapshots
///     FolderTask ────┴──▶ FolderPlan: the items, and how far they are
///        ▼ ▲
///     FolderWork      plans, then transfers, then deletes; each file is a task of its own, which clients do not see
@Loop public final class FolderTask {
    public nonisolated let id: String
    public let number: Int64
    let request: FolderRequest
    let plan: any FolderPlan
    let began: Beginning
    /// The endpoint of the task where it is not the service's own: the task cannot be resumed here.
    let endpoint: String?
    private unowned let transfers: Transfers
    private var machine: FolderMachine
    private var tokens: (any TokenSource)?
    private var work: FolderWork?
    /// A client of this process started or resumed the task.
    private var replacesNewer = true
    /// Unfinished transfers of large files, by the paths of their items, which go on when their items' turn comes.
    var transfersBefore: [String: any FolderTransfer] = [:]
    /// Large files that an earlier process has transferred without a word in the plan.
    var endedBefore: [String: (task: String, size: Int64)] = [:]

    private(set) var stage: FolderStage
    private(set) var counts = FolderCounts()
    private(set) var failures: [FolderItem] = []
    private var isTold: Bool
    private var wasPaused = false
    var observers: [Observer] = []
    private let settled = Waiters()
    private let finished = Waiters()
    private var tellsProgress = false

    /// A new task, or one of an earlier process, which is paused or has ended.
    init(_ stored: StoredFolder, isNew: Bool, tokens: (any TokenSource)? = nil, of transfers: Transfers) {
        (id, number, request, plan) = (stored.plan.id, stored.number, stored.request, stored.plan)
        began = stored.began
        (endpoint, stage, self.tokens, self.transfers) = (stored.endpoint, stored.stage, tokens, transfers)
        switch stored.stage {
        case .ended(let outcome, _): machine = FolderMachine(.ended(outcome))
        case .planning, .completing, .working: machine = FolderMachine(isNew ? .ready : .paused)
        }
        isTold = machine.taskState.isFinished
    }

    private var title: String { "the task over \(request.reference.url)" }

    /// Reads what the plan of an earlier process knows.
    func recall() async throws(StorageError) {
        counts = try await plan.counts()
        failures = try await plan.items([.failed, .refused], after: 0, most: FolderSnapshot.mostFailures)
    }

    /// The state for clients: an end counts once it is recorded.
    public var state: TaskState {
        if case .working = machine.state, work?.isQueued == true { return .queued }
        guard isEnding else { return machine.taskState }
        return wasPaused ? .paused : .running
    }

    private var isEnding: Bool { machine.taskState.isFinished && !isTold }

    public func snapshot(for status: Status?) -> FolderSnapshot {
        var error: StorageError?
        switch machine.state {
        case .ended(.failed(let failure)) where isTold: error = failure
        case .ended(.cancelled) where isTold: error = .cancelledFolder(request)
        case .ready, .working, .stopping, .paused, .ended: break
        }
        return FolderSnapshot(
            task: id, request: request, status: status ?? state.status, state: state(for: status), progress: progress,
            counts: counts, isPlanned: stage != .planning && stage != .completing, failures: failures,
            error: status == .progress ? nil : error, endpoint: endpoint)
    }

    private func state(for status: Status?) -> TaskState {
        switch status {
        case .progress: .running
        case .pause: .paused
        case .resume, .success, .failure, nil: state
        }
    }

    private var progress: Progress {
        let completed = counts.completedBytes.addingSaturated(work?.bytesInFlight ?? 0)
        let total = max(counts.totalBytes, completed)
        return Progress(completedUnitCount: completed, totalUnitCount: total)
    }

    // MARK: - What its work reports

    /// Engine requests in flight that no transfer makes.
    var operations: Int { work?.operations ?? 0 }
    /// Nothing but transfers and requests to the engine happens.
    var isIdle: Bool {
        switch machine.state {
        case .working: work?.isWaiting ?? false
        case .stopping: false
        case .ready, .paused: true
        case .ended: isTold
        }
    }

    func count(_ change: (inout FolderCounts) -> Void) {
        change(&counts)
        didProgress()
    }

    func note(_ item: FolderItem) {
        if failures.count < FolderSnapshot.mostFailures { failures.append(item) }
    }

    func begin(_ stage: FolderStage, _ counts: FolderCounts, _ failures: [FolderItem]) {
        (self.stage, self.counts, self.failures) = (stage, counts, failures)
        didProgress()
    }

    /// Publishes progress once in an iteration of the loop.
    func didProgress() {
        guard !tellsProgress, !observers.isEmpty else { return }
        tellsProgress = true
        Loop.atEndOfIteration { [self] in
            tellsProgress = false
            if case .working = machine.state { publish(.progress) }
        }
    }

    // MARK: - Events and effects

    private func post(_ event: FolderMachine.Event) {
        if !machine.taskState.isFinished { wasPaused = machine.taskState == .paused }
        for effect in machine.handle(event) {
            switch effect {
            case .begin: begin()
            case .stop: work?.stop()
            case .publish(let status): publish(status)
            case .end: end()
            }
        }
        if machine.isSettled { settled.wakeAll() }
    }

    private func begin() {
        let work = FolderWork(self, transfers, tokens, replacesNewer: replacesNewer)
        self.work = work
        Loop.task { [self] in
            let end = await work.run()
            self.work = nil
            post(end.map(FolderMachine.Event.finished) ?? .stopped)
        }
    }

    private func end() {
        guard case .ended(let outcome) = machine.state else { return }
        Loop.task { [self] in
            await dropTransfers()
            // A retry of the task needs them.
            if outcome == .succeeded || outcome == .cancelled { await forgetEnded() }
            let end = FolderStage.ended(outcome, at: transfers.context.time.now())
            if let ends = transfers.context.ends {
                await ends.end(plan, end, titled: title)
            } else {
                // It ends with the process.
                try? await plan.keep(end)
            }
            await plan.close()
            stage = end
            tellEnd(outcome)
        }
    }

    private func tellEnd(_ outcome: FolderOutcome) {
        isTold = true
        publish(outcome == .succeeded ? .success : .failure)
        forget { _ in true }
        tokens = nil
        transfers.folders.finish(self)
        transfers.tasks.released()
        settled.wakeAll()
        finished.wakeAll()
    }

    /// Removes all that is kept of an ended task.
    func remove() async {
        transfers.context.ends?.drop(id)
        await dropTransfers()
        await forgetEnded()
        await plan.remove()
    }

    /// Cancels the transfers that have stopped before their ends: they hold files, and sessions at servers.
    private func dropTransfers() async {
        let dropped = exchange(&transfersBefore, with: [:]).values
        for transfer in dropped { await transfer.drop(tokens) }
        await transfers.forgetFolderTransfers(dropped.map(\.id))
    }

    /// Forgets the ends of transfers that the plan does not know.
    private func forgetEnded() async {
        await transfers.forgetFolderTransfers(exchange(&endedBefore, with: [:]).values.map(\.task))
    }
}

// MARK: - Controls

extension FolderTask: ListedTask, Observed {
    public nonisolated static var kind: String { "folder" }

    public var hasEnded: Bool { state.isFinished }

    public static func task(_ id: String, of transfers: Transfers) throws(StorageError) -> FolderTask {
        try transfers.folders.task(id)
    }

    public static func page(
        _ maxResults: Int64?, after pageToken: String?, of transfers: Transfers
    ) throws(StorageError) -> TaskPage<FolderSnapshot> {
        try TaskPage(of: transfers.folders.all, maxResults, after: pageToken)
    }

    public static func forget(_ task: FolderTask, of transfers: Transfers) async -> Bool {
        await transfers.folders.forget(task)
    }

    public func start() { post(.requested(.start)) }

    public func pause() async throws -> Bool {
        guard machine.allows(.pause) else { return try await refusal() }
        post(.requested(.pause))
        try await settle()
        return !state.isFinished
    }

    public func resume(tokens: (any TokenSource)?) -> Bool { resume(tokens: tokens, replacesNewer: true) }

    /// `replacesNewer` is false where no client asks for it.
    func resume(tokens: (any TokenSource)?, replacesNewer: Bool) -> Bool {
        guard machine.allows(.resume), endpoint == nil else { return false }
        (self.tokens, self.replacesNewer) = (tokens, replacesNewer)
        post(.requested(.resume))
        return true
    }

    public func cancel(tokens: (any TokenSource)?) async throws -> Bool {
        guard machine.allows(.cancel) else { return try await refusal() }
        if self.tokens == nil { self.tokens = tokens }
        post(.requested(.cancel))
        try await settle()
        return state == .cancelled
    }

    public static func retry(
        _ task: FolderTask, tokens: (any TokenSource)?, of transfers: Transfers
    ) async throws -> FolderTask? {
        try await transfers.tasks.exclusively(for: task.request.key, of: kind) {
            try await task.retry(tokens) ? task : nil
        }
    }

    /// Ends the waits of its transfers after failures. A task that has failed goes on with what failed, and what is still
    /// to do.
    private func retry(_ tokens: (any TokenSource)?) async throws(StorageError) -> Bool {
        guard machine.taskState == .failed else { return work?.retry() ?? false }
        if let key = request.key, let other = transfers.folders.unfinishedTask(withKey: key), other !== self {
            throw .keyTaken(key, of: id, by: other.id)
        }
        try transfers.tasks.reservePlace()
        defer { transfers.tasks.giveBackPlace() }
        // From here on nobody else retries or forgets it.
        guard endpoint == nil, transfers.folders.reopen(self) else { return false }
        do throws(StorageError) {
            try await transfers.context.ends?.checkEnd(of: id, titled: title)
            let hasDirectories = try await plan.renew()
            // One that failed while it planned has left nothing.
            let counts = try await plan.counts(), isEmpty = counts == FolderCounts()
            // What is by now at the targets of copies may be replaced, and what is in the way of deletions removed.
            let notes = request.kind.isCopy || counts.toDelete > counts.deleted
            stage = isEmpty && !hasDirectories ? .planning : hasDirectories || notes ? .completing : .working
            try await plan.keep(stage)
            try await recall()
        } catch {
            transfers.folders.finish(self)
            throw error
        }
        (self.tokens, isTold, replacesNewer) = (tokens, false, true)
        post(.requested(.retry))
        return true
    }

    public func checkEndpoint() throws(StorageError) {
        if let endpoint, !state.isFinished { throw .belongs(id, to: endpoint).about(request.reference) }
    }

    public func result() async throws -> FolderSnapshot {
        while !isTold { try await finished.wait() }
        let snapshot = snapshot(for: nil)
        if let error = snapshot.error { throw error }
        return snapshot
    }

    public func observe(_ status: Status, handle: String, _ connection: ConnectionObservers) {
        add(Observer(handle: handle, status: status, connection: connection))
    }

    func notify(_ observer: Observer, _ event: Told<FolderSnapshot>) {
        observer.connection.notifyFolder(observer.handle, event)
    }

    /// A page of its items.
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

    /// Returns once its work has stopped, and the end is published.
    private func settle() async throws { while !machine.isSettled || isEnding { try await settled.wait() } }

    private func refusal() async throws -> Bool {
        if isEnding { try await settle() }
        return false
    }
}

extension StorageError {
    fileprivate static func cancelledFolder(_ request: FolderRequest) -> StorageError {
        StorageError(.cancelled, "The task over \(request.reference.url) was cancelled.").about(request.reference)
    }
}
