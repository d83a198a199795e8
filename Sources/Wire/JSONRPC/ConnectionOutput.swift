import JSONText
import Platform

extension Connection {
    typealias Outcome = Result<ResultPayload, RPCError>

    public func notify(_ method: String, _ params: JSON, _ delivery: DeliveryPolicy) {
        guard stream != nil else { return }
        let message: JSON = ["jsonrpc": "2.0", "method": .string(method), "params": params]
        switch delivery {
        case .always where outbox.isBlocked && outbox.unsent >= limits.unreadBytes:
            overrun = "had left \(limits.unreadBytes) bytes unread (--max-unread-bytes)"
            scheduleFlush()
        case .always:
            put { message.write(to: &$0) }
        case .latest(let key):
            var bytes: [UInt8] = []
            style.wrap(into: &bytes) { message.write(to: &$0) }
            outbox.put(bytes, sample: key)
            scheduleFlush()
        }
    }

    public func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON {
        guard phase < .draining else { throw PeerRequestError.disconnected }
        return try await outgoingRequests.send(timeout: timeout) { number in
            let id = JSON(Int64(number))
            let message: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
            put { message.write(to: &$0) }
        }
    }

    /// Answers a request that has run.
    func finish(
        _ number: Int, _ outcome: Outcome, _ afterwards: @escaping PreparedCall.Afterwards, in batch: Batch?
    ) {
        guard let request = pending.removeValue(forKey: number) else { return }
        admission.end(request)
        inputMemory.use(admission.bytes)
        settle(request.id, outcome, afterwards, in: batch)
        outputMemory.free(request.reservedAnswerBytes)
        answered.wakeAll()
        scheduleFlush()
    }

    /// Writes exactly one reply to a message with an id, then runs `afterwards`. A batch replies when it is complete.
    func settle(
        _ id: RequestID?, _ outcome: Outcome?, _ afterwards: @escaping PreparedCall.Afterwards, in batch: Batch?
    ) {
        guard let batch else {
            if let id, let outcome { reply(id, outcome) }
            return afterwards()
        }
        if let id, let outcome {
            let size = batch.size
            metrics.answered(outcome)
            batch.add { Self.write(id, outcome, to: &$0) }
            budget.spend(bytes: batch.size - size)
            batchedBytes += batch.size - size
        }
        batch.afterwards.append(afterwards)
        if batch.isComplete(with: 1) { complete(batch) }
    }

    func complete(_ batch: Batch) {
        batchedBytes -= batch.size
        if let replies = batch.takeReplies() { put(replies) }
        // The closures may hold the batch.
        for step in exchange(&batch.afterwards, with: []) { step() }
    }

    func reply(_ id: RequestID, _ outcome: Outcome) {
        let unsent = outbox.unsent
        metrics.answered(outcome)
        if Self.isLarge(id, outcome) {
            var message = SegmentedBytes()
            Self.write(id, outcome, to: &message)
            put(message)
        } else {
            put { Self.write(id, outcome, to: &$0) }
        }
        budget.spend(bytes: outbox.unsent - unsent)
    }

    private func put(_ payload: (inout [UInt8]) -> Void) {
        guard stream != nil else { return }
        let (style, trace) = (style, trace)
        outbox.put { buffer in
            style.wrap(into: &buffer) { message in
                let start = message.count
                payload(&message)
                if let trace { message[start...].withUnsafeBytes { trace(.service, $0) } }
            }
        }
        scheduleFlush()
    }

    private func put(_ message: SegmentedBytes) {
        guard stream != nil else { return }
        if let trace { message.joined.withUnsafeBytes { trace(.service, $0) } }
        outbox.put(style.wrapped(message))
        scheduleFlush()
    }

    /// The framing of the peer, or lines before its first message.
    private var style: Framing.Style { framing.style ?? .lines }

    /// Says whether copying the reply would cost more than keeping its parts.
    private nonisolated static func isLarge(_ id: RequestID, _ outcome: Outcome) -> Bool {
        if case .success(.encoded) = outcome { true } else { id.bytes.count >= SegmentedBytes.pieceBytes }
    }

    private nonisolated static func write(_ id: RequestID, _ outcome: Outcome, to message: inout SegmentedBytes) {
        guard isLarge(id, outcome) else { return message.append { write(id, outcome, to: &$0) } }
        message.append { $0.append("{\"jsonrpc\":\"2.0\",\"id\":") }
        message.append(id.bytes)
        if case .success(.encoded(let result)) = outcome {
            message.append { $0.append(",\"result\":") }
            for segment in result.segments { message.append(segment) }
        } else {
            message.append { write(outcome, to: &$0) }
        }
        message.append { $0.append(UInt8(ascii: "}")) }
    }

