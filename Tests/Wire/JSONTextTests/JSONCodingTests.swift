import Foundation
import JSONText
import TestSupport
import Testing

@Suite(.watchdog) struct JSONCodingTests {
    private struct Inner: Codable, Equatable {
        enum Kind: String, Codable { case large, small }

        var kind: Kind?
        var numbers: [Int64] = []
        var texts: [String: String] = [:]
    }

    /// A value of every shape.
    private struct Outer: Codable, Equatable {
        enum Choice: Codable, Equatable { case none, some(count: UInt8, Inner) }

        var yes = true
        var text = "a\"\\/\u{1}é\u{2028}"
        var (tiny, small, middle, large) = (Int8.min, Int16.max, Int32.min, Int64.max)
        var (word, most, mask) = (UInt16.max, UInt64.max, UInt32.max)
        var (double, single) = (0.1, Float(1.5))
        var seconds = 600.0
        var absent: String?
        var inner: Inner? = Inner(kind: .small, numbers: [1, -2], texts: ["b": "2", "a": "1"])
        var nested: [[Inner?]] = [[nil, Inner()], []]
        var choices = [Choice.none, .some(count: 3, Inner(kind: .large))]
    }

    @Test("Foundation reads what JSON encodes") func encoding() throws {
        let text = try JSON(encoding: Outer()).text
        #expect(try JSONDecoder().decode(Outer.self, from: Data(text.utf8)) == Outer())
    }

    @Test("JSON reads what Foundation encodes") func decoding() throws {
        let data = try JSONEncoder().encode(Outer())
        let json = try #require(JSON(wire: Array(data)))
        #expect(try json.decoded(as: Outer.self) == Outer())
    }

    @Test("Members stand in the order of their keys, and absent ones are left out") func order() throws {
        let inner = Inner(kind: nil, numbers: [3], texts: ["b": "2", "a": "1"])
        #expect(try JSON(encoding: inner).text == #"{"numbers":[3],"texts":{"a":"1","b":"2"}}"#)
    }

    @Test(
        "A text of another shape is refused",
        arguments: [
            "[]", "{}", #"{"numbers":[],"texts":[]}"#, #"{"numbers":[1.5],"texts":{}}"#, #"{"numbers":{},"texts":{}}"#,
            #"{"numbers":[9223372036854775808],"texts":{}}"#, #"{"numbers":[],"texts":{},"kind":"huge"}"#,
            #"{"numbers":[],"texts":{"a":1}}"#, #"{"numbers":null,"texts":{}}"#,
        ])
    func mistyped(_ text: String) throws {
        let json = try #require(JSON(wire: Array(text.utf8)))
        #expect(throws: DecodingError.self) { try json.decoded(as: Inner.self) }
    }

    @Test("A number that JSON does not have is refused") func infinite() {
        #expect(throws: EncodingError.self) { try JSON(encoding: [Double.infinity]) }
    }

    @Test("A whole number is an integer, however it is written") func whole() throws {
        let json = try #require(JSON(wire: Array("[1.0,2e1]".utf8)))
        #expect(try json.decoded(as: [UInt8].self) == [1, 20])
    }
}
