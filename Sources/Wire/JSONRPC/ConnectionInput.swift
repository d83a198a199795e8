import JSONText
import Platform

extension Connection {
    func read() {
        // Bytes that arrived earlier come first.
        guard let stream, !scheduled.contains(.receive) else { return }
        switch stream.read(into: ReadBuffer.shared) {
        case .bytes(let count):
            framing.append(UnsafeRawBufferPointer(rebasing: ReadBuffer.shared[..<count]))
            receive()
        case .notNow:
            break
        case .end:
            framing.finish()
            phase.advance(to: .inputEnded)
            receive()
        case .broken:
            close("it cannot be read from")
        }
    }

    /// Begins complete messages as far as admission and the budget of this iteration allow.
    func receive() {
        budget.renew(in: Loop.iteration)
        while mayReceive {
            if budget.isSpent {
                resumeInNextIteration()
                return adjust()
            }
            switch inputState {
            case .idle:
                if !receiveText() { return adjust() }
            case .decoded(let text, let bytes):
                inputState = .idle
                begin(text, bytes: bytes)
                if case .idle = inputState { endText() }
            case .batch(let input): receiveNext(of: input)
            case .decoding: return adjust()
            }
        }
        adjust()
    }

    /// Continues in the next iteration, after other connections were served.
    func resumeInNextIteration() {
        guard scheduled.insert(.receive).inserted else { return }
        Task {
            scheduled.remove(.receive)
            receive()
            flushUnlessMoreComes()
        }
    }

    /// Returns false when no complete message has arrived.
    private func receiveText() -> Bool {
        switch framing.next() {
        case .message(let bytes): receiveMessage(bytes)
        case .tooLong(let bytes, let limit):
            endText()
            reply(.null, .failure(.tooLong(bytes, limit)))
        case .unreadable(let reason):
            reply(.null, .failure(.invalidRequest("The headers cannot be read: \(reason).")))
            willEnd("its headers cannot be read")
            phase.advance(to: .inputEnded)
        case nil:
            if phase >= .inputEnded { endInput() } else { makeRoomForRest() }
            return false
        }
        return true
    }

    private func receiveMessage(_ bytes: Int) {
        guard let decoder else { return }
        guard bytes <= MessageDecoder.inlineBytes else { return decode(framing.detachMessage(), with: decoder) }
        let text = framing.withMessage { message in
            trace?(.client, message)
            return decoder.decode(short: message)
        }
        begin(text, bytes: bytes)
    }

    /// Reserves the memory of a long message before the rest of it is read.
    private func makeRoomForRest() {
        guard let text = framing.unfinished, text.held > QuotaShare.least, inputMemory.reserved == 0 else { return }
        _ = inputMemory.reserve(text.expected) { [weak self] in self?.adjust() }
    }

    /// Frees the memory that was reserved for a message, except `bytes` of it.
    private func endText(keeping bytes: Int = 0) {
        inputMemory.progress &+= 1
        inputMemory.free(inputMemory.reserved - min(bytes, inputMemory.reserved))
    }

    /// Discards a message that does not arrive while other connections wait for memory.
    func abandonText() {
        guard case .idle = inputState, inputMemory.reserved > 0 else { return }
        framing.skipUnfinished()
        endText()
        reply(.null, .failure(.abandoned(after: inputMemory.quota.timeout)))
        receive()
    }

    private func begin(_ text: DecodedInput, bytes: Int) {
        switch text {
        case .message(let message): begin(message, bytes: bytes, in: nil)
        case .batch(let messages):
            // The whole batch was checked already.
            budget.spend(bytes: bytes)
            inputState = .batch(BatchInput(Batch(count: messages.count), rest: messages))
        case .refused(let error): reply(.null, .failure(error))
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
            inputState = .idle
            endText()
        }
    }

    /// Drops the messages of a batch that have not begun; they get no answer. The batch is complete with those that have
    /// begun: tasks that they made start.
    func leaveOutRest() {
        let batch = inputState.batch
        inputState = .idle
        if let batch, batch.isComplete(with: batch.unbegun) { complete(batch) }
    }

    /// Watches the stream for the events that the connection can handle now.
    func adjust() {
        let wantsInput = mayReceive && !inputState.isDecoding && phase == .open
        if inputMemory.isFull(with: admission.bytes) { _ = inputMemory.reserve(0) { [weak self] in self?.receive() } }
        if outputMemory.isFull(with: unread) { _ = outputMemory.reserve(0) { [weak self] in self?.flush() } }
        // No message of the peer can begin now.
        if peerIsGone, !wantsInput, messagePauses == 0, !inputState.isDecoding, !scheduled.contains(.receive) {
            return close(Self.hungUp)
        }
        stream?.want(input: wantsInput, room: outbox.isBlocked)
    }

    private var mayReceive: Bool {
        phase < .draining && messagePauses == 0 && admission.isOpen(doubled: !outgoingRequests.isEmpty) && !isCrowded
            && !inputMemory.isWaiting && !inputMemory.isFull(with: admission.bytes)
    }
}

// MARK: What is decoded on a thread

extension Connection {
    /// Nothing else is received meanwhile, so requests begin in the order of their arrival.
    private func decode(_ text: ArraySlice<UInt8>, with decoder: MessageDecoder) {
        let bytes = text.count
        let isLine = framing.style == .lines
        inputState = .decoding(nil)
        endText(keeping: bytes)
        threads.submit(bytes: bytes) { [trace, weak self] in
            let decoded = text.withUnsafeBytes {
                trace?(.client, $0)
                return isLine && $0.allSatisfy(\.isBlank) ? .blank : decoder.decode($0, of: text)
            }
            return { self?.resume(.decoded(decoded, bytes: bytes)) }
        }
    }

    private func decode(_ messages: BatchDecoder, in batch: Batch) {
        inputState = .decoding(batch)
        threads.submit(bytes: messages.bytes) { [weak self] in
            var rest = messages
            let ready = rest.group()
            let left = rest.count > 0 ? rest : nil
            return { self?.resume(.batch(BatchInput(batch, ready: ready, rest: left))) }
        }
    }

    /// Does nothing when the connection has ended.
    private func resume(_ next: InputState) {
        guard inputState.isDecoding else { return }
        inputState = next
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
