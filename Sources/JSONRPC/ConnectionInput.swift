import JSONText
import EventLoop

extension Connection {
    func read() {
        guard let stream else { return }
        switch stream.read(into: ReadBuffer.shared) {
        case .bytes(let count):
            framing.append(UnsafeRawBufferPointer(rebasing: ReadBuffer.shared[..<count]))
            receive()
        case .notNow:
            break
        case .end:
            framing.finish()
            hasEnd = true
            receive()
        case .broken:
            close()
        }
    }

    /// Begins what has arrived whole, as far as the gate lets it in.
    func receive() {
        let depth = limits.nesting
        while mayReceive {
            let next = framing.next { bytes in
                tap?(.client, bytes)
                return Arrival(Self.parse(bytes, maxDepth: depth), bytes: bytes.count)
            }
            guard let frame = next else {
                if hasEnd { endInput() }
                break
            }
            switch frame {
            case .message(let arrival):
                switch arrival.message {
                case .success(let message): receive(message, bytes: arrival.bytes)
                case .failure(let error): reply(.null, .failure(error))
                }
            case .tooLong(let bytes, let limit): reply(.null, .failure(.tooLong(bytes, limit)))
            case .unreadable(let reason):
                reply(.null, .failure(.invalidRequest("The headers cannot be read: \(reason).")))
                hasEnd = true
            }
        }
        adjust()
    }

    /// Asks the poller for just what can be used now.
    func adjust() {
        stream?.want(input: mayReceive && !hasEnd, room: outbox.isBlocked)
    }

    private var mayReceive: Bool {
        stream != nil && !inputIsOver && gate.isOpen(wider: !questions.isEmpty) && outbox.unsent < limits.crowded
    }

    private nonisolated static func parse(
        _ bytes: UnsafeRawBufferPointer, maxDepth: Int
    ) -> Result<JSON, RPCError> {
        do throws(JSONSyntaxError) {
            return .success(try JSON(parsing: bytes, maxDepth: maxDepth))
        } catch {
            return .failure(.parseError("\(error)"))
        }
    }

    private func receive(_ message: JSON, bytes: Int) {
        guard let items = message.array else { return begin(message, bytes: bytes, in: nil) }
        guard (1...limits.batchMessages).contains(items.count) else {
            let why =
                items.isEmpty
                ? "A batch must not be empty."
                : "A batch has at most \(limits.batchMessages) messages, this one \(items.count)."
            return reply(.null, .failure(.invalidRequest(why)))
        }
        let batch = Batch(count: items.count)
        for item in items { begin(item, bytes: bytes / items.count, in: batch) }
    }

    private func begin(_ message: JSON, bytes: Int, in batch: Batch?) {
        if questions.take(message) { return settle(nil, nil, {}, in: batch) }
        switch Incoming(message) {
        case .notification(let method, let params) where method == "$/cancelRequest":
            cancel(params)
            settle(nil, nil, {}, in: batch)
        case .request(let id, let method, let params):
            begin(id, method, params, bytes: bytes, in: batch)
        case .notification(let method, let params):
            begin(nil, method, params, bytes: bytes, in: batch)
        case .invalid(let id, let error):
            settle(id, .failure(error), {}, in: batch)
        case .ignored:
            settle(nil, nil, {}, in: batch)
        }
    }

    private func begin(_ id: RequestID?, _ method: String, _ params: Params, bytes: Int, in batch: Batch?) {
        guard let prompt else { return }
        let context = prompt.context
        let call: MethodTable<Context>.Call
        do throws(RPCError) {
            if let batch { try checkRoom(in: batch) }
            try context.admit(method)
            call = try table.call(method, params)
        } catch {
            return settle(id, .failure(failure(error, of: method)), {}, in: batch)
        }
        switch call {
        case .prompt(let run):
            do {
                settle(id, .success(try run(prompt)), {}, in: batch)
            } catch {
                settle(id, .failure(failure(error, of: method)), {}, in: batch)
            }
        case .waiting(let run):
            start(id, method, run, in: context, bytes: bytes, in: batch)
        }
    }

    private func start(
        _ id: RequestID?, _ method: String,
        _ run: @escaping @Loop @Sendable (Request<Context>) async throws -> MethodTable<Context>.Answer,
        in context: Context, bytes: Int, in batch: Batch?
    ) {
        lastNumber += 1
        let number = lastNumber
        gate.enter(bytes: bytes)
        underWay[number] = UnderWay(id: id, bytes: bytes)
        let request = Request(
            context: context, takeSeat: { [weak self] in self?.takeSeat(number) ?? true },
            leaveGate: { [weak self] in self?.leaveGate(number) },
            awaitRoom: { [weak self] in try await self?.awaitRoom(in: batch) })
        let place = RequestPlace { [weak self] in self?.lendPlace(number, $0) }
        let task = RequestPlace.$current.withValue(place) {
            Task.immediate {
                do {
                    let (result, afterwards) = try await run(request)
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

    private func cancel(_ params: Params) {
        var params = params
        guard let id = params.takeOrNull("id").flatMap(RequestID.init) else { return }
        for request in underWay.values where request.id == id { request.task?.cancel() }
    }

    func leaveGate(_ number: Int) {
        guard let request = underWay[number], request.holdsPlace else { return }
        change(number) { $0.holdsPlace = false }
        gate.unload(bytes: request.bytes)
        answered.wakeAll()
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

/// One message, and how long it was.
private struct Arrival {
    let message: Result<JSON, RPCError>
    let bytes: Int

    init(_ message: Result<JSON, RPCError>, bytes: Int) {
        self.message = message
        self.bytes = bytes
    }
}

/// What all connections read into, one after the other.
@Loop
private enum ReadBuffer {
    static let shared = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
}

extension RPCError {
    /// What ended a method, as the peer hears of it.
    fileprivate init(about error: any Error, cancelled: RPCError) {
        switch error {
        case let error as RPCError: self = error
        case let error as any RPCErrorConvertible: self = error.rpcError
        case is CancellationError: self = cancelled
        default: self = .internalError("\(error)")
        }
    }

    fileprivate static func tooLong(_ bytes: Int?, _ limit: Int) -> RPCError {
        let length = bytes.map { "A message of \($0) bytes" } ?? "The message"
        return .invalidRequest("\(length) is longer than the limit of \(limit) bytes.")
    }
}
