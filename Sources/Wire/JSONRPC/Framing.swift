import JSONText

/// Cuts the bytes of one connection into messages.
///
/// The first bytes decide between lines (one message each) and headers (`Content-Length: N`, an empty line, N bytes).
/// The framing holds at most one incomplete message and the bytes of one `append`.
public struct Framing: Sendable {
    public enum Style: Sendable {
        case lines, headers
    }

    private enum State {
        /// The style is not known yet.
        case undecided
        case line
        /// Skips the rest of a line that is too long.
        case discardingLine
        case headers(HeaderBlock)
        case body(length: Int)
        /// Skips the rest of a body that is too long.
        case discarding(length: Int)
        case over
    }

    /// The framing of this connection; nil until the first bytes decide it.
    public private(set) var style: Style?
    private let maxMessageBytes: Int
    private var state = State.undecided
    private var queue = ByteQueue()
    /// The range of the last message.
    private var last = 0..<0
    private var isFinished = false

    /// `maxMessageBytes` does not count headers and line ends.
    /// - Parameter style: the framing of a connection that does not leave it to the first bytes.
    public init(maxMessageBytes: Int, style: Style? = nil) {
        (self.maxMessageBytes, self.style) = (maxMessageBytes, style)
        switch style {
        case nil: break
        case .lines: state = .line
        case .headers: state = .headers(HeaderBlock())
        }
    }

    var capacity: Int { queue.capacity }

    /// Appends received bytes. All messages should be taken before, or memory grows.
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

    /// The possible length of the message that is being received.
    private var expectedBytes: Int { if case .body(let length) = state { length } else { maxMessageBytes } }

    /// Ends the input: an unterminated last line is a message, an incomplete body is not.
    public mutating func finish() { isFinished = true }

    /// Returns the result of `read` for the next message; nil until more bytes arrive.
    public mutating func next<T>(_ read: (UnsafeRawBufferPointer) -> T) -> Frame<T>? {
        switch next() {
        case .message: .message(withMessage(read))
        case .tooLong(let bytes, let limit): .tooLong(bytes: bytes, limit: limit)
        case .unreadable(let reason): .unreadable(reason: reason)
        case nil: nil
        }
    }

    /// Returns the length of the next message, which is readable until the next change; nil until more bytes arrive.
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

    /// The number of bytes of an incomplete message so far, and its possible length.
    var unfinished: (held: Int, expected: Int)? {
        switch state {
        case .line, .body: queue.count > 0 ? (queue.count, expectedBytes) : nil
        case .undecided, .discardingLine, .headers, .discarding, .over: nil
        }
    }

    mutating func skipUnfinished() {
        switch state {
        case .line: state = .discardingLine
        case .body(let length): state = .discarding(length: length)
        case .undecided, .discardingLine, .headers, .discarding, .over: break
        }
    }

    /// Returns the bytes of the last message, which may be kept.
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

    /// The outcome of one attempt to find a message in the queue.
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

    /// Whether a line is blank. A long line is not searched.
    private func isBlank(_ line: Range<Int>) -> Bool {
        line.count <= Framing.maxBlankBytes && queue.withBytes(line) { $0.allSatisfy(\.isBlank) }
    }

    /// Whether a line of `length` bytes is too long, without a CR at its end.
    private func isTooLong(_ length: Int) -> Bool { length - (endsWithReturn(length) ? 1 : 0) > maxMessageBytes }

    private func endsWithReturn(_ length: Int) -> Bool { length > 0 && queue[length - 1] == 0x0D }

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
        // Blank lines before the first header belong to no message.
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
