import EventLoop
import JSONText

// What requests do from their beginning to their end.

extension Connection {
    /// A request that has not been answered, or a notification that is still being handled.
    struct UnderWay {
        var id: RequestID?
        var bytes: Int
        /// It works, or waits for its peer; else it only waits for others.
        var holdsPlace = true
        var hasSeat = false
        /// How many of those who work on it wait for its peer.
        var lendings = 0
        /// Bytes that are reserved for its answer.
        var promised = 0
        var task: Task<Void, Never>?

        var isAtGate: Bool { holdsPlace && lendings == 0 }
    }

    func begin(_ message: DecodedMessage, bytes: Int, in batch: Batch?) {
        budget.spend(requests: 1, bytes: bytes)
        switch message {
        case .call(let id, let method, let call): begin(id, method, call, bytes: bytes, in: batch)
        case .cancellation(let id):
            cancel(id)
            settle(nil, nil, {}, in: batch)
        case .answer(let number, let answer, let otherwise):
            guard questions.take(answer, to: number) else { return begin(otherwise, bytes: bytes, in: batch) }
            settle(nil, nil, {}, in: batch)
        case .invalid(let id, let error): settle(id, .failure(error), {}, in: batch)
        case .ignored: settle(nil, nil, {}, in: batch)
        }
    }

    private func begin(
        _ id: RequestID?, _ method: String, _ call: Result<PreparedCall, RPCError>, bytes: Int,
        in batch: Batch?
    ) {
        guard let context else { return }
        do {
            if let batch { try checkRoom(in: batch) }
            try context.admit(method)
            switch try call.get() {
            case .prompt(let run): settle(id, .success(try run()), {}, in: batch)
            case .waiting(let run): start(id, method, run, bytes: bytes, in: batch)
            }
        } catch {
            settle(id, .failure(failure(error, of: method)), {}, in: batch)
        }
    }

    private func start(
        _ id: RequestID?, _ method: String,
        _ run: @escaping @Loop @Sendable (RequestControls) async throws -> PreparedCall.Answer,
        bytes: Int, in batch: Batch?
    ) {
        budget.spend(requests: 1, bytes: 0)
        lastNumber += 1
        let number = lastNumber
        gate.enter(bytes: bytes)
        incoming.use(gate.bytes)
        underWay[number] = UnderWay(id: id, bytes: bytes)
        let controls = RequestControls(
            takeSeat: { [weak self] in self?.takeSeat(number) ?? true },
            leaveGate: { [weak self] in self?.leaveGate(number) },
            awaitRoom: { [weak self] in try await self?.awaitRoom(for: number, expecting: $0, in: batch) })
        let place = RequestPlace { [weak self] in self?.lendPlace(number, $0) }
        let task = RequestPlace.$current.withValue(place) {
            Task.immediate {
                do {
                    let (result, afterwards) = try await run(controls)
                    finish(number, .success(result), afterwards, in: batch)
                } catch {
                    // One that only waits is told by its wait that it was cancelled; other work fails somehow.
                    let onlyWaits = underWay[number]?.holdsPlace == false
                    let cause: any Error = Task.isCancelled && !onlyWaits ? CancellationError() : error
                    finish(number, .failure(failure(cause, of: method)), {}, in: batch)
                }
            }
        }
        underWay[number]?.task = task
    }

    /// As the peer hears of it; the service hears of what nobody has foreseen, too.
    private func failure(_ error: any Error, of method: String) -> RPCError {
        let error = RPCError(about: error, cancelled: cancellation)
        if error.code == RPCError.internalErrorCode { unforeseen("\(method): \(error.message)") }
        return error
    }

    private func cancel(_ id: RequestID?) {
        guard let id else { return }
        budget.spend(requests: underWay.count / 64, bytes: 0)
        for request in underWay.values where request.id == id { request.task?.cancel() }
    }

    func leaveGate(_ number: Int) {
        guard let request = underWay[number], request.holdsPlace else { return }
        change(number) { $0.holdsPlace = false }
        unload(request)
        answered.wakeAll()
    }

    func unload(_ request: UnderWay) {
        gate.unload(bytes: request.bytes)
        incoming.use(gate.bytes)
    }

    /// False where as many wait as may.
    private func takeSeat(_ number: Int) -> Bool {
        guard underWay[number]?.hasSeat == false else { return true }
        guard seatsTaken < limits.waitingRequests else { return false }
        seatsTaken += 1
        underWay[number]?.hasSeat = true
        return true
    }

    /// Its bytes stay, for it has need of them yet.
    private func lendPlace(_ number: Int, _ isLent: Bool) {
        change(number) { $0.lendings += isLent ? 1 : -1 }
    }

    /// Keeps the gate to what a request says of its place.
    private func change(_ number: Int, _ change: (inout UnderWay) -> Void) {
        guard var request = underWay[number] else { return }
        let wasAtGate = request.isAtGate
        change(&request)
        underWay[number] = request
        guard request.isAtGate != wasAtGate else { return }
        if wasAtGate { gate.stopWorking() } else { gate.workOn() }
        noteTurn()
    }
}

extension RPCError {
    /// What ended a method, as the peer hears of it.
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
