import JSONText
import TestSupport
import Testing

@testable import Gateway

@Suite(.watchdog) struct ResourceMembersTests {
    private let members: ResourceMembers = [
        "name": .served(), "etag": .outputOnly(), "size": .outputOnly(.number), "list": .served(.list),
        "class": .refused(but: ["STANDARD"]), "hold": .refused(),
        "access": .members(["uniform": .fixed(true)]),
    ]

    private func status(_ json: JSON) -> Int? {
        do {
            try members.check(json)
            return nil
        } catch { return error.status }
    }

    @Test(
        arguments: [
            [:], nil, ["name": "a", "etag": "b"], ["name": nil, "size": 1, "list": [1]], ["size": "0"],
            ["class": "STANDARD"], ["class": ""], ["class": nil], ["hold": false],
            ["hold": 0], ["hold": "0"], ["hold": [[], ["a": nil], ["b": false]]], ["access": ["uniform": true]],
            ["access": ["uniform": nil]], ["access": nil],
        ] as [JSON])
    func `Values that say what is so anyway are taken`(json: JSON) { #expect(status(json) == nil) }

    @Test(
        arguments: [
            ["class": "NEARLINE"], ["hold": true], ["hold": 1], ["hold": "STANDARD"],
            ["hold": [[], ["a": ["b": [1]]]]],
            ["access": ["uniform": false]], ["access": ["uniform": 1]], ["hold": false, "class": true],
        ] as [JSON])
    func `A value that nothing would come of is refused`(json: JSON) { #expect(status(json) == 501) }

    @Test(
        arguments: [["other": nil], ["name": "a", "Name": "a"], ["access": ["other": false]], ["access": []]] as [JSON])
    func `An unknown member is refused, whatever its value`(json: JSON) { #expect(status(json) == 400) }

    @Test(
        arguments: [
            5, "a", [], ["name": 1], ["name": ["a": "b"]], ["etag": []], ["size": "a"], ["size": -1], ["size": "01"],
            ["size": true], ["list": "a"],
        ] as [JSON])
    func `A value of another type is refused`(json: JSON) { #expect(status(json) == 400) }

    @Test func `A value with many levels takes no stack`() throws {
        let levels = 500
        let text = #"{"hold":"# + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}"
        #expect(try status(JSON(parsing: text)) == nil)
    }
}
