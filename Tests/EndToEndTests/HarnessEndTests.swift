import Foundation
import JSONText
import TestSupport
import Testing

/// The end of the input of `serve --harness`, while requests and tasks rest or are delayed.
@Suite(.watchdog) struct HarnessEndTests {
    private let place = Place()
    private static let list = #"{"reference":"gs://b"}"#
    private static let stand = #""harness/clock","params":{"at":"2026-01-01T00:00:00Z"}"#

    /// What the service says to these requests, then the end of its input.
    private func answers(_ calls: [String]) async throws -> [JSON] {
        try Data(count: 1 << 20).write(to: URL(filePath: "\(place.directory)/film"))
        let lines = calls.enumerated().map { #"{"jsonrpc":"2.0","id":\#($0),"method":\#($1)}"# }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: "\(place.directory)/input"))
        let command = "\(ServiceProcess.program) serve --harness < input"
        let outcome = await Command("/bin/sh", ["-c", command], in: place.directory).run()
        #expect(outcome.status == 0)
        return try outcome.text.split(separator: "\n").map { try JSON(parsing: String($0)) }
    }

    private func answer(_ id: Int64, in answers: [JSON]) throws -> JSON {
        try #require(answers.first { $0["id"]?.number?.int64 == id })
    }

    private func arm(_ operation: String, _ effect: String) -> String {
        #""harness/arm","params":{"on":"\#(operation)","do":\#(effect),"times":null}"#
    }

    @Test(arguments: [#"{"delay":86400}"#, #"{"fail":{"httpStatus":503}}"#])
    func `A request that waits for a stopped clock ends with the input`(effect: String) async throws {
        let answers = try await answers([
            Self.stand, arm("list", effect), arm("send", effect), #""reference/list","params":\#(Self.list)"#,
            #""reference/putFile","params":{"reference":"gs://b/f","file":"\#(place.directory)/film"}"#,
        ])
        #expect(try answer(3, in: answers)["error"]?["code"] == -13040)
        #expect(try answer(4, in: answers)["result"]?["task"]?.string != nil)
    }

    /// Nobody sees how long it takes.
    @Test func `A request that is delayed on a clock that runs is answered with the input's end`() async throws {
        let answers = try await answers([
            arm("list", #"{"delay":86400}"#), #""reference/list","params":\#(Self.list)"#,
        ])
        #expect(try answer(1, in: answers)["result"]?["items"] == [])
    }

    @Test func `Attempts to repeat a request end with the input`() async throws {
        let answers = try await answers([
            arm("list", #"{"fail":{"httpStatus":503}}"#), #""reference/list","params":\#(Self.list)"#,
        ])
        #expect(try answer(1, in: answers)["error"]?["code"] == -13030)
    }
}
