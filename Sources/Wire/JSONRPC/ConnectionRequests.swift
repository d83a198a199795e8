import ClientMemory
import Metrics
import Platform
import JSONText

// The life of a request, from its message to its reply.

extension Connection {
    func begin(_ message: DecodedMessage, bytes: Int, in batch: Batch?) {
        intake.budget.spend(requests: 1, bytes: bytes)
        switch message {
        case .call(let id, let method, let call): begin(id, method, call, bytes: bytes, in: batch)
        case .cancellation(let id):
            cancel(id)
            settle(nil, nil, {}, in: batch)
        case .answer(let number, let answer, let otherwise):
            guard outgoingRequests.complete(number, with: answer) else {
                return begin(otherwise, bytes: bytes, in: batch)
            }
            settle(nil, nil, {}, in: batch)
        case .invalid(let id, let error): settle(id, .failure(error), {}, in: batch)
        case .ignored: settle(nil, nil, {}, in: batch)
        case .refused(let refusal, let message):
            refusal()
            begin(message, bytes: bytes, in: batch)
        }
    }

    /// Begins a plain call with the same effect as the general way, and answers it.
    func begin(_ id: RequestID, promptAt place: Int, bytes: Int) {
        guard let context, let prompt, let run = table.prompt(at: place) else { return }
        intake.budget.spend(requests: 1, bytes: bytes)
        let elapsed = debug == nil ? nil : clock.stopwatch()
        let method = table.names[place]
        metrics.began(at: place)
        let outcome: Outcome
        do {
            try context.admit(method)
            outcome = .success(try run(prompt))
        } catch {
            outcome = .failure(failure(error, of: method))
        }
        reply(id, outcome)
        logEnd(of: method, id, outcome, elapsed)
    }

    /// Answers a text that is not a message.
    func refuse(_ error: RPCError) {
        context?.didRefuseUnreadable()
        reply(.null, .failure(error))
    }

    private func begin(
        _ id: RequestID?, _ method: String, _ call: Result<PreparedCall, RPCError>, bytes: Int,
        in batch: Batch?
    ) {
        guard let context else { return }
        let elapsed = debug == nil ? nil : clock.stopwatch()
        metrics.began(at: (try? call.get())?.place ?? table.place(of: method))
        let outcome: Outcome
        do {
            do {
                if let batch { try outlet.checkRoom(in: batch) }
                try context.admit(method)
            } catch {
                (try? call.get())?.refusal?()
                throw error
            }
            switch try call.get().way {
            case .prompt(let run): outcome = .success(try run())
            case .waiting(let run): return start(id, method, run, bytes: bytes, in: batch, elapsed)
            case .recalling(let recall, let run):
                guard let known = try recall() else { return start(id, method, run, bytes: bytes, in: batch, elapsed) }
                outcome = .success(known)
            }
        } catch {
            outcome = .failure(failure(error, of: method))
        }
        settle(id, outcome, {}, in: batch)
        logEnd(of: method, id, outcome, elapsed)
    }

    private func start(
        _ id: RequestID?, _ method: String,
        _ run: @escaping PreparedCall.Waiting, bytes: Int, in batch: Batch?, _ elapsed: (@Sendable () -> Duration)?
    ) {
        intake.budget.spend(requests: 1, bytes: 0)
        let number = pending.begin(PendingRequest(id: id, bytes: bytes))
        intake.memory.use(pending.bytes)
        let controls = RequestControls(connection: self, number: number, batch: batch)
        let began = Histogram.Start()
        let task = Loop.immediateTask { [self] in
            do {
                let (result, afterwards) = try await run(controls)
                measure(number, since: began)
                finish(number, .success(result), afterwards, in: batch)
                logEnd(of: method, id, .success(result), elapsed)
            } catch {
                // A cancelled wait for a task throws its own error; other work may throw anything.
                let onlyWaits = pending[number]?.isWaiting == true
                let cause: any Error = Task.isCancelled && !onlyWaits ? CancellationError() : error
                let outcome = Outcome.failure(failure(cause, of: method))
                measure(number, since: began)
                finish(number, outcome, {}, in: batch)
                logEnd(of: method, id, outcome, elapsed)
            }
        }
        pending[number]?.task = task
    }

    /// Records the duration of a request, unless it waits for the end of a task.
    private func measure(_ number: Int, since began: Histogram.Start) {
        if pending[number]?.isWaiting == false { metrics.durations.record(since: began) }
    }

    /// Logs a request that was answered, without its params, which may contain secrets.
    private func logEnd(of method: String, _ id: RequestID?, _ outcome: Outcome, _ elapsed: (@Sendable () -> Duration)?)
    {
        guard let debug, let elapsed else { return }
        let request = id.map { "request \($0.text.shortened)" } ?? "notification"
        let end = if case .failure(let error) = outcome { "failed with \(error.code)" } else { "succeeded" }
        let took = elapsed()
        debug(
            "\(request) \(method.shortened) \(end) after \(Int64(took / .microseconds(1))) µs", LogFacts(duration: took)
        )
    }

    /// Returns the error for the peer, and reports internal errors.
    private func failure(_ error: any Error, of method: String) -> RPCError {
        let error = RPCError(about: error, cancelled: cancellation)
        if error.code == RPCError.internalErrorCode { reportInternalError("\(method): \(error.message)") }
        return error
    }

    private func cancel(_ id: RequestID?) {
        guard let id else { return }
        intake.budget.spend(requests: pending.count / 64, bytes: 0)
        for request in pending.all where request.id == id { request.task?.cancel() }
    }

    func beginWaiting(_ number: Int, keepsBytes: Bool) {
        change(number) { ($0.isWaiting, $0.keepsBytes) = (true, keepsBytes) }
        intake.memory.use(pending.bytes)
        answered.wakeAll()
    }

    func takeWaitingPlace(_ number: Int) -> Bool { pending.takeWaitingPlace(number) }

    func change(_ number: Int, _ change: (PendingRequest) -> Void) {
        if pending.change(number, change) { scheduleFlush() }
    }
}

extension RPCError {
    /// The error of a reply.
    init(about error: any Error, cancelled: RPCError) {
        switch error {
        case let error as RPCError: self = error
        case let error as any RPCErrorConvertible: self = error.rpcError
        case is CancellationError: self = cancelled
        case let error as CancelledWait: self.init(code: cancelled.code, message: cancelled.message, data: error.data)
        default: self = .internalError("\(error)")
        }
    }
}
