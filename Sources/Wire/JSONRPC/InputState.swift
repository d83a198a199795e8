import Platform

/// The state of the one text that a connection decodes or begins.
enum InputState {
    /// No text is in progress.
    case idle
    /// A thread decodes a text, or the next messages of this batch.
    case decoding(Batch?)
    /// A text of so many bytes that a thread has decoded.
    case decoded(DecodedInput, bytes: Int)
    /// The messages of a batch begin one by one.
    case batch(BatchInput)

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
    /// The messages that are not decoded; nil without any.
    var rest: BatchDecoder?

    init(_ batch: Batch, ready: [BatchDecoder.Item] = [], rest: BatchDecoder?) {
        (self.batch, self.ready, self.rest) = (batch, ready, rest)
    }

    /// Returns the next message that needs no thread.
    func next() -> BatchDecoder.Item? {
        if let next = ready.popLast() { return next }
        return rest?.isShort == true ? rest?.next() : nil
    }
}
