import TestSupport
import Testing

@testable import JSONText

/// Names that occur twice in one object.
@Suite(.watchdog) struct RepeatedNameTests {
    private func read(_ text: String) throws -> (json: JSON, repeatsName: Bool) {
        var repeatsName = false
        let json = try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0, repeatsName: &repeatsName) }
        return (json, repeatsName)
    }

    @Test(arguments: [
        (#"{"a":1,"a":1}"#, "a"), (#"{"a":1,"b":2,"\u0061":3}"#, "a"), (#"{"":1,"":2}"#, ""),
        (#"{"a":{"b":[0,{"c":1,"d":2,"c":3}]}}"#, "a.b.1.c"), (#"[{"a":1},{"a":1,"a":2}]"#, "1.a"),
        (#"{"x":{"a":1,"a":2},"b":1,"b":2}"#, "b"), (#"{"\ud800":1,"\ufffd":2}"#, "\u{FFFD}"),
    ])
    func `The parser reports a name that occurs twice in an object, and its path`(text: String, path: String) throws {
        let (json, repeatsName) = try read(text)
        #expect(repeatsName)
        #expect(json.repeatedName?.joined(separator: ".") == path)
        #expect(JSON(wire: Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "{}", "1", #"{"a":1}"#, #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":1,"A":2,"a ":3}"#,
        "{\"\u{E9}\":1,\"e\u{301}\":2}", #"{"a":["a","a"],"b":["a","a"]}"#,
    ])
    func `Different names, and one name in different objects, are not reported`(text: String) throws {
        let (json, repeatsName) = try read(text)
        #expect(!repeatsName && json.repeatedName == nil)
    }

    @Test(arguments: [2, 15, 16, 17, 18, 1000])
    func `A repeated name is found among any number of members, wherever it is`(count: Int) throws {
        let names = (0..<count).map { #""member-\#($0)":0"# }
        #expect(try !read("{" + names.joined(separator: ",") + "}").repeatsName)
        for place in [0, count / 2, count - 1] {
            let (json, repeatsName) = try read("{" + (names + [names[place]]).joined(separator: ",") + "}")
            #expect(repeatsName && json.repeatedName == ["member-\(place)"])
        }
    }

    @Test func `Objects of a hundred thousand members, and many nested objects, are compared in linear time`() throws {
        let members = (0..<100_000).map { #""\#($0)":0"# }.joined(separator: ",")
        #expect(try read("{\(members),\"99999\":1}").json.repeatedName == ["99999"])
        let deep = String(repeating: #"{"a":"#, count: 500) + #"{"b":1,"b":2}"# + String(repeating: "}", count: 500)
        #expect(try read("[" + String(repeating: "\(deep),", count: 200) + "0]").json.repeatedName?.count == 502)
    }

    @Test func `Elements that are parsed one by one report repeated names, too`() throws {
        let text = Array(#"[{"a":1,"a":2},{"a":1},3]"#.utf8)
        var elements = try #require(try JSONElements(text[...])), found: [Bool] = []
        while let next = elements.next() { found.append(next.repeatsName) }
        #expect(found == [true, false, false])
    }
}
