import Platform

/// How far the text is that a connection has taken from what arrived. Texts are begun one after the other.
enum InputState {
    /// There is none.
    case idle
    /// It is decoded on a thread, or the next messages of this batch are.
    case decoding(Batch?)
    /// Its messages are begun one by one.
    case batch(BatchInput)

    var isDecoding: Bool {
        if case .decoding = self { true } else { false }
    }

    var batch: Batch? {
        switch self {
        case .idle: nil
        case .decoding(let batch): batch
        case .batch(let input): input.batch
        }
    }
}

/// A batch of which some messages have not been begun yet.
@Loop
final class BatchInput {
    let batch: Batch
    /// Decoded, the next one last: what was begun is kept by nobody here.
    var ready: [BatchDecoder.Item]
    /// The others; nil where there are none.
    var rest: BatchDecoder?

    init(_ batch: Batch, ready: [BatchDecoder.Item] = [], rest: BatchDecoder?) {
        self.batch = batch
        self.ready = ready
        self.rest = rest
    }

    /// The next one that need not be decoded on a thread.
    func next() -> BatchDecoder.Item? {
        if let next = ready.popLast() { return next }
        return rest?.isShort == true ? rest?.next() : nil
    }
}
