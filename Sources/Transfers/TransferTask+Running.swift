import Platform
import Storage

extension TransferTask {
    /// Each event is handled whole, with all its effects, before the next one.
    func post(_ event: Machine.Event) {
        events.append(event)
        guard !isHandling else { return }
        isHandling = true
        while !events.isEmpty {
            if !machine.taskState.isFinished { wasPaused = machine.taskState == .paused }
            for effect in machine.handle(events.removeFirst()) { carryOut(effect) }
        }
        isHandling = false
        note()
        if machine.isSettled { settled.wakeAll() }
    }

    /// The process ends, and nobody has kept the task: it ends with it.
    func letGo() { if page == nil { session?.discard() } }

    private func carryOut(_ effect: Machine.Effect) {
        switch effect {
        case .acquire: places.acquire(self)
        case .release: places.release(self)
        case .perform(let step): perform(step)
        case .abort: abort()
        case .wake(let attempt, let pause): wake(attempt, after: pause)
        case .discard: session?.discard()
        case .publish(let status) where machine.taskState.isFinished && status != .progress: end(status)
        case .publish(let status): publish(status)
        }
    }

    private func perform(_ step: Course.Step) {
        guard let session else { return }
        let elapsed = time.clock.stopwatch()
        let reports = Reports { [weak self] in self?.post(.reported($0, took: elapsed())) }
        Task { [time, replacesNewer] in
            let answer = await session.perform(step, replacesNewer, reports.take)
            reports.close()
            let took = elapsed()
            // The journal is at most one chunk behind: what came before this step is kept while it runs.
            await page?.settled()
            if Course.isOpening(step) { await keep(session) }
            post(.answered(answer, took: took, at: time.now()))
        }
    }

    /// In the turn after this one: by then a step that was begun in this one is in flight, and can hear of it.
    private func abort() {
        Task { [session] in
            if case .stopping(_, .pause) = machine.state { session?.stopSoon() } else { session?.abort() }
        }
    }

    private func wake(_ attempt: Int, after pause: Duration) {
        alarm?.cancel()
        alarm = Task { [time] in
            do { try await time.clock.sleep(for: pause) } catch { return }
            post(.retryDue(attempt: attempt))
        }
    }

    private func publish(_ status: Status) {
        let news = snapshot(for: status)
        for observer in observers where observer.status == status { observer.listener.hear(observer.handle, news) }
    }

    /// Nobody hears of the end before it is kept.
    private func end(_ status: Status) {
        alarm?.cancel()
        line = .over
        letGoOfBytes()
        guard case .ended(let outcome) = machine.state, let page, !page.isDone(after: outcome) else {
            return tellEnd(status)
        }
        Task {
            await page.end(outcome, machine.progress, at: time.now())
            tellEnd(status)
        }
    }

    private func tellEnd(_ status: Status) {
        isTold = true
        publish(status)
        forget { _ in true }
        keepLess()
        ended(self)
        settled.wakeAll()
        finished.wakeAll()
    }
}

// MARK: - For the next process

extension TransferTask {
    /// What is worth a word to the journal.
    struct Noted {
        let completed: Int64
        let isWaiting: Bool

        init(_ machine: Machine) {
            completed = machine.progress.completedUnitCount
            isWaiting = machine.taskState == .paused || machine.retry != nil
        }
    }

    /// Has the journal keep what is new, if it is worth it.
    private func note() {
        let now = Noted(machine)
        guard let page, let session, !machine.taskState.isFinished else { return }
        guard now.completed - noted.completed >= Course.stepWorthKeeping || now.isWaiting != noted.isWaiting else {
            return
        }
        noted = now
        if page.isKept || now.isWaiting { page.keep(machine.progress, session.bookmark) }
    }

    /// Returns when it is kept where the engine is.
    private func keep(_ session: Session<Course>) async {
        guard let page else { return }
        page.keep(machine.progress, session.bookmark)
        await page.settled()
    }
}
