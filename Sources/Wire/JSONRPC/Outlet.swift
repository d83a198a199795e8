import ClientMemory
import JSONText
import Platform

/// The result of a request, or its error.
typealias Outcome = Result<ResultPayload, RPCError>

/// The output of one connection: the bytes that its peer has not read, and their share of the memory of all
/// connections.
@Loop
final class Outlet {
    private(set) var outbox: Outbox
    let memory: QuotaShare
    private let limits: ConnectionLimits
    private let trace: TraceHook?
    /// The size of answers in incomplete batches.
    private var batchedBytes = 0
    /// Why the peer is disconnected, once it has left too much unread; the connection closes at the end of the
    /// iteration.
    private(set) var overrun: String?
    /// Wakes tasks when the peer has read.
    let shrank = Waiters()

    /// The maximum number of bytes offered to one peer in one iteration.
    private static let bytesAtOnce = 256 << 10
    /// A peer that accepts fewer bytes within the time-out of the memory quota is slow.
    private static let slowReader = 1 << 20
    /// A smaller amount waits for the bytes of the next iteration, because each write wakes the peer.
    private static let bytesWorthWriting = 64 << 10

    init(_ limits: ConnectionLimits, _ memory: MemoryQuota, _ trace: TraceHook?) {
        (self.limits, self.trace, self.memory) = (
            limits, trace, QuotaShare(of: memory, least: QuotaShare.least, pace: Self.slowReader)
        )
        outbox = Outbox(trace: trace)
    }

    // MARK: - Messages

    func notify(
        _ method: String, _ params: some JSONWritable, _ delivery: DeliveryPolicy, _ style: Framing.Style
    ) {
        func write(_ params: some JSONWritable, to buffer: inout [UInt8]) {
            JSONWriter.write(to: &buffer) { json in
                json.object { json in
                    json.member("jsonrpc") { $0.plain("2.0") }
                    json.member("method", method)
                    json.member("params", params)
                }
            }
        }
        func bytes(_ params: some JSONWritable) -> [UInt8] {
            var bytes: [UInt8] = []
            style.wrap(into: &bytes) { write(params, to: &$0) }
            return bytes
        }
        switch delivery {
        case .always where outbox.isBlocked && outbox.unsent >= limits.unreadBytes:
            overrun = "had left \(limits.unreadBytes) bytes unread (--max-unread-bytes)"
        case .always: put(style) { write(params, to: &$0) }
        case .latest(let key): outbox.put(bytes(params), sample: key)
        case .latestOfMany(let key, let group, let most, let missed):
            outbox.put(sample: key, of: group, most: most, missed: { bytes(missed) }) { bytes(params) }
        }
    }

    func put(_ message: JSON, _ style: Framing.Style) { put(style) { message.write(to: &$0) } }

    /// Writes a reply, and returns its size.
    func reply(_ id: RequestID, _ outcome: Outcome, _ style: Framing.Style) -> Int {
        let unsent = outbox.unsent
        if Self.isLarge(id, outcome) {
            var message = SegmentedBytes()
            Self.write(id, outcome, to: &message)
            put(message, style)
        } else {
            put(style) { Self.write(id, outcome, to: &$0) }
        }
        return outbox.unsent - unsent
    }

    /// Adds a reply to a batch, and returns its size.
    func reply(_ id: RequestID, _ outcome: Outcome, in batch: Batch) -> Int {
        let size = batch.size
        batch.add { Self.write(id, outcome, to: &$0) }
        batchedBytes += batch.size - size
        return batch.size - size
    }

    func put(_ batch: Batch, _ style: Framing.Style) {
        batchedBytes -= batch.size
        if let replies = batch.takeReplies() { put(replies, style) }
    }

    private func put(_ style: Framing.Style, _ payload: (inout [UInt8]) -> Void) {
        let trace = trace
        outbox.put { buffer in
            style.wrap(into: &buffer) { message in
                let start = message.count
                payload(&message)
                if let trace { message[start...].withUnsafeBytes { trace(.service, $0) } }
            }
        }
    }

    private func put(_ message: SegmentedBytes, _ style: Framing.Style) {
        if let trace { message.joined.withUnsafeBytes { trace(.service, $0) } }
        outbox.put(style.wrapped(message))
    }

    /// Whether copying the reply would cost more than keeping its parts.
    private nonisolated static func isLarge(_ id: RequestID, _ outcome: Outcome) -> Bool {
        if case .success(.encoded) = outcome { true } else { id.text.utf8.count >= SegmentedBytes.pieceBytes }
    }

