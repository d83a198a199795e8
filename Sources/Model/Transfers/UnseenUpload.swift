import Platform
import Storage

/// An upload of one request that runs without a task, since its client learns of the task when the task has ended. The
/// upload becomes a task when a request reads the tasks, when it does not succeed, or when its client stops waiting.
@Loop final class UnseenUpload {
    private let new: NewUpload
    private let session: any UploadSession
    private let transfers: Transfers
    private let elapsed: @Sendable () -> Duration
    private let steps = StepRunner()
    /// The task that the upload has become.
    private var task: UploadTask?
    private var unseen: TaskList<UploadTask>.Unseen?
    private var waiter: UnsafeContinuation<UploadMachine.Answer?, Never>?

    /// `ConcurrencyLimiter.enter` has admitted the upload.
    init(_ new: NewUpload, _ session: any UploadSession, _ transfers: Transfers) {
        (self.new, self.session, self.transfers) = (new, session, transfers)
        elapsed = transfers.context.time.clock.stopwatch()
        transfers.memory.take(new.heldBytes)
        unseen = transfers.uploads.add(unseen: id) { [self] in becomeTask() }
        transfers.context.log.changes?(TaskChange(snapshot(.running, new.machine.progress)))
    }

    var id: String { new.record.id }

    /// Returns the last snapshot, or throws the error of the upload. Throws `CancellationError` when the waiting is
    /// cancelled; the upload then continues as a task.
    func end() async throws -> TaskSnapshot {
        let answer = await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                self.waiter = waiter
                steps.perform(.sendWhole, by: session, StepFlags(isUnrecorded: true), atOnce: true) { [self] answer in
                    if !wakes(with: answer) { await answered(answer) }
                }
            }
        } onCancel: {
            Task { @Loop in wake(nil) }
        }
        if task == nil, case .completed(let metadata)? = answer { return succeed(metadata) }
        let task = try seen()
        if let answer { await task.answered(answer, to: .sendWhole, took: elapsed()) }
        return try await task.result()
    }

    /// Passes the answer to the client, if it waits and no request has read the tasks.
    private func wakes(with answer: UploadMachine.Answer) -> Bool {
        guard task == nil, waiter != nil else { return false }
        wake(answer)
        return true
    }

    private func answered(_ answer: UploadMachine.Answer) async {
        await (try? seen())?.answered(answer, to: .sendWhole, took: elapsed())
        wake(nil)
    }

    private func wake(_ answer: UploadMachine.Answer?) {
        if let waiter = exchange(&waiter, with: nil) { Loop.resume(waiter, returning: answer) }
    }

    private func seen() throws -> UploadTask { try task ?? transfers.uploads.task(id) }

    private func becomeTask() -> UploadTask {
        unseen = nil
        transfers.tasks.limits.small.becomesTask(id)
        var machine = new.machine
        _ = machine.handle(.requested(.start))
        _ = machine.handle(.admitted)
        let made = UploadTask(
            new.record, machine, .open(session, transfers.heldBytes(of: new.upload)), transfers.tasks.limits.small,
            transfers.recordWriter(of: new), in: transfers.uploads, transfers.context)
        made.steps = steps
        made.willRetry = new.upload.caller.willRetry
        made.control.traced = TracedPoint(.running)
        task = made
        return made
    }

    private func succeed(_ metadata: ObjectMetadata) -> TaskSnapshot {
        let (metadata, size) = (metadata.bounded, metadata.size)
        let (context, list, limiter) = (transfers.context, transfers.uploads, transfers.tasks.limits.small)
        limiter.leave()
        transfers.memory.giveBack(new.heldBytes)
        list.metrics.add(size)
        let took = elapsed()
        list.metrics.ended(.success, after: took)
        context.log.info?(
            "upload \(id) succeeded after \(took): \(size) bytes",
            LogFacts(task: id, object: new.record.reference.url, bytes: size, duration: took))
        list.end(unseen, id) { [record = new.record, strategy = new.strategy, unowned list] in
            var strategy = strategy
            _ = strategy.complete(metadata)
            let outcome = TaskOutcome.succeeded(metadata)
            return UploadTask(
                record.ended(outcome, at: record.began), UploadMachine(strategy, ended: outcome), .closed, limiter, nil,
                in: list, context)
        }
        var snapshot = snapshot(.success, Progress(completedUnitCount: size, totalUnitCount: size))
        snapshot.metadata = .stored(metadata)
        context.log.changes?(TaskChange(snapshot))
        return snapshot
    }

    private func snapshot(_ state: TaskState, _ progress: Progress) -> TaskSnapshot {
        TaskSnapshot(
            kind: .upload, task: id, status: state.status, state: state, progress: progress,
            reference: new.record.reference)
    }
}
