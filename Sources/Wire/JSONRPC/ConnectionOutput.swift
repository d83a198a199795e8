import ClientMemory
import JSONText
import Platform

// The output of a connection, and the time of its writes.
extension Connection {
    public func notify(_ method: String, _ params: some JSONWritable, _ delivery: DeliveryPolicy) {
        guard stream != nil else { return }
        outlet.notify(method, params, delivery, intake.style)
        scheduleFlush()
    }

    public func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON {
        guard phase < .draining else { throw PeerRequestError.disconnected }
        return try await outgoingRequests.send(timeout: timeout) { number in
            guard stream != nil else { return }
            let id = JSON(Int64(number))
            outlet.put(["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params], intake.style)
            scheduleFlush()
        }
    }

    /// Answers a request that has run.
    func finish(
        _ number: Int, _ outcome: Outcome, _ afterwards: @escaping PreparedCall.Afterwards, in batch: Batch?
    ) {
        guard let request = pending.end(number) else { return }
        intake.memory.use(pending.bytes)
        settle(request.id, outcome, afterwards, in: batch)
        // The answer counts as memory before its promise ends.
        outlet.noteUnread()
        outlet.memory.free(request.reservedAnswerBytes)
        answered.wakeAll()
        scheduleFlush()
    }

    /// Writes exactly one reply to a message with an id, then calls `afterwards`. A batch is written when it is
    /// complete.
    func settle(
        _ id: RequestID?, _ outcome: Outcome?, _ afterwards: @escaping PreparedCall.Afterwards, in batch: Batch?
    ) {
        guard let batch else {
            if let id, let outcome { reply(id, outcome) }
            return afterwards()
        }
        if let id, let outcome {
            metrics.answered(outcome)
            intake.budget.spend(bytes: outlet.reply(id, outcome, in: batch))
        }
        batch.afterwards.append(afterwards)
        if batch.isComplete(with: 1) { complete(batch) }
    }

    func complete(_ batch: Batch) {
        if stream != nil {
            outlet.put(batch, intake.style)
            scheduleFlush()
        }
        // The closures may retain the batch.
        for step in exchange(&batch.afterwards, with: []) { step() }
    }

    func reply(_ id: RequestID, _ outcome: Outcome) {
        metrics.answered(outcome)
        guard stream != nil else { return }
        intake.budget.spend(bytes: outlet.reply(id, outcome, intake.style))
        scheduleFlush()
    }

    /// Schedules one flush at the end of the iteration, and begins messages that admission has held back.
    func scheduleFlush() {
        guard scheduled.insert(.flush).inserted else { return }
        Loop.atEndOfIteration { [self] in
            scheduled.remove(.flush)
            guard stream != nil else { return }
            if let overrun { return close("the client \(overrun)") }
            receive()
            flushUnlessMoreComes()
        }
    }

    func flushUnlessMoreComes() {
        if !scheduled.contains(.receive) || outlet.isWorthWriting { flush() }
    }

    func flush() {
        guard let stream else { return }
        do { try outlet.flush(to: stream) } catch {
            writeError = error as? SystemError
            return close("it cannot be written to: \(error)")
        }
        if !outlet.isEmpty, !outlet.isBlocked { resumeInNextIteration() }
        if phase == .flushing, outlet.isEmpty { return close() }
        outlet.noteFlush(intake.batch)
        adjust()
    }

    /// Returns when room for an answer of `bytes` bytes, part of which may be reserved already, is reserved.
    func awaitRoom(for number: Int, expecting bytes: Int, in batch: Batch?) async throws {
        let before = pending[number]?.reservedAnswerBytes ?? 0
        if before > 0, before >= bytes { return }
        let bytes = bytes - before
        if let batch {
            try outlet.takeRoom(for: bytes, in: batch)
        } else {
            pending[number]?.waitsForRoom = true
            defer { pending[number]?.waitsForRoom = false }
            while stream != nil, !outlet.mayPromise(bytes, intake.batch) { try await outlet.shrank.wait() }
            guard try await outlet.memory.reserve(bytes, unless: { pending[number] == nil }) else { return }
        }
        keepRoom(bytes, for: number)
    }

    /// Reserves room for an answer if there is enough at once, and returns whether it has.
    func takeRoom(for number: Int, expecting bytes: Int, in batch: Batch?) -> Bool {
        let bytes = max(0, bytes - (pending[number]?.reservedAnswerBytes ?? 0))
        if let batch {
            do { try outlet.takeRoom(for: bytes, in: batch) } catch { return false }
        } else {
            guard stream != nil, outlet.mayPromise(bytes, intake.batch), outlet.memory.reserveAtOnce(bytes) else {
                return false
            }
        }
        keepRoom(bytes, for: number)
        return true
    }

    private func keepRoom(_ bytes: Int, for number: Int) {
        guard pending[number] != nil else { return outlet.memory.free(bytes) }
        pending[number]?.reservedAnswerBytes += bytes
    }

    /// Called when other connections wait for the memory of unread output.
    func disconnectIdleReader() {
        if let overrun = outlet.revoked() { close("the client \(overrun)") }
    }
}
