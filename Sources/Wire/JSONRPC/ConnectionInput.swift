import ClientMemory
import JSONText
import Platform

extension Connection {
    func read() {
        // Bytes that arrived earlier precede new ones.
        guard let stream, !scheduled.contains(.receive) else { return }
        switch stream.read(into: ReadBuffer.shared) {
        case .bytes(let count):
            intake.framing.append(UnsafeRawBufferPointer(rebasing: ReadBuffer.shared[..<count]))
            receive()
        case .notNow:
            break
        case .end:
            intake.framing.finish()
            phase.advance(to: .inputEnded)
            receive()
        case .broken(let code):
            readError = SystemError(code: code)
            close("it cannot be read from: \(SystemError(code: code).reason)")
        }
    }

    /// Begins complete messages as far as admission and the budget of this iteration allow.
    func receive() {
        intake.budget.renew(in: Loop.iteration)
        while mayReceive {
            if intake.budget.isSpent {
                resumeInNextIteration()
                return adjust()
            }
            // This check does not copy the state.
            if intake.state.isIdle {
                if receiveText() { continue }
                return adjust()
            }
            switch intake.state {
            case .idle: break
            case .decoded(let text, let bytes):
                intake.state = .idle
                begin(text, bytes: bytes)
                if case .idle = intake.state { intake.endText() }
            case .batch(let input): receiveNext(of: input)
            case .decoding: return adjust()
            }
        }
        adjust()
    }

    /// Continues in the next iteration, after other connections have been served.
    func resumeInNextIteration() {
        guard scheduled.insert(.receive).inserted else { return }
        Task {
            scheduled.remove(.receive)
            receive()
            flushUnlessMoreComes()
        }
    }

    /// Returns false if no complete message has arrived.
    private func receiveText() -> Bool {
        switch intake.framing.next() {
        case .message(let bytes): receiveMessage(bytes)
        case .tooLong(let bytes, let limit):
            intake.endText()
            refuse(.tooLong(bytes, limit))
        case .unreadable(let reason):
            refuse(.invalidRequest("The headers cannot be read: \(reason)."))
            willEnd("its headers cannot be read")
            phase.advance(to: .inputEnded)
        case nil:
            if phase >= .inputEnded { endInput() } else { makeRoomForRest() }
            return false
        }
        return true
    }

    private func receiveMessage(_ bytes: Int) {
        guard bytes <= MessageDecoder.inlineBytes else { return decodeOnThread() }
        let call = intake.framing.withMessage { message in
            trace?(.client, message)
            return promptCall(in: message)
        }
        if let call { return begin(call.id, promptAt: call.place, bytes: bytes) }
        guard let decoder else { return }
        begin(intake.framing.withMessage { decoder.decode(short: $0) }, bytes: bytes)
    }

    /// The id and the table index of a plain call of a prompt method.
    private func promptCall(in message: UnsafeRawBufferPointer) -> (id: RequestID, place: Int)? {
        guard let call = PlainCall(reading: message, limits), let place = table.place(of: call.method),
            table.prompt(at: place) != nil
        else { return nil }
        return (RequestID(call), place)
    }

    /// Reserves the memory of a long message before the rest of it is read.
    private func makeRoomForRest() {
        guard let text = intake.framing.unfinished, text.held > QuotaShare.least, intake.memory.reserved == 0 else {
            return
        }
        _ = intake.memory.reserve(text.expected) { [weak self] in self?.adjust() }
    }

    /// Discards a message that arrives too slowly while other connections wait for memory.
    func abandonText() {
        guard case .idle = intake.state, intake.memory.reserved > 0 else { return }
        intake.framing.skipUnfinished()
        intake.endText()
        refuse(.abandoned(after: intake.memory.quota.timeout))
        receive()
    }

    private func begin(_ text: DecodedInput, bytes: Int) {
        switch text {
        case .message(let message): begin(message, bytes: bytes, in: nil)
        case .batch(let messages):
            // The whole batch was checked already.
            intake.budget.spend(bytes: bytes)
            intake.state = .batch(BatchInput(Batch(count: messages.count), rest: messages))
        case .refused(let error): refuse(error)
        case .blank: break
        }
    }

    private func receiveNext(of input: BatchInput) {
        if let next = input.next() {
            input.batch.unbegun -= 1
            begin(next.message, bytes: next.bytes, in: input.batch)
        } else if let rest = input.rest, rest.count > 0 {
            decode(rest, in: input.batch)
        } else {
            intake.state = .idle
            intake.endText()
        }
    }

    /// Drops the messages of a batch that have not begun; they get no answer. The batch is then complete with those
    /// that have begun, whose tasks start.
    func leaveOutRest() {
        let batch = intake.batch
        intake.state = .idle
        if let batch, batch.isComplete(with: batch.unbegun) { complete(batch) }
    }

    /// Watches the stream for the events that the connection can handle now.
    func adjust() {
        let wantsInput = mayReceive && !intake.state.isDecoding && phase == .open
        if intake.memory.isFull(with: pending.bytes) { _ = intake.memory.reserve(0) { [weak self] in self?.receive() } }
        if outlet.isFull(intake.batch) { _ = outlet.memory.reserve(0) { [weak self] in self?.flush() } }
        // No message of the peer can begin now.
        if peerIsGone, !wantsInput, messagePauses == 0, !intake.state.isDecoding, !scheduled.contains(.receive) {
            return close(Self.hungUp)
        }
        stream?.want(input: wantsInput, room: outlet.isBlocked)
    }

    private var mayReceive: Bool {
        phase < .draining && messagePauses == 0 && pending.mayBegin(doubled: !outgoingRequests.isEmpty)
            && !outlet.isCrowded(intake.batch) && !intake.isFull(with: pending.bytes)
    }
}

// MARK: What is decoded on a thread

extension Connection {
    /// Decodes a text on a thread. Nothing else is received meanwhile, so requests begin in the order of their arrival.
    private func decodeOnThread() {
        guard let decoder else { return }
        let text = intake.framing.detachMessage()
        let bytes = text.count
        let isLine = intake.framing.style == .lines
        intake.state = .decoding(nil)
        intake.endText(keeping: bytes)
        threads.submit(bytes: bytes) { [trace, weak self] in
            let decoded = text.withUnsafeBytes {
                trace?(.client, $0)
                return isLine && $0.allSatisfy(\.isBlank) ? .blank : decoder.decode($0, of: text)
            }
            return { self?.resume(.decoded(decoded, bytes: bytes)) }
        }
    }

    private func decode(_ messages: BatchDecoder, in batch: Batch) {
        intake.state = .decoding(batch)
        threads.submit(bytes: messages.bytes) { [weak self] in
            var rest = messages
            let ready = rest.group()
            let left = rest.count > 0 ? rest : nil
            return { self?.resume(.batch(BatchInput(batch, ready: ready, rest: left))) }
        }
    }

    /// Continues with the decoded text, unless the connection has ended.
    private func resume(_ next: InputState) {
        guard intake.state.isDecoding else { return }
        intake.state = next
        receive()
    }
}

/// The read buffer, shared by all connections.
@Loop
private enum ReadBuffer {
    static let shared = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
}

extension RPCError {
    fileprivate static func abandoned(after timeout: Duration) -> RPCError {
        .invalidRequest(
            "The message had not come after \(timeout), while others waited for memory (--max-total-message-bytes).")
    }

    fileprivate static func tooLong(_ bytes: Int?, _ limit: Int) -> RPCError {
        let length = bytes.map { "A message of \($0) bytes" } ?? "The message"
        return .invalidRequest("\(length) is longer than the limit of \(limit) bytes.")
    }
}
