import JSONText

/// Decodes messages and the params of their methods, on any thread. It has no state.
///
/// Limits are checked before memory is used. Values are counted while a message is parsed. A long batch is first
/// checked as a whole, then its messages are decoded one by one, so that a batch costs little more than its bytes and
/// its active requests.
struct MessageDecoder: Sendable {
    typealias Prepare = @Sendable (_ method: String, Params) throws(RPCError) -> PreparedCall
    /// The method is nil if it cannot be read.
    typealias MakeRefusal = @Sendable (_ method: String?, Params) -> Refusal?

    /// The maximum size of a message that is decoded on the loop, so that other connections do not wait.
    static let inlineBytes = 16 << 10

    private let limits: ConnectionLimits
    private let prepare: Prepare
    private let refusal: MakeRefusal

    init(
        _ limits: ConnectionLimits, refusal: @escaping MakeRefusal = { _, _ in nil }, _ prepare: @escaping Prepare
    ) {
        (self.limits, self.refusal, self.prepare) = (limits, refusal, prepare)
    }

    /// Decodes a short text on the loop.
    func decode(short bytes: UnsafeRawBufferPointer) -> DecodedInput {
        if let message = Envelope(reading: bytes, limits) {
            return .message(DecodedMessage(message, refusal: refusal, prepare))
        }
        do throws(JSONSyntaxError) {
            var repeatsName = false
            let message = try json(bytes, &repeatsName)
            return message.array.map { batch(BatchDecoder($0, bytes: bytes.count, repeatsName: repeatsName, self)) }
                ?? .message(decode(message, repeatsName: repeatsName))
        } catch {
            return .refused(RPCError(about: error))
        }
    }

    /// Decodes a text of any length; `bytes` are the bytes of `text`.
    func decode(_ bytes: UnsafeRawBufferPointer, of text: ArraySlice<UInt8>) -> DecodedInput {
        do throws(JSONSyntaxError) {
            guard bytes.first(where: { !$0.isBlank }) == UInt8(ascii: "["),
                let messages = try JSONElements(text, maxDepth: limits.nesting, maxValues: limits.messageValues)
            else {
                var repeatsName = false
                let message = try json(bytes, &repeatsName)
                return .message(decode(message, repeatsName: repeatsName))
            }
            return batch(BatchDecoder(messages, bytes: bytes.count, self))
        } catch {
            return .refused(RPCError(about: error))
        }
    }

    private func json(_ bytes: UnsafeRawBufferPointer, _ repeatsName: inout Bool) throws(JSONSyntaxError) -> JSON {
        try JSON(
            parsing: bytes, maxDepth: limits.nesting, maxValues: limits.messageValues, repeatsName: &repeatsName)
    }

    private func batch(_ messages: BatchDecoder) -> DecodedInput {
        let (count, most) = (messages.count, limits.batchMessages)
        if count == 0 { return .refused(.invalidRequest("A batch must not be empty.")) }
        if count > most {
            let why = "A batch has at most \(most) messages, this one \(count) (--max-batch-messages)."
            return .refused(.invalidRequest(why))
        }
        return .batch(messages)
    }

    /// - Parameter repeatsName: false for a message in which no object repeats a name.
    fileprivate func decode(_ message: JSON, repeatsName: Bool) -> DecodedMessage {
        DecodedMessage(Envelope(message, mayRepeatNames: repeatsName), refusal: refusal, prepare)
    }
}

/// One text from the peer.
enum DecodedInput: Sendable {
    case message(DecodedMessage)
    case batch(BatchDecoder)
    /// A text that is no message and no batch; its error is sent with a null id.
    case refused(RPCError)
    case blank
}

/// The messages of a batch, decoded one by one.
struct BatchDecoder: Sendable {
    struct Item {
        let message: DecodedMessage
        let bytes: Int
    }

    private enum Messages {
        /// The messages of a short text.
        case parsed(ArraySlice<JSON>, repeatsName: Bool)
        case unparsed(JSONElements)
    }

    private var messages: Messages
    let bytes: Int
    private let decoder: MessageDecoder

    init(_ messages: [JSON], bytes: Int, repeatsName: Bool, _ decoder: MessageDecoder) {
        (self.messages, self.bytes, self.decoder) = (.parsed(messages[...], repeatsName: repeatsName), bytes, decoder)
    }

    init(_ messages: JSONElements, bytes: Int, _ decoder: MessageDecoder) {
        (self.messages, self.bytes, self.decoder) = (.unparsed(messages), bytes, decoder)
    }

    /// Whether the next message may be decoded on the loop.
    var isShort: Bool { bytes <= MessageDecoder.inlineBytes }

    var count: Int {
        switch messages {
        case .parsed(let messages, _): messages.count
        case .unparsed(let messages): messages.count
        }
    }

    /// The next messages, the first one last: about as many as one iteration begins.
    mutating func group() -> [Item] {
        var (items, budget) = ([Item](), IterationBudget())
        while !budget.isSpent, let next = next() {
            budget.spend(requests: 1, bytes: next.bytes)
            items.append(next)
        }
        return items.reversed()
    }

    mutating func next() -> Item? {
        switch messages {
        case .parsed(var rest, let repeatsName):
            guard let message = rest.popFirst() else { return nil }
            messages = .parsed(rest, repeatsName: repeatsName)
            return Item(message: decoder.decode(message, repeatsName: repeatsName), bytes: bytes / rest.endIndex)
        case .unparsed(var rest):
            guard let next = rest.next() else { return nil }
            messages = .unparsed(rest)
            return Item(message: decoder.decode(next.element, repeatsName: next.repeatsName), bytes: next.bytes)
        }
    }
}

extension RPCError {
    fileprivate init(about error: JSONSyntaxError) {
        switch error.limit {
        case .values: self = .invalidRequest("The message has \(error) (--max-message-values).")
        case .depth: self = .parseError("\(error) (--max-nesting)")
        case nil: self = .parseError("\(error)")
        }
    }
}
