import TestSupport
import Testing

@testable import JSONRPC

/// The frames of `input` that arrives `piece` bytes at a time, drained after each piece.
func frames(of input: [UInt8], piece: Int, max: Int = 20, finishing: Bool = true) -> [Frame<String>] {
    var framing = Framing(maxMessageBytes: max)
    var found: [Frame<String>] = []
    for start in stride(from: 0, to: input.count, by: piece) {
        input[start..<min(start + piece, input.count)].withUnsafeBytes { framing.append($0) }
        found += drain(&framing)
    }
    if finishing { framing.finish() }
    return found + drain(&framing)
}

func drain(_ framing: inout Framing) -> [Frame<String>] {
    var found: [Frame<String>] = []
    while let frame = framing.next({ String(decoding: $0, as: UTF8.self) }) { found.append(frame) }
    return found
}

extension Framing {
    mutating func append(_ text: String) {
        Array(text.utf8).withUnsafeBytes { append($0) }
    }
}

/// A stream of bytes and its frames, for any size of the pieces (messages up to 20 bytes).
struct FramingCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let input: String
    let expected: [Frame<String>]

    init(_ name: String, _ input: String, _ expected: [Frame<String>]) {
        testDescription = name
        self.input = input
        self.expected = expected
    }

    func check() {
        let bytes = Array(input.utf8)
        for piece in 1...max(bytes.count, 1) {
            #expect(frames(of: bytes, piece: piece) == expected, "in pieces of \(piece)")
        }
    }
}

private let tooLongLine = Frame<String>.tooLong(bytes: nil, limit: 20)
private let twenty = "[\(String(repeating: "1", count: 18))]"

@Suite(.watchdog) struct LineFramingTests {
    static let cuttings = [
        FramingCase("nothing", "", []),
        FramingCase("blank", " \r\n\t\n", []),
        FramingCase("two lines", "{\"a\":1}\n[2]\n", [.message("{\"a\":1}"), .message("[2]")]),
        FramingCase("CR LF", "{}\r\n[]\r\n", [.message("{}"), .message("[]")]),
        FramingCase("a CR within", "{\r}\r\r\n", [.message("{\r}\r")]),
        FramingCase("blank lines anywhere", "\n \r\n{}\n\n \t\r\n\r\n[]\n\n", [.message("{}"), .message("[]")]),
        FramingCase("unterminated last line", "{}\n[1]", [.message("{}"), .message("[1]")]),
        FramingCase("unterminated last line with a CR", "{}\n[1]\r", [.message("{}"), .message("[1]")]),
        FramingCase(
            "headers later are no headers", "{}\nContent-Length: 2\n", [.message("{}"), .message("Content-Length: 2")]),
        FramingCase("garbage first", "GET / HTTP/1.1\n{}\n", [.message("GET / HTTP/1.1"), .message("{}")]),
        FramingCase("a word first", "null\n{}\n", [.message("null"), .message("{}")]),
        FramingCase("a word and no more", "null", [.message("null")]),
        FramingCase("a string first", "\"a\":1\n", [.message("\"a\":1")]),
        FramingCase("a byte order mark first", "\u{FEFF}{}\n", [.message("\u{FEFF}{}")]),
        FramingCase("a colon first", ": 1\n", [.message(": 1")]),
        FramingCase("a blank before the colon", "Token : 1\n{}\n", [.message("Token : 1"), .message("{}")]),
        FramingCase(
            "the longest", "\(twenty)\n\(twenty)\r\n\(twenty)", [.message(twenty), .message(twenty), .message(twenty)]),
        FramingCase("one too long", "\(twenty)1\n{}\n", [tooLongLine, .message("{}")]),
        FramingCase("one too long with a CR", "\(twenty)1\r\n{}\n", [tooLongLine, .message("{}")]),
        FramingCase(
            "two too long", "\(twenty)\(twenty)\n\(twenty)1\n{}\n", [tooLongLine, tooLongLine, .message("{}")]),
        FramingCase("too long at the end", "{}\n\(twenty)1", [.message("{}"), tooLongLine]),
        FramingCase(
            "blanks too long", "{}\n\(String(repeating: " ", count: 21))\n[]\n",
            [.message("{}"), tooLongLine, .message("[]")]),
        FramingCase(
            "name too long to be one", "\(String(repeating: "x", count: 257)): 1\n{}\n", [tooLongLine, .message("{}")]),
    ]

    @Test(arguments: cuttings)
    func `Lines do not depend on the sizes of the received pieces`(cutting: FramingCase) {
        cutting.check()
    }

    @Test func `An unterminated line is not returned`() {
        #expect(frames(of: Array("{}\n[1]".utf8), piece: 1, finishing: false) == [.message("{}")])
    }
}

