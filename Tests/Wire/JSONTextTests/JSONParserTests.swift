import TestSupport
import JSONText
import Testing

@Suite(.watchdog) struct JSONParserTests {
    @Test func `Every kind of value is read`() throws {
        let text = #" { "a" : [ null , true , false , -1.5e3 , "x" , [ ] , { } ] , "b" : "" } "#
        let expected: JSON = [
            "a": [nil, true, false, .number(try #require(try parse("-1.5e3").number)), "x", [], .object([])], "b": "",
        ]
        #expect(try parse(text) == expected)
    }

    @Test func `Members keep their order, and repeated names are kept`() throws {
        let json = try parse(#"{"b":1,"a":2,"b":3}"#)
        #expect(json.object?.map(\.key) == ["b", "a", "b"])
        #expect(json["b"]?.number?.int64 == 3)
        #expect(json["c"] == nil)
        #expect(try parse("[1]")["b"] == nil)
    }

    @Test(arguments: [
        ("", 0, "expected a value, found the end of input"),
        (" \n", 2, "expected a value, found the end of input"),
        ("[1,]", 3, "expected a value"),
        ("[1 2]", 3, "expected a comma or the end"),
        ("[1}", 2, "expected a comma or the end"),
        ("[1", 2, "expected a comma or the end, found the end of input"),
        (#"{"a":1,}"#, 7, "expected a member name"),
        (#"{"a" 1}"#, 5, "expected a colon"),
        ("{1:2}", 1, "expected a member name"),
        ("1 2", 2, "expected the end of the text"),
        ("01", 1, "expected the end of the text"),
        ("-", 1, "expected a digit, found the end of input"),
        ("1.e3", 2, "expected a digit"),
        ("[tru]", 1, "expected true"),
        ("NaN", 0, "expected a value"),
        ("\u{FEFF}1", 0, "expected a value"),
        ("\u{A0}1", 0, "expected a value"),
        ("1\0", 1, "expected the end of the text"),
        ("\"a", 2, "expected a closing quote, found the end of input"),
        ("\"a\\", 3, "unknown escape, found the end of input"),
        ("\"a\nb\"", 2, "control character in a string"),
        ("\"\\n\u{1F}\"", 3, "control character in a string"),
        (#""\x41""#, 2, "unknown escape"),
        (#""\u12G4""#, 5, "expected a hexadecimal digit"),
    ])
    func saysWhatIsWrongAndWhere(text: String, offset: Int, reason: String) {
        #expect(throws: JSONSyntaxError(offset: offset, reason: reason)) { try parse(text) }
    }

    @Test func `Errors have a reason and an offset`() {
        #expect("\(JSONSyntaxError(offset: 7, reason: "expected a value"))" == "expected a value at byte 7")
    }

    @Test func `The depth is limited exactly`() {
        func nested(_ depth: Int) -> [UInt8] {
            Array(
                (String(repeating: #"[{"a":"#, count: depth / 2) + "0" + String(repeating: "}]", count: depth / 2)).utf8
            )
        }
        #expect(throws: Never.self) { try parse(nested(512)) }
        #expect(throws: JSONSyntaxError.self) { try parse(nested(514)) }
        #expect(throws: JSONSyntaxError.self) { try parse(nested(4), maxDepth: 3) }
        #expect(throws: Never.self) { try parse(Array("0".utf8), maxDepth: 0) }
    }

    @Test func `The greatest depth is safe on a small stack`() async {
        let opening = Array(String(repeating: #"{"a":["#, count: 256).utf8)
        let closing = Array(String(repeating: "]}", count: 256).utf8)
        let isSame = await onSmallStack {
            guard let json = try? parse(opening + closing) else { return false }
            return written(json) == opening + closing
        }
        #expect(isSame)
        let isRefused = await onSmallStack { (try? parse([UInt8](repeating: 0x5B, count: 1_000_000))) == nil }
        #expect(isRefused)
    }
}

@Suite(.watchdog) struct JSONNumberTests {
    @Test(
        arguments: [
            ("0", 0, 0), ("-0", 0, -0.0), ("9007199254740993", 9_007_199_254_740_993, 9_007_199_254_740_992),
            ("-9223372036854775808", Int64.min, -0x1p63), ("9223372036854775808", nil, 0x1p63),
            ("1.0", 1, 1), ("1e3", 1000, 1000), ("1E-2", nil, 0.01), ("1e400", nil, nil), ("1e-400", nil, 0),
            ("-0.0e5", 0, -0.0), ("-12.5E+1", -125, -125), ("1500e-2", 15, 15), ("1500e-3", nil, 1.5),
            ("0e999999999999", 0, 0),
            ("9007199254740993.000", 9_007_199_254_740_993, 9_007_199_254_740_992),
            ("9223372036854775808.0", nil, 0x1p63),
            ("-9223372036854775808.0", Int64.min, -0x1p63), ("1e99999999999999999999", nil, nil),
            ("1e-99999999999999999999", nil, 0), ("0.001e3", 1, 1), ("10", 10, 10),
            ("1e18", 1_000_000_000_000_000_000, 1e18),
        ] as [(String, Int64?, Double?)])
    func keepsItsLiteralAndKnowsItsValue(literal: String, int64: Int64?, double: Double?) throws {
        let number = try #require(try parse(literal).number)
        #expect(number.literal == literal)
        #expect(number.int64 == int64)
        #expect(number.double == double)
    }

    @Test func `Numbers beyond every machine type are kept as sent`() throws {
        let text = #"{"id":123456789012345678901234567890,"other":1.10e+05}"#
        #expect(try parse(text).text == text)
    }

    @Test func `Doubles are written so that reading gives the same value`() throws {
        for value in [0.1, 1, -2.5e-7, 1e21, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 1 / 3] {
            #expect(try parse(JSON(value).text).number?.double == value)
        }
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(JSON(value) == .null)
        }
        #expect(JSON(Int64.max).text == "9223372036854775807")
    }
}

@Suite(.watchdog) struct JSONCountTests {
    private func parse(_ text: String, maxValues: Int) throws(JSONSyntaxError) -> JSON {
        let outcome = Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes, maxValues: maxValues) }
        }
        return try outcome.get()
    }

    private func elements(_ text: String, maxValues: Int = .max) throws(JSONSyntaxError) -> JSONElements? {
        try JSONElements(ArraySlice(text.utf8), maxValues: maxValues)
    }

    @Test(arguments: [
        ("0", 1), ("[]", 1), ("{}", 1), ("[[],{}]", 3), (#"{"a":{"b":"c"},"d":[1,null,true]}"#, 7), ("[[0],[0]]", 5),
        (#"[{"":0},{"":0}]"#, 5), (#""[1,2,3]""#, 1),
    ])
    func valuesAreCountedAtEveryDepth(text: String, count: Int) throws {
        #expect(throws: Never.self) { try parse(text, maxValues: count) }
        #expect(throws: JSONSyntaxError.self) { try parse(text, maxValues: count - 1) }
        #expect(throws: JSONSyntaxError.self) { try elements(text, maxValues: count - 1) }
        do throws(JSONSyntaxError) {
            _ = try parse(text, maxValues: count - 1)
        } catch {
            #expect(error.limit == .values && error.reason == "more than \(count - 1) values")
        }
    }

    @Test(arguments: ["[]", " [ 1 ] ", #"[1,"a]",[2,[3]],{"b":[4]},null]"#, "\n[[],\t[] , {} ]\r\n"])
    func `Elements are read one by one`(text: String) throws {
        var found: [JSON] = []
        var elements = try #require(try elements(text))
        let all = try #require(try TestSupport.parse(text).array)
        #expect(elements.count == all.count)
        while let next = elements.next() { found.append(next.element) }
        #expect(found == all && elements.count == 0)
    }

    @Test func `A text that is not an array has no elements`() throws {
        for text in ["1", #"{"a":[]}"#, #""[]""#] { #expect(try elements(text) == nil) }
    }

    @Test(arguments: ["[1,", "[1,2}", #"[1,"\u00"]"#, "[1] 2", "[1,\"\u{1}\"]", "[[[[", "[tru]"])
    func `A text is checked as a whole before its elements are read`(text: String) throws {
        var expected: JSONSyntaxError?
        do throws(JSONSyntaxError) { _ = try TestSupport.parse(text) } catch { expected = error }
        #expect(throws: try #require(expected)) { try elements(text) }
    }
}
