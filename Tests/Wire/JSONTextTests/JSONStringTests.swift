import TestSupport
import JSONText
import Testing

@Suite(.watchdog) struct JSONStringTests {
    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC\uD83D\uDE00""#, "Aé€😀"),
        (#""\u0000""#, "\0"), (#""é€😀""#, "é€😀"), (#""/\u007f""#, "/\u{7F}"),
    ])
    func readsEscapes(text: String, expected: String) throws {
        #expect(try parse(text) == .string(expected))
    }

    @Test(arguments: [
        (#"\uD800"#, "?"), (#"\uD800x"#, "?x"), (#"\uDC00"#, "?"), (#"\uD800\n"#, "?\n"), (#"\uD800\uD800"#, "??"),
        (#"\uD800A"#, "?A"), (#"\uDE00\uD83D"#, "??"), (#"\uD83D\uD83D\uDE00"#, "?😀"), (#"\uD83D\u0041"#, "?A"),
        (#"\uD83D\uDE00\uDE00"#, "😀?"),
    ])
    func readsALoneSurrogateAsTheReplacementCharacter(escapes: String, expected: String) throws {
        let text = expected.replacing("?", with: "\u{FFFD}")
        #expect(try parse("\"\(escapes)\"") == .string(text))
        #expect(try parse("{\"\(escapes)\":1}")[text] == 1)
    }

    @Test(arguments: [#"\uD83D\u"#, #"\uD83D\uDE0"#, #"\uD83D\uDE0x"#, #"\uD83D\x"#, #"\uD83"#, #"\uD83D\"#])
    func `Invalid escapes are refused`(escapes: String) {
        #expect(throws: JSONSyntaxError.self) { try parse("\"\(escapes)\"") }
    }

    @Test(
        arguments: [
            [0x80], [0xC3], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8],
            [0xFF],
            [0xE2, 0x82], [0xC3, 0x5C, 0x6E, 0xA9],
        ] as [[UInt8]])
    func refusesInvalidUTF8WhereverItStands(invalid: [UInt8]) {
        for padding in 0..<20 {
            let front = [UInt8](repeating: 0x61, count: padding)
            let error = JSONSyntaxError(offset: 1 + padding, reason: "invalid UTF-8")
            #expect(throws: error) { try parse([0x22] + front + invalid + [0x22]) }
            let escaped = JSONSyntaxError(offset: 3 + padding, reason: "invalid UTF-8")
            #expect(throws: escaped) { try parse([0x22, 0x5C, 0x6E] + front + invalid + [0x22]) }
        }
    }

    @Test func `Strings and keys are compared by their bytes`() throws {
        #expect(try parse("\"\u{E9}\"") != parse("\"e\u{301}\""))
        #expect(try parse("\"\u{E9}\"") == parse(#""\u00e9""#))
        let object = try parse("{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(object["\u{E9}"] == 1 && object["e\u{301}"] == 2)
        #expect(try parse("{\"\u{E9}\":1}") != parse("{\"e\u{301}\":1}"))
    }

    @Test func `Only characters that must be escaped are escaped`() {
        let text = "\"\\/\u{8}\u{C}\n\r\t\0\u{1F}\u{7F}é😀"
        #expect(JSON.string(text).text == #""\"\\/\b\f\n\r\t\u0000\u001f\#u{7F}é😀""#)
        var buffer = Array("> ".utf8)
        JSON.write("a\nb", to: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == #"> "a\nb""#)
    }

    /// Line separators at every place of a word, alone and in runs, with the characters that begin with the same bytes.
    @Test func `No text has a line separator, from any writer`() throws {
        for (separator, escape) in [("\u{85}", "\\u0085"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")] {
            for before in 0..<18 {
                for after in ["", "y", "\u{84}\u{A0}\u{2027}\u{202A}\u{203A}\u{20A8}\u{3028}é\n", separator] {
                    let (front, isLast) = (String(repeating: "x", count: before), after == separator)
                    let text = front + separator + after
                    let expected = "\"" + front + escape + (isLast ? escape : after.replacing("\n", with: "\\n")) + "\""
                    try check(text, expected)
                }
            }
        }
        try check("\u{C2}\u{E2}€\u{2027}", "\"\u{C2}\u{E2}€\u{2027}\"")
    }

    /// Every way to write a text, as a value and as a key.
    private func check(_ text: String, _ expected: String) throws {
        var (one, two) = ([UInt8](), [UInt8]())
        JSON.write(text, to: &one)
        JSONWriter.write(to: &two) { json in json.object { $0.member(named: text, text) } }
        let written = [
            JSON.string(text).text, String(decoding: one, as: UTF8.self), String(decoding: text.bytes, as: UTF8.self),
            try JSON(encoding: text).text,
        ]
        #expect(written.allSatisfy { $0.utf8.elementsEqual(expected.utf8) }, "\(text.debugDescription): \(written)")
        let objects = [two, JSON.object([.init(key: text, value: .string(text))]).bytes]
        #expect(objects.allSatisfy { $0 == Array("{\(expected):\(expected)}".utf8) })
        #expect(try parse(expected) == .string(text))
    }

    /// Every byte at every place of a word, with all lengths of what follows: the search looks at 16, 8 and fewer at a time.
    @Test func `The end of a plain run is found at every offset`() throws {
        for byte in UInt8(0)..<0x80 {
            for before in 0..<18 {
                for after in [0, 1, 7, 17] {
                    let text =
                        String(repeating: "x", count: before) + String(Unicode.Scalar(byte))
                        + String(repeating: "y", count: after)
                    guard try parse(written(.string(text))) != .string(text) else { continue }
                    Issue.record("byte \(byte) after \(before) and before \(after)")
                }
            }
        }
    }

    @Test func `Pieces of every size reach the output in order`() throws {
        let sizes = [0, 1, 15, 16, 500, 510, 511, 512, 513, 1024, 100_000]
        let json = JSON.array(
            sizes.map { .string(String(repeating: "é\n", count: $0)) } + [nil, true, 1.5, [], .object([])])
        let text = json.text
        #expect(try parse(text) == json)
        #expect(text.hasSuffix(",null,true,1.5,[],{}]"))
    }
}
