import JSONText
import TestSupport
import Testing

@testable import Gateway

@Suite(.watchdog) struct FieldSelectionTests {
    private let answer: JSON = [
        "kind": "list", "items": [["name": "a", "size": "1", "owner": ["id": "x", "entity": "y"]], ["name": "b"]],
    ]

    private func selected(_ fields: String) throws -> JSON { try FieldSelection(fields).selected(from: answer) }

    @Test func `Names, paths and groups select members, at every place where they are named`() throws {
        #expect(try selected("kind") == ["kind": "list"])
        #expect(try selected("items/name") == ["items": [["name": "a"], ["name": "b"]]])
        #expect(
            try selected("items(name,owner/id),kind,none") == [
                "kind": "list", "items": [["name": "a", "owner": ["id": "x"]], ["name": "b"]],
            ])
        #expect(try selected("items/name,items/size") == ["items": [["name": "a", "size": "1"], ["name": "b"]]])
        #expect(
            try selected("items(owner(id)),items(name)") == [
                "items": [["name": "a", "owner": ["id": "x"]], ["name": "b"]]
            ])
        #expect(try selected("items,items/name") == selected("items"))
        #expect(try selected("*/name") == ["kind": "list", "items": [["name": "a"], ["name": "b"]]])
        #expect(try selected("*") == answer)
    }

    @Test(arguments: ["", ",", "a,", "a/", "/a", "a(", "a)", "a()", "a(b", "a(b))", "a(b)c", "(a)", "a,,b", "a(b)/c"])
    func `A malformed selection is refused`(fields: String) {
        #expect(throws: GatewayError.self) { try FieldSelection(fields) }
    }

    @Test func `A selection of many levels is refused, in any form and of any length`() throws {
        for text in ["a/", "a("] {
            #expect(throws: GatewayError.self) { try FieldSelection(String(repeating: text, count: 4000) + "a") }
            #expect(throws: GatewayError.self) { try FieldSelection(String(repeating: text, count: 500_000) + "a") }
        }
        let deepest = (0..<16).map { _ in "a" }.joined(separator: "/")
        #expect(try FieldSelection(deepest).selected(from: ["b": 1]) == [:])
        #expect(throws: GatewayError.self) { try FieldSelection(deepest + "/a") }
        #expect(throws: GatewayError.self) { try FieldSelection(String(repeating: "a,", count: 100_000) + "a") }
    }
}
