import JSONText
import EventLoop

extension Connection {
    typealias Outcome = Result<JSON, RPCError>

    public func notify(_ method: String, _ params: JSON, _ kind: NewsKind) {
        guard stream != nil else { return }
        let message: JSON = ["jsonrpc": "2.0", "method": .string(method), "params": params]
        switch kind {
        case .fact where outbox.isBlocked && outbox.unsent >= limits.unreadBytes:
            isOverrun = true
            noteTurn()
        case .fact:
            put { message.write(to: &$0) }
        case .sample(let key):
            var bytes: [UInt8] = []
            style.wrap(into: &bytes) { message.write(to: &$0) }
            outbox.put(bytes, sample: key)
            noteTurn()
        }
    }

    public func ask(_ method: String, _ params: JSON, patience: Duration) async throws -> JSON {
        guard stream != nil, !inputIsOver else { throw Unanswered.gone }
        return try await RequestPlace.lent {
            try await questions.ask(patience: patience) { number in
                let id = JSON(Int64(number))
                let message: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
                put { message.write(to: &$0) }
            }
        }
    }

    /// A request has run to its end.
    func finish(
        _ number: Int, _ outcome: Outcome, _ afterwards: @escaping MethodTable<Context>.Afterwards, in batch: Batch?
    ) {
        guard let request = underWay.removeValue(forKey: number) else { return }
        gate.leave()
        if request.isAtGate { gate.stopWorking() }
        if request.holdsPlace { gate.unload(bytes: request.bytes) }
        if request.hasSeat { seatsTaken -= 1 }
        settle(request.id, outcome, afterwards, in: batch)
        answered.wakeAll()
        noteTurn()
    }

    /// Exactly one reply for what has an id; then what had to wait for it. A batch replies when all of it is done.
    func settle(
        _ id: RequestID?, _ outcome: Outcome?, _ afterwards: @escaping MethodTable<Context>.Afterwards, in batch: Batch?
    ) {
        guard let batch else {
            if let id, let outcome { reply(id, outcome) }
            return afterwards()
        }
        if let id, let outcome { batch.add { Self.write(id, outcome, to: &$0) } }
        batch.afterwards.append(afterwards)
        guard batch.isComplete() else { return }
        if let replies = batch.replies { put { $0 += replies } }
        // What they hold may hold the batch.
        for step in exchange(&batch.afterwards, with: []) { step() }
    }

    func reply(_ id: RequestID, _ outcome: Outcome) {
        put { Self.write(id, outcome, to: &$0) }
    }

    private func put(_ payload: (inout [UInt8]) -> Void) {
        guard stream != nil else { return }
        let (style, tap) = (style, tap)
        outbox.put { buffer in
            style.wrap(into: &buffer) { message in
                let start = message.count
                payload(&message)
                if let tap { message[start...].withUnsafeBytes { tap(.service, $0) } }
            }
        }
        noteTurn()
    }

    /// Peers are answered in kind; one that has not said a word yet hears lines.
    private var style: Framing.Style { framing.style ?? .lines }

    private nonisolated static func write(_ id: RequestID, _ outcome: Outcome, to buffer: inout [UInt8]) {
        buffer.append("{\"jsonrpc\":\"2.0\",\"id\":")
        buffer.append(contentsOf: id.bytes)
        switch outcome {
        case .success(let result):
            buffer.append(",\"result\":")
            result.write(to: &buffer)
        case .failure(let error):
            buffer.append(",\"error\":")
            error.json.write(to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    /// All that happened in one turn of the loop goes out in one write, and what was held up is let in.
    func noteTurn() {
        guard !isTurnNoted else { return }
        isTurnNoted = true
        Loop.atEndOfTurn { [self] in
            isTurnNoted = false
            if isOverrun { return close() }
            receive()
            flush()
        }
    }

    func flush() {
        guard let stream else { return }
        do {
            try outbox.flush { bytes throws(ByteStream.Broken) in try stream.write(bytes) }
        } catch {
            return close()
        }
        if isEnding, outbox.unsent == 0 { return close() }
        if outbox.unsent < limits.crowded { taken.wakeAll() }
        adjust()
    }

    func checkRoom(in batch: Batch) throws(RPCError) {
        guard batch.size >= limits.crowded else { return }
        throw .invalidRequest("The batch has answers of \(batch.size) bytes already.")
    }

    /// A batch goes out when it is complete, so nobody in it can wait for room.
    func awaitRoom(in batch: Batch?) async throws {
        if let batch { try checkRoom(in: batch) }
        while stream != nil, batch == nil, outbox.unsent >= limits.crowded { try await taken.wait() }
    }
}

/// The replies of a batch, until all its members are done.
@Loop
final class Batch {
    private var remaining: Int
    private var bytes: [UInt8] = []
    var afterwards: [@Loop @Sendable () -> Void] = []

    init(count: Int) { remaining = count }

    /// What the replies so far are, in bytes.
    var size: Int { bytes.count }

    /// Nil where there is nothing to answer.
    var replies: [UInt8]? { bytes.isEmpty ? nil : bytes + [UInt8(ascii: "]")] }

    func add(_ write: (inout [UInt8]) -> Void) {
        bytes.append(UInt8(ascii: bytes.isEmpty ? "[" : ","))
        write(&bytes)
    }

    /// Counts one member down; true for the last.
    func isComplete() -> Bool {
        remaining -= 1
        return remaining == 0
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
