import Platform
import Storage

extension TransferTask {
    /// Handles an event with all its effects before the next one.
    func post(_ event: Machine.Event) {
        events.append(event)
        guard !isHandling else { return }
        isHandling = true
        while !events.isEmpty {
            if !machine.taskState.isFinished { wasPaused = machine.taskState == .paused }
            for effect in machine.handle(events.removeFirst()) { carryOut(effect) }
        }
        isHandling = false
        list?.count(self)
        countBytes()
        persistProgress()
        if machine.isSettled { settled.wakeAll() }
    }

    private func countBytes() {
        let bytes = machine.progress.completedUnitCount
        guard bytes > countedBytes else { return }
        list?.metrics.add(bytes - countedBytes)
        countedBytes = bytes
        didProgress?()
    }

    /// Discards the session of a task that has no record, and so ends with the process.
    func discardUnrecordedSession() {
        guard recordWriter == nil else { return }
        steps.stop()
        session?.discard()
    }

    private func carryOut(_ effect: Machine.Effect) {
        switch effect {
        case .acquire: limiter.acquire(self)
        case .release: limiter.release(self)
        case .perform(let step): perform(step)
        case .abort: stopStep()
        case .wake(let attempt, let pause): wake(attempt, after: pause)
        case .discard: session?.discard()
        case .publish(let status) where machine.taskState.isFinished && status != .progress: end(status)
        case .publish(let status): publish(status)
        }
    }

    private func perform(_ step: Strategy.Step) {
        guard let session else { return }
        let elapsed = time.clock.stopwatch()
        let reports = ProgressRelay { [weak self] in self?.post(.reported($0, took: elapsed())) }
        steps.perform(step, by: session, replacesNewer: replacesNewer, report: reports.take) { [self] answer in
            reports.close()
            await answered(answer, to: step, took: elapsed())
        }
    }

    /// The step in flight has ended.
    func answered(_ answer: Machine.Answer, to step: Strategy.Step, took: Duration) async {
        // The record is at most one chunk behind: the state before this step is written while the step runs.
        await recordWriter?.settled()
        if let session, Strategy.isOpening(step) { await keep(session) }
        post(.answered(answer, took: took, at: time.now()))
    }

    private func stopStep() {
        if case .stopping(_, .pause) = machine.state { steps.stop(isPause: true) } else { steps.stop() }
    }

    private func wake(_ attempt: Int, after pause: Duration) {
        if let retry = machine.retry {
            log.debug?(
                "task \(logName) tries \(retry.of.rawValue) again in \(pause): attempt \(attempt), after \(retry.error.logText)"
            )
            if observers.isEmpty {
                willRetry?(RequestRetry(attempt: attempt, at: retry.at, error: retry.error.orAbout(reference)))
            }
        }
        list?.metrics.retries += 1
        timer?.cancel()
        timer = time.after(pause) { [self] in post(.retryDue(attempt: attempt)) }
    }

    private func end(_ status: Status) {
        timer?.cancel()
        sessionState = .closed
        dropBytes()
        guard case .ended(let outcome) = machine.state, let recordWriter, !recordWriter.isDone(after: outcome) else {
            return tellEnd(status)
        }
        Loop.task { [self] in
            await recordWriter.end(outcome, machine.progress, at: time.now())
            tellEnd(status)
        }
    }

    /// Whoever knows the id of an upload of the gateway may send its bytes: it is in no log.
    private var logName: String { origin == .gateway ? "of \(reference.url)" : id }

    private func logEnd() {
        guard let info = log.info, let elapsed, case .ended(let outcome) = machine.state else { return }
        let how =
            switch outcome {
            case .succeeded: "succeeded"
            case .cancelled: "was cancelled"
            case .cancelledInDoubt: "was cancelled, and its object may be stored"
            case .failed(let error): "failed with \(error.logText)"
            }
        info("\(Strategy.kind) \(logName) \(how) after \(elapsed()): \(machine.progress.completedUnitCount) bytes")
    }

    private func tellEnd(_ status: Status) {
        isTold = true
        list?.count(self)
        publish(status)
        logEnd()
        forget { _ in true }
        stream?.taskEnded()
        dropWorkingState()
        list?.metrics.ended(state)
        list?.finish(self)
        settled.wakeAll()
        finished.wakeAll()
    }

    /// The progress and state that the task store should have.
    struct PersistedState {
        let completed: Int64
        let isWaiting: Bool

        init(_ machine: Machine) {
            completed = machine.progress.completedUnitCount
            isWaiting = machine.taskState == .paused || machine.retry != nil
        }
    }

    /// Records the state where it has changed enough.
    private func persistProgress() {
        let now = PersistedState(machine)
        guard let recordWriter, let session, !machine.taskState.isFinished else { return }
        guard now.completed - persisted.completed >= Strategy.persistInterval || now.isWaiting != persisted.isWaiting
        else { return }
        persisted = now
        if recordWriter.isKept || now.isWaiting { recordWriter.keep(machine.progress, session.bookmark) }
    }

    private func keep(_ session: any TransferSession<Strategy>) async {
        guard let recordWriter, await session.bookmark() != nil else { return }
        recordWriter.keep(machine.progress, session.bookmark)
        await recordWriter.settled()
    }
}
