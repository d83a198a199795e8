import Platform
import Storage

// A client knows that the reason of a failure is gone, such as a network that is back.

extension Transfers {
    /// Ends the wait of a task after a failure. A task that has failed begins anew, under the same id and with a new retry
    /// budget: like a task of an earlier process that a client resumes, with these tokens. Its observers know its end, and
    /// are gone.
    ///
    /// Returns the task that runs; nil for one that cannot be retried: that runs, is paused, or has ended for good.
    public func retry<Strategy: ListedStrategy>(
        _ task: TransferTask<Strategy>, tokens: (any TokenSource)? = nil
    ) async throws -> TransferTask<Strategy>? {
        if task.endRest() { return task }
        return try await tasks.exclusively(for: task.key, of: Strategy.kind.rawValue) { [self] in
            if let key = task.key, let other = Strategy.tasks(of: self).unfinishedTask(withKey: key), other !== task {
                throw StorageError.keyTaken(key, of: task.id, by: other.id)
            }
            return try await retryFailed(task, tokens)
        }
    }

    private func retryFailed<Strategy: ListedStrategy>(
        _ task: TransferTask<Strategy>, _ tokens: (any TokenSource)?
    ) async throws -> TransferTask<Strategy>? {
        guard let record = task.recordForRetry else { return nil }
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        let list = Strategy.tasks(of: self)
        // From here on nobody else retries or forgets it.
        guard list.reopen(task) else { return nil }
        var isOpen = false
        defer { if !isOpen { list.finish(task) } }
        isOpen = try await context.ends?.reopen(record) ?? true
        guard isOpen, let again = Strategy.again(record, in: self) else { return nil }
        _ = again.resume(tokens: tokens)
        return again
    }
}
