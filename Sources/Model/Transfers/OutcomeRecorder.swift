import Platform
import Storage

/// Records the outcomes of tasks. A write that fails is retried: after a delay, after the next write that succeeds, and
/// at the end of the process.
///
/// Pending outcomes count against `--max-tasks`, which bounds their number.
@Loop final class OutcomeRecorder {
    private enum Pending {
        case ended(TaskRecord)
        /// The end of a task over a folder.
        case planEnded(any FolderPlan, FolderStage)
        case forgotten
    }

    private static let shortestRest = Duration.seconds(1)
    private static let longestRest = Duration.seconds(60)

    let persistence: TaskPersistence
    private let clock: any Clock<Duration>
    private var pending: [String: Pending] = [:]
    private var isRetrying = false
    private var isResting = false
    private let idle = Waiters()

    init(_ persistence: TaskPersistence, clock: any Clock<Duration>) {
        (self.persistence, self.clock) = (persistence, clock)
    }

    /// The number of outcomes that the store does not have yet.
    var count: Int { pending.count }

    /// Returns when the outcome is recorded, if only in its reserved space, or cannot be recorded now.
    ///
    /// - Parameter isKept: the store may have a record of the unfinished task, which a loss of power must not bring
    ///   back.
    func end(_ record: TaskRecord, isKept: Bool) async {
        do throws(StorageError) {
            try await persistence.store.keep(record, isUrgent: isKept)
            storeWorks()
        } catch {
            persistence.complain("It could not be kept how \(record.title) ended: \(error.message)")
            guard isKept else { return }
            pending[record.id] = .ended(record)
            do throws(StorageError) {
                try await persistence.store.keepEnd(of: record)
            } catch {
                persistence.complain("Until it is kept, \(record.title) would survive a restart: \(error.message)")
            }
            retryLater()
        }
    }

    /// Records the end of a task over a folder. Returns when the end is recorded, or cannot be recorded now.
    func end(_ plan: any FolderPlan, _ stage: FolderStage, titled title: String) async {
        do throws(StorageError) {
            try await plan.keep(stage)
            storeWorks()
        } catch {
            persistence.complain("Until it is kept how \(title) ended, it would survive a restart: \(error.message)")
            pending[plan.id] = .planEnded(plan, stage)
            retryLater()
        }
    }

    /// Throws while the end of a task that is about to run again is not recorded.
    func checkEnd(of task: String, titled title: String) async throws(StorageError) {
        if pending[task] != nil { await settle() }
        // The pending write would end the task again.
        guard pending[task] == nil else {
            throw StorageError(.quotaExceeded, "It is not recorded yet how \(title) ended; try again later.")
                .with(\.retryable, true)
        }
    }

    /// Drops the pending outcome of a task whose plan is removed.
    func drop(_ task: String) { pending[task] = nil }

    /// Records that a failed task runs again. False if the store has no record of the failure.
    func reopen(_ record: TaskRecord) async throws(StorageError) -> Bool {
        try await checkEnd(of: record.id, titled: record.title)
        let isOpen = try await persistence.store.reopen(record)
        storeWorks()
        return isOpen
    }

    func forget(_ tasks: [String]) async {
        do throws(StorageError) {
            try await persistence.store.forget(tasks)
            for task in tasks { pending[task] = nil }
        } catch {
            persistence.complain("Tasks that are over could not be forgotten: \(error.message)")
            for task in tasks where pending[task] != nil { pending[task] = .forgotten }
        }
    }

    /// Retries after a write of another record has succeeded.
    func storeWorks() {
        if !pending.isEmpty, !isRetrying { Loop.task { [self] in await retry() } }
    }

    /// Retries the pending outcomes once, and returns after that.
    func settle() async {
        while isRetrying { do { try await idle.wait() } catch { return } }
        await retry()
    }

    /// Retries all pending outcomes, unless a retry is in progress.
    private func retry() async {
        guard !isRetrying else { return }
        isRetrying = true
        await tryAll()
        isRetrying = false
        idle.wakeAll()
    }

    /// Stops at the first failure of the store. A plan is a file of its own, so its failure stops nothing.
    private func tryAll() async {
        for (task, end) in pending {
            do throws(StorageError) {
                switch end {
                case .ended(let record): try await persistence.store.keep(record, isUrgent: true)
                case .planEnded(let plan, let stage):
                    do throws(StorageError) { try await plan.keep(stage) } catch { continue }
                case .forgotten: try await persistence.store.forget([task])
                }
            } catch {
                return
            }
            if case .ended = end, case .forgotten? = pending[task] { continue }
            pending[task] = nil
        }
    }

    private func retryLater() {
        guard !isResting else { return }
        isResting = true
        Task {
            var rest = Self.shortestRest
            while !pending.isEmpty {
                do { try await clock.sleep(for: rest) } catch { break }
                await retry()
                rest = min(rest * 2, Self.longestRest)
            }
            isResting = false
        }
    }
}