    private nonisolated static func write(_ id: RequestID, _ outcome: Outcome, to buffer: inout [UInt8]) {
        buffer.append("{\"jsonrpc\":\"2.0\",\"id\":")
        buffer.append(contentsOf: id.bytes)
        write(outcome, to: &buffer)
        buffer.append(UInt8(ascii: "}"))
    }

    private nonisolated static func write(_ outcome: Outcome, to buffer: inout [UInt8]) {
        switch outcome {
        case .success(let result):
            buffer.append(",\"result\":")
            result.write(to: &buffer)
        case .failure(let error):
            buffer.append(",\"error\":")
            error.json.write(to: &buffer)
        }
    }

    /// Flushes once at the end of the iteration, and begins messages that admission has held back.
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

    /// A few answers wait for those of the next iteration, because each write wakes the peer.
    func flushUnlessMoreComes() {
        if !scheduled.contains(.receive) || outbox.unsent >= Self.bytesWorthWriting { flush() }
    }

    private static var bytesWorthWriting: Int { 64 << 10 }

    /// The bytes that one peer is offered in one iteration.
    private static var bytesAtOnce: Int { 256 << 10 }

    func flush() {
        guard let stream else { return }
        do {
            try outbox.flush(atMost: Self.bytesAtOnce) { bytes throws(ByteStream.Broken) in try stream.write(bytes) }
        } catch {
            return close("it cannot be written to")
        }
        if outbox.unsent > 0, !outbox.isBlocked { resumeInNextIteration() }
        if phase == .flushing, outbox.unsent == 0 { return close() }
        outputMemory.progress = outbox.taken >> 16
        outputMemory.use(outbox.unsent + batchedBytes)
        if unread < limits.crowded { outboxShrank.wakeAll() }
        adjust()
    }

    /// The unread bytes, except those of the batch that is beginning, which has to continue.
    var unread: Int { outbox.unsent + (batchedBytes == 0 ? 0 : batchedBytes - (inputState.batch?.size ?? 0)) }

    /// The peer has left so much unread that none of its messages begin.
    var isCrowded: Bool { unread >= limits.crowded || outputMemory.isFull(with: unread) }

    func checkRoom(in batch: Batch) throws(RPCError) {
        guard batchedBytes >= limits.crowded else { return }
        throw .invalidRequest("The batch has answers of \(batch.size) bytes already (--max-unread-bytes).")
    }

    /// Reserves room for an answer of so many bytes, and returns when there is some. A batch is written when it is
    /// complete, so its messages cannot wait for room.
    func awaitRoom(for number: Int, expecting bytes: Int, in batch: Batch?) async throws {
        if let batch {
            try checkRoom(in: batch)
            guard outputMemory.isFull(with: .max) else { return }
            throw RPCError.invalidRequest(
                "Too much is left unread for large answers in a batch (--max-total-unread-bytes).")
        }
        pending[number]?.waitsForRoom = true
        defer { pending[number]?.waitsForRoom = false }
        while stream != nil, unread >= limits.crowded || !mayPromise(bytes) { try await outboxShrank.wait() }
        guard try await outputMemory.reserve(bytes, unless: { pending[number] == nil }) else { return }
        pending[number]?.reservedAnswerBytes += bytes
    }

    private func mayPromise(_ bytes: Int) -> Bool {
        outputMemory.reserved == 0 || unread + outputMemory.reserved + bytes <= limits.crowded
    }

    /// Other connections wait for the memory of unread output.
    func disconnectIdleReader() {
        guard outbox.isBlocked, outbox.unsent >= QuotaShare.least else { return }
        overrun = "read nothing of \(outbox.unsent) bytes while others waited for memory (--max-total-unread-bytes)"
        close("the client \(overrun ?? "")")
    }
}

/// The replies of a batch that is not complete.
@Loop
final class Batch {
    private var remaining: Int
    /// The messages that have not begun.
    var unbegun: Int
    private var bytes = SegmentedBytes()
    var afterwards: [@Loop @Sendable () -> Void] = []

    init(count: Int) { (remaining, unbegun) = (count, count) }

    var size: Int { bytes.count }

    /// Nil when no message wants an answer.
    func takeReplies() -> SegmentedBytes? {
        guard size > 0 else { return nil }
        bytes.append { $0.append(UInt8(ascii: "]")) }
        return exchange(&bytes, with: SegmentedBytes())
    }

    func add(_ write: (inout SegmentedBytes) -> Void) {
        let opening = UInt8(ascii: size == 0 ? "[" : ",")
        bytes.append { $0.append(opening) }
        write(&bytes)
    }

    /// Counts messages as done; returns true with the last one.
    func isComplete(with done: Int) -> Bool {
        remaining -= done
        return remaining == 0
    }
}
