import JSONText

/// Cuts one connection's bytes into messages, whichever way they arrive in pieces.
///
/// The first bytes decide between lines (one message each) and headers (`Content-Length: N`, an empty line, N bytes).
/// Holds at most the message that is being received, plus what one `append` brought.
public struct Framing: Sendable {
    public enum Style: Sendable {
        case lines, headers
    }

    private enum State {
        /// No byte came yet that decides the style.
        case undecided
        case line
        /// Within a line that is too long.
        case discardingLine
        case headers(HeaderBlock)
        case body(length: Int)
        /// Within a body that is too long.
        case discarding(length: Int)
        case over
    }

    /// How this connection frames its messages; nil until the first bytes have told, constant from then on.
    public private(set) var style: Style?
    private let maxMessageBytes: Int
    private var state = State.undecided
    private var queue = ByteQueue()
    /// Where the message stands that was cut last.
    private var last = 0..<0
    private var isFinished = false

    /// `maxMessageBytes` counts a message's own bytes, neither its headers nor its line end.
    public init(maxMessageBytes: Int) {
        self.maxMessageBytes = maxMessageBytes
    }

    /// Memory held, in bytes.
    var capacity: Int { queue.capacity }

    /// Adds what the connection brought. Take messages until there are none before adding more, or memory grows.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes
        switch state {
        case .over: return
        case .discarding(let length) where queue.count == 0:
            let skipped = min(length, bytes.count)
            state = skipped < length ? .discarding(length: length - skipped) : .headers(HeaderBlock())
            bytes = UnsafeRawBufferPointer(rebasing: bytes[skipped...])
        case .discardingLine where queue.count == 0:
            let lineFeed = ByteScan.firstIndex(of: 0x0A, in: bytes, from: 0)
            bytes = UnsafeRawBufferPointer(rebasing: bytes[(lineFeed ?? bytes.count)...])
        case .undecided, .line, .discardingLine, .headers, .body, .discarding: break
        }
        queue.append(bytes, limit: expectedBytes)
    }

    /// How long the message that is being received can be.
    private var expectedBytes: Int {
        if case .body(let length) = state { length } else { maxMessageBytes }
    }

    /// Tells that no more bytes will come: an unterminated last line is a message, a header message cut short is not.
    public mutating func finish() {
        isFinished = true
    }

    /// The next message, read by `read` while its bytes are valid; nil until more bytes come.
    public mutating func next<T>(_ read: (UnsafeRawBufferPointer) -> T) -> Frame<T>? {
        switch next() {
        case .message: .message(withMessage(read))
        case .tooLong(let bytes, let limit): .tooLong(bytes: bytes, limit: limit)
        case .unreadable(let reason): .unreadable(reason: reason)
        case nil: nil
        }
    }

    /// The length of the next message, which can be read until there is another change; nil until more bytes come.
    mutating func next() -> Frame<Int>? {
        switch nextRange() {
        case .message(let range):
            last = range
            return .message(range.count)
        case .tooLong(let bytes, let limit): return .tooLong(bytes: bytes, limit: limit)
        case .unreadable(let reason): return .unreadable(reason: reason)
        case nil:
            queue.compact()
            return nil
        }
    }

    func withMessage<T>(_ read: (UnsafeRawBufferPointer) -> T) -> T { queue.withBytes(last, read) }

    /// How much is held of a message that has not come whole, and how long it can be.
    var unfinished: (held: Int, expected: Int)? {
        switch state {
        case .line, .body: queue.count > 0 ? (queue.count, expectedBytes) : nil
        case .undecided, .discardingLine, .headers, .discarding, .over: nil
        }
    }

    /// Holds no more of it, and leaves it out.
    mutating func skipUnfinished() {
        switch state {
        case .line: state = .discardingLine
        case .body(let length): state = .discarding(length: length)
        case .undecided, .discardingLine, .headers, .discarding, .over: break
        }
    }

    /// The bytes of the message that `next` has just told of, to be kept.
    mutating func detachMessage() -> ArraySlice<UInt8> { queue.detach(last) }

    private mutating func nextRange() -> Frame<Range<Int>>? {
        while true {
            switch step() {
            case .cut(let frame): return frame
            case .again: continue
            case .starved: return nil
            }
        }
    }

    /// What looking at the queue once led to.
    private enum Step {
        case cut(Frame<Range<Int>>)
        case again
        case starved
    }

    private mutating func step() -> Step {
        switch state {
        case .undecided: decide()
        case .line: line()
        case .discardingLine: discardLine()
        case .headers(let block): header(in: block)
        case .body(let length): body(of: length)
        case .discarding(let length): discard(length)
        case .over: .starved
        }
    }
}

// MARK: Which style

