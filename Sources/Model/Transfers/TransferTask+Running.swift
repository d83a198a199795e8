import Platform
import Storage

extension TransferTask {
    /// Handles an event with all its effects before the next one.
    func post(_ event: Machine.Event) {
        events.append(event)
        guard events.count == 1 else { return }
        while let event = events.first {
            if case .reported(let progress, _) = event { known.reported = progress }
            let before = machine.taskState
            let effects = machine.handle(event)
            control.note(before, machine.taskState)
            for effect in effects { carryOut(effect) }
            events.removeFirst()
        }
        list?.count(self)
        trace()
        countBytes()
        persistProgress()
        if machine.isSettled { control.settled.wakeAll() }
    }

    /// A transfer of a folder, which clients do not see, is traced from its first retry on.
    private func trace() {
        guard context.log.changes != nil, isSeen || control.traced != nil || machine.retry != nil else { return }
        trace(TracedPoint(state, machine.retry, machine.progress), in: context.log) {
            var change = TaskChange(snapshot(for: nil))
            // The id of an upload of the gateway is a secret.
            if origin == .gateway { change.task = "gateway-\(number)" }
            return change
        }
    }

    private func countBytes() {
        let bytes = machine.progress.completedUnitCount, isFinishing = isFinishing
        guard bytes > known.counted || isFinishing != known.isFinishing else { return }
        list?.metrics.add(max(0, bytes - known.counted))
        known.counted = max(bytes, known.counted)
        if isFinishing { limiter.finish(self) } else if known.isFinishing { limiter.run(self) }
        known.isFinishing = isFinishing
        didProgress?()
    }

    /// Whether all bytes of a download have arrived, so that only the disk delays its end.
    var isFinishing: Bool {
        guard Strategy.kind == .download, case .working = machine.state else { return false }
        return known.reported.map { $0.completedUnitCount == $0.totalUnitCount } ?? false
    }

    /// Discards the session of a task without a record, which ends with the process.
    func discardUnrecordedSession() {
        guard recordWriter == nil else { return }
        steps.stop()
        session?.discard()
    }

    private func carryOut(_ effect: Machine.Effect) {
        switch effect {
        case .acquire: limiter.acquire(self)
        case .release:
            limiter.release(self)
            if case .paused = machine.state { session?.park() }
        case .perform(let step): perform(step)
        case .abort: stopStep()
        case .wake(let attempt, let pause): wake(attempt, after: pause)
        case .discard: session?.discard()
        case .publish(let status) where machine.taskState.isFinished && status != .progress: recordEnd()
        case .publish(let status): publish(status)
        }
    }

    private func perform(_ step: Strategy.Step) {
        guard let session else { return }
        known.reported = nil
        let elapsed = context.time.clock.stopwatch()
        let reports = ProgressRelay { [weak self] in self?.post(.reported($0, took: elapsed())) }
        let flags = StepFlags(replacesNewer: control.replacesNewer)
        steps.perform(step, by: session, flags, report: reports.take) { [self] answer in
            reports.close()
            await answered(answer, to: step, took: elapsed())
        }
    }

    /// Handles the answer to the step in flight.
    func answered(_ answer: Machine.Answer, to step: Strategy.Step, took: Duration) async {
        // The record is at most one chunk behind: the state before this step is written while the step runs.
        await recordWriter?.settled()
        if let session, Strategy.isOpening(step) { await keep(session) }
        let answer = answer.failure.map { .failed(context.explained($0, of: id)) } ?? answer
        post(.answered(answer, took: took, at: context.time.now()))
    }

    private func stopStep() {
        if case .stopping(_, .pause) = machine.state { steps.stop(isPause: true) } else { steps.stop() }
    }

    private func wake(_ attempt: Int, after pause: Duration) {
        if let retry = machine.retry {
            context.log.debug?(
                "task \(logName) tries \(retry.of.rawValue) again in \(pause): attempt \(attempt), after \(retry.error.logText)",
                LogFacts(task: loggedID, object: reference.url, bytes: machine.progress.completedUnitCount))
            if control.observers.isEmpty {
                willRetry?(RequestRetry(attempt: attempt, at: retry.at, error: retry.error.orAbout(reference)))
            }
        }
        list?.metrics.retries += 1
        timer?.cancel()
        timer = context.time.after(pause) { [self] in post(.retryDue(attempt: attempt)) }
    }

    private func recordEnd() {
        timer?.cancel()
        closeSession()
        guard case .ended(let outcome) = machine.state, let recordWriter, !recordWriter.isDone(after: outcome) else {
            return didEnd()
        }
        Loop.task { [self] in
            await recordWriter.end(outcome, machine.progress, at: context.time.now())
            didEnd()
        }
    }

    /// The id of the task for the log. Nil for an upload of the gateway, whose id is a secret with which any program can
    /// send bytes.
    private var loggedID: String? { origin == .gateway ? nil : id }
    private var logName: String { loggedID ?? "of \(reference.url)" }

    private func logEnd(after took: Duration) {
        guard let info = context.log.info, case .ended(let outcome) = machine.state else { return }
        let how =
            switch outcome {
            case .succeeded: "succeeded"
            case .cancelled: "was cancelled"
            case .cancelledInDoubt: "was cancelled, and its object may be stored"
            case .failed(let error): "failed with \(error.logText)"
            }
        let bytes = machine.progress.completedUnitCount
        info(
            "\(Strategy.kind) \(logName) \(how) after \(took): \(bytes) bytes",
            LogFacts(task: loggedID, object: reference.url, bytes: bytes, duration: took))
    }

    private func didEnd() {
        tellEnd()
        list?.count(self)
        trace()
        let took = elapsed()
        logEnd(after: took)
        stream?.taskEnded()
        dropWorkingState()
        list?.metrics.ended(state, after: took)
        list?.finish(self)
        wakeAll()
    }

    /// The progress and the state that the metrics and the task store have.
    struct Known {
        /// The acknowledged bytes that the metrics have counted.
        var counted: Int64
        var completed: Int64
        var isWaiting: Bool
        /// The latest report of the step in flight, which may have fewer bytes than an earlier one.
        var reported: Progress?
        /// Whether only the disk delays the end, as the limiter knows.
        var isFinishing = false

        init(_ machine: Machine) {
            completed = machine.progress.completedUnitCount
            counted = completed
            isWaiting = machine.taskState == .paused || machine.retry != nil
        }
    }

    /// Records the state if it has changed enough.
    private func persistProgress() {
        guard let recordWriter, let session, !machine.taskState.isFinished else { return }
        let now = Known(machine)
        guard now.completed - known.completed >= Strategy.persistInterval || now.isWaiting != known.isWaiting
        else { return }
        (known.completed, known.isWaiting) = (now.completed, now.isWaiting)
        if recordWriter.isKept || now.isWaiting { recordWriter.keep(machine.progress, session.bookmark) }
    }

    private func keep(_ session: any TransferSession<Strategy>) async {
        guard let recordWriter, await session.bookmark() != nil else { return }
        recordWriter.keep(machine.progress, session.bookmark)
        await recordWriter.settled()
    }
}
