import TestSupport
import Testing

@testable import JSONRPC

@Suite(.watchdog) struct FramingStateTests {
    @Test func `The first bytes determine the framing`() {
        for (input, style) in [
            ("", nil), (" \r\n", nil), ("Content-Length", nil), ("{", .lines), ("\n[", .lines), ("x y", .lines),
            ("\"", .lines), ("Content-Length:", .headers), ("x:", .headers),
        ] as [(String, Framing.Style?)] {
            var framing = Framing(maxMessageBytes: 20)
            framing.append(input)
            #expect(drain(&framing) == [])
            #expect(framing.style == style, "\(input)")
        }
    }

    @Test func `Messages are kept until they are read`() {
        var framing = Framing(maxMessageBytes: 20)
        framing.append("[1]\n[2]\n[3")
        #expect(framing.next(\.count) == .message(3))
        framing.append("3]\n[4]\n")
        #expect(drain(&framing) == [.message("[2]"), .message("[33]"), .message("[4]")])
        framing.finish()
        #expect(drain(&framing) == [])
    }

    @Test func `Answers are framed like the messages of the peer`() {
        func wrapped(after input: String) -> String {
            var framing = Framing(maxMessageBytes: 20)
            framing.append(input)
            _ = drain(&framing)
            var output: [UInt8] = []
            for message in ["{}", "é"] { (framing.style ?? .lines).wrap(into: &output) { $0 += message.utf8 } }
            return String(decoding: output, as: UTF8.self)
        }
        #expect(wrapped(after: "") == "{}\né\n")
        #expect(wrapped(after: "[]\n") == "{}\né\n")
        #expect(wrapped(after: "Content-Length: 2\n\n[]") == "Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\né")
    }

    @Test(arguments: [Framing.Style.lines, .headers])
    func `Framed messages can be parsed`(style: Framing.Style) {
        let messages = [twoHundred, "{}", "[]", twoHundred]
        var stream: [UInt8] = []
        for message in messages {
            style.wrap(into: &stream) { $0.append(contentsOf: message.utf8) }
        }
        for piece in 1...stream.count {
            #expect(frames(of: stream, piece: piece, max: 200) == messages.map(Frame.message), "in pieces of \(piece)")
        }
    }

    private let twoHundred = "[\(String(repeating: "7", count: 198))]"
}

@Suite(.watchdog) struct FramingMemoryTests {
    private static let piece = 64 << 10
    private static let limit = 1 << 20
    /// The memory limit of one message, one piece and the headers, with the rounding of the allocator.
    private static let bound = limit + piece + HeaderBlock.maxBytes + 4096

    /// Feeds `count` pieces of `byte` after `opening`; returns the highest memory use and the frames.
    private func feed(_ opening: String, _ byte: UInt8, count: Int) -> (held: Int, frames: [Frame<Int>]) {
        var framing = Framing(maxMessageBytes: Self.limit)
        framing.append(opening)
        let piece = [UInt8](repeating: byte, count: Self.piece)
        var held = 0
        var frames: [Frame<Int>] = []
        for _ in 0..<count {
            piece.withUnsafeBytes { framing.append($0) }
            held = max(held, framing.capacity)
            while let frame = framing.next(\.count) { frames.append(frame) }
        }
        return (held, frames)
    }

    @Test(
        arguments: [
            ("{", UInt8(ascii: "x"), [.tooLong(bytes: nil, limit: limit)]),
            ("", UInt8(ascii: " "), []),
            ("", UInt8(ascii: "x"), [.tooLong(bytes: nil, limit: limit)]),
            ("Content-Length: 99999999\n\n", UInt8(ascii: "x"), [.tooLong(bytes: 99_999_999, limit: limit)]),
            ("X:", UInt8(ascii: "x"), [.unreadable(reason: HeaderBlock.tooLong)]),
            ("X: y\n", UInt8(ascii: "\n"), [.unreadable(reason: "Content-Length is missing")]),
        ] as [(String, UInt8, [Frame<Int>])])
    func memoryIsBoundedWhateverAClientSends(opening: String, byte: UInt8, expected: [Frame<Int>]) {
        let (held, frames) = feed(opening, byte, count: 200)
        #expect(held <= Self.bound)
        #expect(frames == expected)
    }

    @Test func `A message of the maximum size is in memory once`() {
        let (held, frames) = feed("[]\n{", UInt8(ascii: "x"), count: Self.limit / Self.piece - 1)
        #expect(frames == [.message(2)])
        #expect(held <= Self.bound)
    }

    @Test(arguments: ["\n", "\n{\"next\":"])
    func `Memory is freed after a huge message`(end: String) {
        var framing = Framing(maxMessageBytes: 8 << 20)
        framing.append("[" + String(repeating: "x", count: 8 << 20 - 1) + end)
        #expect(framing.capacity >= 8 << 20)
        #expect(framing.next(\.count) == .message(8 << 20))
        #expect(framing.next(\.count) == nil)
        #expect(framing.capacity < 1 << 20)
    }

    @Test func `Many messages in one piece are cut in linear time`() {
        var framing = Framing(maxMessageBytes: 20)
        framing.append(String(repeating: "{}\n", count: 500_000))
        var count = 0
        while framing.next({ _ in }) != nil { count += 1 }
        #expect(count == 500_000)
    }
}
