import EventLoop

extension Connection {
    /// Bytes of answers that may wait for the peer before no more of its requests are read.
    private static var unsentLimit: Int { 64 << 20 }

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
        while mayReceive {
            guard let frame = framing.next({ bytes in (Self.parse(bytes), bytes.count) }) else {
                if hasEnd { endInput() }
                break
            }
            switch frame {
            case .message((.success(let message), let count)): receive(message, bytes: count)
            case .message((.failure(let error), _)): reply(.null, .failure(error))
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
        stream != nil && !inputIsOver && gate.isOpen && outbox.unsent < Self.unsentLimit
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) -> Result<JSON, RPCError> {
        do throws(JSONSyntaxError) {
            return .success(try JSON(parsing: bytes))
        } catch {
            return .failure(.parseError("\(error)"))
        }
    }

    private func receive(_ message: JSON, bytes: Int) {
        guard let items = message.array else { return begin(Incoming(message), bytes: bytes, in: nil) }
        guard !items.isEmpty else { return reply(.null, .failure(.invalidRequest("A batch must not be empty."))) }
        let batch = Batch(count: items.count)
        for item in items { begin(Incoming(item), bytes: bytes / items.count, in: batch) }
    }

    private func begin(_ incoming: Incoming, bytes: Int, in batch: Batch?) {
        switch incoming {
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
        guard let context else { return }
        let call: MethodTable<Context>.Call
        do throws(RPCError) {
            try context.admit(method)
            call = try table.call(method, params)
        } catch {
            return settle(id, .failure(error), {}, in: batch)
        }
        lastNumber += 1
        let number = lastNumber
        gate.enter(bytes: bytes)
        underWay[number] = UnderWay(id: id, bytes: bytes)
        let request = Request(context: context) { [weak self] in self?.leaveGate(number) }
        underWay[number]?.task = Task {
            let (outcome, afterwards) = await outcome(of: call, request)
            finish(number, outcome, afterwards, in: batch)
        }
    }

    private func outcome(
        of call: MethodTable<Context>.Call, _ request: Request<Context>
    ) async -> (Result<JSON, RPCError>, MethodTable<Context>.Afterwards) {
        do {
            let (result, afterwards) = try await call(request)
            return (.success(result), afterwards)
        } catch let error as RPCError {
            return (.failure(error), {})
        } catch let error as any RPCErrorConvertible {
            return (.failure(error.rpcError), {})
        } catch is CancellationError {
            return (.failure(cancellation), {})
        } catch {
            return (.failure(.internalError("\(error)")), {})
        }
    }

    private func cancel(_ params: Params) {
        var params = params
        guard let id = params.takeOrNull("id").flatMap(RequestID.init) else { return }
        for request in underWay.values where request.id == id { request.task?.cancel() }
    }

    func leaveGate(_ number: Int) {
        guard let request = underWay[number], request.holdsPlace else { return }
        underWay[number]?.holdsPlace = false
        gate.leave(bytes: request.bytes)
        answered.wakeAll()
        noteTurn()
    }
}

/// What all connections read into, one after the other.
@Loop
private enum ReadBuffer {
    static let shared = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
}

extension RPCError {
    fileprivate static func tooLong(_ bytes: Int?, _ limit: Int) -> RPCError {
        let length = bytes.map { "A message of \($0) bytes" } ?? "The message"
        return .invalidRequest("\(length) is longer than the limit of \(limit) bytes.")
    }
}
