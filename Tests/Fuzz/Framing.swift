@testable import JSONRPC

/// However a stream is cut, it holds the same messages, none too long; wrapped again they are read again.
@Sendable func fuzzFraming(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let (limit, seed) = (Int(feed.byte()), feed.byte())
    let (whole, style) = frames(of: [UnsafeRawBufferPointer(rebasing: feed.rest)], limit)
    for seed in [seed, 0] {
        let (cut, cutStyle) = frames(of: feed.pieces(seed), limit)
        expect(cut == whole && cutStyle == style, "cut another way, a stream means the same: \(cut), not \(whole)")
    }
    let unreadable = whole.firstIndex { if case .unreadable = $0 { true } else { false } }
    expect(unreadable == nil || unreadable == whole.count - 1, "nothing follows what cannot be read")
    checkWrapping(whole, style ?? .lines, limit)
}

private func frames(
    of pieces: [UnsafeRawBufferPointer], _ limit: Int
) -> (frames: [Frame<[UInt8]>], style: Framing.Style?) {
    var framing = Framing(maxMessageBytes: limit)
    var frames: [Frame<[UInt8]>] = []
    func take() {
        while let frame = framing.next({ Array($0) }) {
            if case .message(let bytes) = frame { expect(bytes.count <= limit, "no message beyond the limit") }
            frames.append(frame)
        }
    }
    var largest = 0
    for piece in pieces {
        framing.append(piece)
        largest = max(largest, piece.count)
        take()
        expect(framing.capacity <= 4 * (limit + largest + HeaderBlock.maxBytes), "memory is bounded")
    }
    framing.finish()
    take()
    return (frames, framing.style)
}

private func checkWrapping(_ whole: [Frame<[UInt8]>], _ style: Framing.Style, _ limit: Int) {
    var (messages, bytes) = ([[UInt8]](), [UInt8]())
    for case .message(let message) in whole {
        let isLine = !message.contains(0x0A) && message.first == UInt8(ascii: "{") && message.last != 0x0D
        guard style == .headers || isLine else { continue }
        messages.append(message)
        style.wrap(into: &bytes) { $0 += message }
    }
    let again = bytes.withUnsafeBytes { frames(of: [$0], limit).frames }
    expect(again == messages.map { .message($0) }, "what was wrapped is read again")
}