    private nonisolated static func write(_ id: RequestID, _ outcome: Outcome, to message: inout SegmentedBytes) {
        guard isLarge(id, outcome) else { return message.append { write(id, outcome, to: &$0) } }
        guard case .success(.encoded(let result)) = outcome else {
            var reply: [UInt8] = []
            write(id, outcome, to: &reply)
            return message.append(reply)
        }
        message.append { $0.append("{\"jsonrpc\":\"2.0\",\"id\":") }
        message.append(Array(id.text.utf8))
        message.append { $0.append(",\"result\":") }
        for segment in result.segments { message.append(segment) }
        message.append { $0.append(UInt8(ascii: "}")) }
    }

    private nonisolated static func write(_ id: RequestID, _ outcome: Outcome, to buffer: inout [UInt8]) {
        JSONWriter.write(to: &buffer) { json in
            json.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
            json.verbatim(id.text)
            switch outcome {
            case .success(let result):
                json.verbatim(",\"result\":")
                result.write(to: &json)
            case .failure(let error):
                json.verbatim(",\"error\":")
                error.json.write(to: &json)
            }
            json.verbatim("}")
        }
    }

    // MARK: - Writing

    var isEmpty: Bool { outbox.unsent == 0 }
    /// The peer has not accepted all bytes that were offered.
    var isBlocked: Bool { outbox.isBlocked }
    var isWorthWriting: Bool { outbox.unsent >= Self.bytesWorthWriting }

    /// Offers bytes to the stream.
    func flush(to stream: ByteStream) throws {
        try outbox.flush(atMost: Self.bytesAtOnce) { bytes in try stream.write(bytes) }
    }

    /// Counts the memory after a flush, and wakes requests that wait for room.
    func noteFlush(_ current: @autoclosure () -> Batch?) {
        noteUnread()
        if unread(in: current()) < limits.crowded { shrank.wakeAll() }
    }

    // MARK: - Bounds

    /// Counts the memory of bytes that the peer has not read.
    func noteUnread() {
        memory.progress = outbox.taken
        memory.use(outbox.unsent + batchedBytes)
    }

    /// The number of unread bytes, without those of the batch that is beginning, which has to continue.
    private func unread(in current: @autoclosure () -> Batch?) -> Int {
        outbox.unsent + (batchedBytes == 0 ? 0 : batchedBytes - (current()?.size ?? 0))
    }

    /// Whether the peer has left so much unread that none of its messages may begin.
    func isCrowded(_ current: @autoclosure () -> Batch?) -> Bool {
        unread(in: current()) >= limits.crowded || isFull(current())
    }

    /// Whether unread bytes of all connections exceed their memory and this connection has its share.
    func isFull(_ current: @autoclosure () -> Batch?) -> Bool { memory.isFull(with: unread(in: current())) }

    func checkRoom(in batch: Batch) throws(RPCError) {
        guard batchedBytes >= limits.crowded else { return }
        throw .invalidRequest("The batch has answers of \(batch.size) bytes already (--max-unread-bytes).")
    }

    /// Reserves room for a large answer. A batch is written when it is complete, so its messages cannot wait for room.
    func takeRoom(for bytes: Int, in batch: Batch) throws(RPCError) {
        try checkRoom(in: batch)
        if memory.reserveAtOnce(bytes) { return }
        throw .invalidRequest("Too much is left unread for large answers in a batch (--max-total-unread-bytes).")
    }

    /// Whether an answer of this size may be promised in addition to those already promised.
    func mayPromise(_ bytes: Int, _ current: @autoclosure () -> Batch?) -> Bool {
        let unread = unread(in: current())
        guard unread < limits.crowded else { return false }
        return memory.reserved == 0 || unread + memory.reserved + bytes <= limits.crowded
    }

    /// Called when other connections wait for the memory of unread output. Returns why the peer is disconnected; nil
    /// for a peer that reads.
    func revoked() -> String? {
        guard outbox.isBlocked, outbox.unsent >= QuotaShare.least else { return nil }
        overrun = "read little of \(outbox.unsent) bytes while others waited for memory (--max-total-unread-bytes)"
        return overrun
    }
}

/// The replies of an incomplete batch.
@Loop
final class Batch {
    private var remaining: Int
    /// The number of messages that have not begun.
    var unbegun: Int
    private var bytes = SegmentedBytes()
    var afterwards: [@Loop @Sendable () -> Void] = []

    init(count: Int) { (remaining, unbegun) = (count, count) }

    var size: Int { bytes.count }

    /// Nil if no message requires an answer.
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

    /// Counts messages as done; returns true after the last one.
    func isComplete(with done: Int) -> Bool {
        remaining -= done
        return remaining == 0
    }
}
