import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

/// A part as text, or the error that ends the body.
private enum Outcome: Equatable {
    case part(HTTPHeaders, String)
    case unfinishedPart
    case end
    case malformed(String)
}

private func outcomes(of pieces: [[UInt8]], _ boundary: String) throws -> [Outcome] {
    var parser = MultipartParser(try #require(MultipartBoundary(boundary)))
    var (outcomes, headers, content) = ([Outcome](), HTTPHeaders?.none, [UInt8]())
    var rest = pieces[...]
    do throws(MultipartParser.Malformed) {
        while true {
            switch try parser.next() {
            case .incomplete:
                if let piece = rest.popFirst() { parser.append(piece) } else { parser.finish() }
            case .part(let found): (headers, content) = (found, [])
            case .bytes(let bytes): content += bytes
            case .endOfPart:
                outcomes.append(.part(headers ?? [:], String(decoding: content, as: UTF8.self)))
                headers = nil
            case .end: return outcomes + [.end]
            }
        }
    } catch {
        return outcomes + (headers == nil ? [] : [.unfinishedPart]) + [.malformed(error.message)]
    }
}

/// `|` is CR LF.
private func outcomes(of text: String, _ boundary: String = "b") throws -> [Outcome] {
    try outcomes(of: [Array(text.replacing("|", with: "\r\n").utf8)], boundary)
}

@Suite(.watchdog) struct MultipartParserTests {
    /// Bodies of clients, with their boundaries and the contents of their parts.
    static let bodies: [(String, String, [String])] = [
        (
            "00029483012093",
            "--00029483012093|Content-Type: application/json; charset=utf-8||{\"name\":\"a\"}|"
                + "--00029483012093|Content-Type: text/plain||one\r|two|--00029483012093--",
            ["{\"name\":\"a\"}", "one\r\r\ntwo"]
        ),
        (
            "===============0123==",
            "--===============0123==|content-type: application/json; charset=UTF-8||{}|"
                + "--===============0123==|content-type: a/b||\0\u{1}--||--===|--===============0123=|x|"
                + "--===============0123==--", ["{}", "\0\u{1}--\r\n\r\n--===\r\n--===============0123=\r\nx"]
        ),
        ("==0==", "--==0==\nContent-Type: a/b\n\n{}\n--==0==\nContent-Type: c/d\n\nx\r\n--==0==--", ["{}", "x\r"]),
        (
            "5e0c1b5a-6b7f",
            "|--5e0c1b5a-6b7f \t|CONTENT-TYPE: a||--5e0c1b5a-6b7fx|--5e0c1b5a-6b7f-|--5e0c1b5a-6b7f--x|"
                + "--5e0c1b5a-6b7f\n|--5e0c1b5a-6b7f--  |epilogue",
            [
                "--5e0c1b5a-6b7fx\r\n--5e0c1b5a-6b7f-\r\n--5e0c1b5a-6b7f--x\r\n--5e0c1b5a-6b7f\n"
            ]
        ),
        ("b", "preamble|-|--|--c|--bc|x--b|--b||1|--b||--b|A: b|||--b||2|--b--|--b||3|--b--", ["1", "", "", "2"]),
        ("b", "--b--", []), ("b", "pre\n--b--\n", []), ("b", "--b||--b--", [""]), ("b", "--b|||--b--\r\n", [""]),
        ("b", "--b||\r\r\r|--b--", ["\r\r\r"]), ("b", "--b||--b --|--b--", ["--b --"]),
    ]

    @Test(arguments: bodies) func `A body has the same parts wherever it is split`(
        boundary: String, text: String, contents: [String]
    ) throws {
        let bytes = Array(text.replacing("|", with: "\r\n").utf8)
        let whole = try outcomes(of: [bytes], boundary)
        let texts = whole.compactMap { outcome in if case .part(_, let text) = outcome { text } else { nil } }
        #expect(texts == contents && whole.last == .end)
        for split in 1..<bytes.count {
            #expect(
                try outcomes(of: [Array(bytes[..<split]), Array(bytes[split...])], boundary) == whole, "at \(split)")
        }
        #expect(try outcomes(of: bytes.map { [$0] }, boundary) == whole)
        var random = SeededGenerator(state: 1)
        for _ in 0..<200 {
            let splits = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            let pieces = zip([0] + splits, splits + [bytes.count]).map { Array(bytes[$0..<$1]) }
            #expect(try outcomes(of: pieces, boundary) == whole, "at \(splits)")
        }
    }

    @Test func `Headers are read in any case, folded or not`() throws {
        let parts = try outcomes(
            of: "--b|CONTENT-TYPE: a/b|x-empty:|content-id:  <1> |Long: one|\ttwo|  three||x|--b--")
        guard case .part(let headers, "x") = parts.first else { throw Unexpected(parts: "\(parts)") }
        #expect(headers["Content-Type"] == "a/b" && headers["X-Empty"] == "" && headers["Content-ID"] == "<1>")
        #expect(headers["long"] == "one two three" && headers.fields.count == 4)
    }

    private struct Unexpected: Error { var parts: String }

    /// Malformed bodies, and a word of the error.
    @Test(arguments: [
        ("", "no line with its delimiter, --b"), ("hello", "no line"), ("--b", "no line"), ("--b-", "no line"),
        ("x--b||1|", "no line"), ("--c||1|--c--", "no line"), ("--b-|", "no line"), ("--bb--", "no line"),
        ("--b|", "within the headers"), ("--b|A: b|", "within the headers"), ("--b|A: b", "within the headers"),
        ("--b|A: b|--b--|", "no name with a value"), ("--b|hello||x|--b--", "no name with a value"),
        ("--b| A: b||x|--b--", "no name with a value"), ("--b|A : b||x|--b--", "no name with a value"),
        ("--b|A: b\n|x|--b--", "LF alone"), ("--b|\nx|--b--", "LF alone"), ("--b|A: \0||x|--b--", "control"),
        ("--b|A: \r||x|--b--", "control"), ("--b\nA: b\r\n\nx\n--b--", "control"),
        ("--b||", "lacks the closing"), ("--b||x|", "lacks the closing"), ("--b||x|--b", "lacks the closing"),
        ("--b||x|--b-", "lacks the closing"), ("--b||x--b--", "lacks the closing"),
        ("--b||x\n--b--", "lacks the closing"), ("--b||x|--b--y", "lacks the closing"),
        ("--b||x|--b--\r", "lacks the closing"), ("--b\n\nx|--b--|", "lacks the closing"),
    ]) func `A malformed body is an error with the reason`(text: String, reason: String) throws {
        let bytes = Array(text.replacing("|", with: "\r\n").utf8)
        let whole = try outcomes(of: [bytes], "b")
        guard case .malformed(let message) = whole.last else { throw Unexpected(parts: "\(whole)") }
        #expect(message.contains(reason))
        #expect(try outcomes(of: bytes.map { [$0] }, "b") == whole)
    }

    @Test func `Headers and the blanks after a delimiter are bounded`() throws {
        func last(_ text: String) throws -> Outcome? { try outcomes(of: text).last }
        func fields(_ count: Int) -> String { "--b|" + String(repeating: "a:b|", count: count) + "|x|--b--" }
        #expect(try last(fields(32)) == .end && last(fields(33)) == .malformed("A part has more than 32 headers."))
        func field(_ count: Int) -> String { "--b|A:" + String(repeating: "x", count: count - 6) + "||x|--b--" }
        let tooLong = Outcome.malformed("The headers of a part are too long.")
        #expect(try last(field(16 << 10)) == .end && last(field(16 << 10 + 1)) == tooLong)
        #expect(try last("--b|" + String(repeating: "x", count: 20 << 10)) == tooLong)
        func padding(_ count: Int) -> String { "--b" + String(repeating: " ", count: count) + "||x|--b--" }
        #expect(try outcomes(of: padding(100)) == [.part([:], "x"), .end])
        #expect(try outcomes(of: padding(101)) == [.end], "it is no delimiter")
    }

    @Test func `Content of any size uses the memory of one piece`() throws {
        var parser = MultipartParser(try #require(MultipartBoundary("b")))
        parser.append(Array("--b\r\n\r\n".utf8))
        #expect(try parser.next() == .part([:]))
        let piece = [UInt8](repeating: 0x0D, count: 64 << 10)
        var total = 0
        for _ in 0..<100 {
            parser.append(piece)
            while case .bytes(let bytes) = try parser.next() {
                #expect(bytes.count <= piece.count + 5)
                total += bytes.count
            }
        }
        #expect(total > 100 * piece.count - 5)
    }

    @Test(arguments: [
        ("multipart/related; boundary=abc", "abc"), ("Multipart/Related;BOUNDARY=\"a b\"", "a b"),
        ("multipart/form-data ; charset=utf-8; boundary=a ", "a"), ("multipart/mixed; boundary='x;y'", "x;y"),
        ("multipart/related; boundary====0==", "===0=="),
        ("multipart/related; boundary=\"===0==\"; type=\"a/b\"", "===0=="),
        ("multipart/related; type=\"a;boundary=b\"; boundary=c", "c"), ("multipart/a; boundary=\"a\\\"b\"", "a\"b"),
        ("multipart/a; boundary=a; ", "a"), ("multipart/a;; boundary=a", "a"), ("multipart/a; boundary=\ta", "a"),
    ]) func `The boundary is found in a content type`(value: String, boundary: String) {
        #expect(MultipartBoundary(contentType: value)?.text == boundary)
    }

    @Test(arguments: [
        "", "multipart/related", "multipart/related; boundary", "multipart/related; boundary=",
        "multipart/; boundary=a",
        "multipart/a; boundary=\"\"", "multipart/a; boundary=\"a", "multipart/a; boundary=\"a\\",
        "text/plain; boundary=a",
        "multipart/a; boundary=\"a\"b", "multipart/a; boundary=a; boundary=a", "multipart/a; boundary=ä",
        "multipart/a; boundary=\"a \"", "multipart/a; boundary=" + String(repeating: "a", count: 71),
        "multipart; boundary=a",
        "multipart/a; x; boundary=a",
    ]) func `A content type without one boundary is refused`(value: String) {
        #expect(MultipartBoundary(contentType: value) == nil)
    }
}