extension Framing {
    /// A first line that starts with a longer token than this is no header.
    private static let maxNameBytes = 256
    private static let maxBlankBytes = 4096

    private mutating func decide() -> Step {
        skipBlanks()
        guard queue.count > 0 else { return .starved }
        var nameEnd = 0
        while nameEnd < Framing.maxNameBytes, let byte = queue[nameEnd], byte.isTokenByte { nameEnd += 1 }
        let isHeader = nameEnd > 0 && queue[nameEnd] == UInt8(ascii: ":")
        let mayBecomeHeader = nameEnd == queue.count && !isFinished
        if mayBecomeHeader { return .starved }
        style = isHeader ? .headers : .lines
        state = isHeader ? .headers(HeaderBlock()) : .line
        return .again
    }

    private mutating func skipBlanks() {
        var blanks = 0
        while queue[blanks]?.isBlank == true { blanks += 1 }
        if blanks > 0 { queue.take(blanks) }
    }
}

// MARK: Lines

extension Framing {
    private mutating func line() -> Step {
        queue.takeBlankLines(limit: maxMessageBytes)
        guard let length = queue.distanceToLineFeed() else { return unfinishedLine() }
        defer { queue.take(1) }
        return cutLine(length)
    }

    private mutating func unfinishedLine() -> Step {
        if isTooLong(queue.count) {
            state = .discardingLine
            return .cut(.tooLong(bytes: nil, limit: maxMessageBytes))
        }
        return isFinished && queue.count > 0 ? cutLine(queue.count) : .starved
    }

    private mutating func cutLine(_ length: Int) -> Step {
        let hasReturn = endsWithReturn(length)
        let isTooLong = isTooLong(length)
        let taken = queue.take(length)
        if isTooLong { return .cut(.tooLong(bytes: nil, limit: maxMessageBytes)) }
        let message = taken.lowerBound..<(taken.upperBound - (hasReturn ? 1 : 0))
        return isBlank(message) ? .again : .cut(.message(message))
    }

    /// A long line is not looked through here.
    private func isBlank(_ line: Range<Int>) -> Bool {
        line.count <= Framing.maxBlankBytes && queue.withBytes(line) { $0.allSatisfy(\.isBlank) }
    }

    /// Whether a line of `length` bytes is too long without the CR that may end it.
    private func isTooLong(_ length: Int) -> Bool {
        length - (endsWithReturn(length) ? 1 : 0) > maxMessageBytes
    }

    private func endsWithReturn(_ length: Int) -> Bool {
        length > 0 && queue[length - 1] == 0x0D
    }

    private mutating func discardLine() -> Step {
        guard let length = queue.distanceToLineFeed() else {
            queue.take(queue.count)
            return .starved
        }
        queue.take(length + 1)
        state = .line
        return .again
    }
}

// MARK: Headers

extension Framing {
    private mutating func header(in block: HeaderBlock) -> Step {
        guard let length = queue.distanceToLineFeed() else { return unfinishedHeader(in: block) }
        let line = queue.take(length)
        queue.take(1)
        let isEmpty = queue.withBytes(line) { $0.isEmpty || $0.elementsEqual([0x0D]) }
        // What is blank before the first header belongs to no message.
        if isEmpty { return block.bytes == 0 ? .again : end(of: block) }
        var block = block
        if let reason = queue.withBytes(line, { block.read($0) }) { return giveUp(reason) }
        state = .headers(block)
        return .again
    }

    private mutating func unfinishedHeader(in block: HeaderBlock) -> Step {
        if block.bytes + queue.count > HeaderBlock.maxBytes { return giveUp(HeaderBlock.tooLong) }
        let isCutShort = block.bytes + queue.count > 0
        return isFinished && isCutShort ? giveUp("the input ended within the headers") : .starved
    }

    private mutating func end(of block: HeaderBlock) -> Step {
        guard let length = block.length else { return giveUp("Content-Length is missing") }
        guard length > maxMessageBytes else {
            state = .body(length: length)
            return .again
        }
        state = .discarding(length: length)
        return .cut(.tooLong(bytes: length, limit: maxMessageBytes))
    }

    private mutating func body(of length: Int) -> Step {
        guard queue.count >= length else {
            return isFinished ? giveUp("the input ended within a message of \(length) bytes") : .starved
        }
        state = .headers(HeaderBlock())
        return .cut(.message(queue.take(length)))
    }

    private mutating func discard(_ length: Int) -> Step {
        let skipped = queue.take(length).count
        state = skipped < length ? .discarding(length: length - skipped) : .headers(HeaderBlock())
        return skipped < length ? .starved : .again
    }

    private mutating func giveUp(_ reason: String) -> Step {
        state = .over
        queue = ByteQueue()
        return .cut(.unreadable(reason: reason))
    }
}
