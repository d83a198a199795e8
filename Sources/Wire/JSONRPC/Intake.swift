import ClientMemory
import JSONText
import Platform

/// The input of one connection: bytes of incomplete messages, the text that is being decoded or begun, and their share
/// of the memory of all connections.
@Loop
struct Intake {
    var framing: Framing
    var state = InputState.idle
    var budget = IterationBudget()
    let memory: QuotaShare

    init(_ limits: ConnectionLimits, _ memory: MemoryQuota) {
        (framing, self.memory) = (Framing(maxMessageBytes: limits.messageBytes), QuotaShare(of: memory))
    }

    /// The framing of the peer; lines before its first message.
    var style: Framing.Style { framing.style ?? .lines }
    /// The batch whose messages are being begun.
    var batch: Batch? { state.batch }

    /// Whether received messages of all connections exceed their memory and this connection has its share, so that none
    /// may begin.
    func isFull(with requestBytes: Int) -> Bool { memory.isWaiting || memory.isFull(with: requestBytes) }

    /// Frees the memory that was reserved for a message, except `bytes` of it.
    func endText(keeping bytes: Int = 0) {
        memory.progress &+= 1
        memory.free(memory.reserved - min(bytes, memory.reserved))
    }
}

/// The state of the only text that a connection is decoding or beginning.
enum InputState {
    /// No text is in progress.
    case idle
    /// A thread decodes a text, or the next messages of this batch.
    case decoding(Batch?)
    /// A text of `bytes` bytes that a thread has decoded.
    case decoded(DecodedInput, bytes: Int)
    /// The messages of a batch begin one by one.
    case batch(BatchInput)

    var isIdle: Bool { if case .idle = self { true } else { false } }

    var isDecoding: Bool { if case .decoding = self { true } else { false } }

    var batch: Batch? {
        switch self {
        case .idle, .decoded: nil
        case .decoding(let batch): batch
        case .batch(let input): input.batch
        }
    }
}

/// A batch whose messages have not all begun.
@Loop
final class BatchInput {
    let batch: Batch
    /// Decoded messages, the next one last.
    var ready: [BatchDecoder.Item]
    /// The messages that are not decoded; nil if there are none.
    var rest: BatchDecoder?

    init(_ batch: Batch, ready: [BatchDecoder.Item] = [], rest: BatchDecoder?) {
        (self.batch, self.ready, self.rest) = (batch, ready, rest)
    }

    /// The next message that can be decoded without a thread.
    func next() -> BatchDecoder.Item? {
        if let next = ready.popLast() { return next }
        return rest?.isShort == true ? rest?.next() : nil
    }
}