@Suite(.watchdog) struct HeaderFramingTests {
    static let cuttings = [
        FramingCase(
            "two messages", "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
            [.message("{}"), .message("[1]")]),
        FramingCase("bare LF", "Content-Length: 2\n\n{}Content-Length:3\n\n[1]", [.message("{}"), .message("[1]")]),
        FramingCase("any case", "cOnTeNt-lEnGtH:\t2 \t\r\n\r\n{}", [.message("{}")]),
        FramingCase(
            "others are ignored", "X-A: b:c\r\nContent-Length: 2\r\nContent-Type: x\r\nE:\r\n\r\n{}", [.message("{}")]),
        FramingCase("agreeing twice", "Content-Length: 2\r\nContent-Length: 02\r\n\r\n{}", [.message("{}")]),
        FramingCase("line ends within", "Content-Length: 4\r\n\r\n{\n\n}", [.message("{\n\n}")]),
        FramingCase("empty", "Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", [.message(""), .message("{}")]),
        FramingCase(
            "blank lines between", "\r\n Content-Length: 2\n\n{}\r\n\nContent-Length: 2\n\n[]\n",
            [.message("{}"), .message("[]")]),
        FramingCase(
            "the longest name", "\(String(repeating: "x", count: 256)): 1\nContent-Length: 2\n\n{}", [.message("{}")]),
        FramingCase("the longest", "Content-Length: 20\r\n\r\n\(twenty)", [.message(twenty)]),
        FramingCase(
            "one too long", "Content-Length: 23\r\n\r\n\(twenty)\n\n\nContent-Length: 2\r\n\r\n{}",
            [.tooLong(bytes: 23, limit: 20), .message("{}")]),
        FramingCase("too long and cut short", "Content-Length: 23\r\n\r\n\(twenty)", [.tooLong(bytes: 23, limit: 20)]),
        FramingCase(
            "body cut short", "Content-Length: 2\n\n{}Content-Length: 3\n\n[1",
            [.message("{}"), .unreadable(reason: "the input ended within a message of 3 bytes")]),
        FramingCase(
            "headers cut short", "Content-Length: 2\n",
            [.unreadable(reason: "the input ended within the headers")]),
        FramingCase(
            "a header cut short", "Content-Length:", [.unreadable(reason: "the input ended within the headers")]),
    ]

    @Test(arguments: cuttings)
    func `Messages do not depend on the sizes of the received pieces`(cutting: FramingCase) {
        cutting.check()
    }

    static let notANumber = "Content-Length is not a decimal number in range"
    static let notAHeader = "a header line is not `Name: value`"

    @Test(arguments: [
        ("Content-Type: x\r\n\r\n{}", "Content-Length is missing"),
        ("Content-Length:\r\n\r\n", notANumber),
        ("Content-Length: -1\r\n\r\n", notANumber),
        ("Content-Length: +1\r\n\r\n", notANumber),
        ("Content-Length: 1.0\r\n\r\n", notANumber),
        ("Content-Length: 0x2\r\n\r\n", notANumber),
        ("Content-Length: 2, 2\r\n\r\n", notANumber),
        ("Content-Length: two\r\n\r\n", notANumber),
        ("Content-Length: 9223372036854775808\r\n\r\n", notANumber),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "Content-Length is given twice and differs"),
        ("Content-Length: 2\r\nnonsense\r\n\r\n{}", notAHeader),
        ("Content-Length: 2\r\nContent-Length : 2\r\n\r\n{}", notAHeader),
        ("Content-Length: 2\r\n{\"a\":1}\r\n\r\n", notAHeader),
        (
            "X: \(String(repeating: "x", count: 16 << 10))\nContent-Length: 2\n\n{}",
            "the headers are longer than 16384 bytes"
        ),
        (String(repeating: "X: y\n", count: 4 << 10), "the headers are longer than 16384 bytes"),
    ])
    func whatCannotBeReadEndsTheConnection(input: String, reason: String) {
        let bytes = Array((input + "Content-Length: 2\r\n\r\n{}").utf8)
        for piece in [1, 2, 3, 7, 100, bytes.count] {
            #expect(frames(of: bytes, piece: piece) == [.unreadable(reason: reason)], "in pieces of \(piece)")
        }
    }

    @Test func `The greatest Content-Length is skipped without overflow`() {
        let input = Array("Content-Length: \(Int.max)\r\n\r\n{}{}".utf8)
        #expect(frames(of: input, piece: 3) == [.tooLong(bytes: Int.max, limit: 20)])
        #expect(frames(of: input, piece: 3, max: .max, finishing: false) == [])
    }
}
