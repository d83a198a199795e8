import JSONText
import Platform
import TestSupport
import Testing
import Tracing

/// The timeline of a trace that is being recorded.
@Suite(.watchdog) struct LiveTimelineTests {
    /// The lines that follow each line of a trace, and those at its end.
    private func live(
        _ lines: [String], asJSON: Bool = false, _ choose: (inout Timeline.Options) -> Void = { _ in }
    ) throws -> (steps: [[String]], end: [String]) {
        var options = Timeline.Options()
        choose(&options)
        var (live, steps, end): (LiveTimeline, [[String]], [String]) = (.init(options, asJSON: asJSON), [], [])
        for line in lines {
            var step: [String] = []
            try live.take(TraceLine(JSON(parsing: line)), width: nil) { step.append($0) }
            steps.append(step)
        }
        live.end { end.append($0) }
        return (steps, end)
    }

    private let failing = [
        head, said(101, "client", #"{"id":1,"method":"reference/putFile","params":{"reference":"gs://b/a"}}"#),
        said(101.2, "client", #"{"id":2,"method":"service/ping"}"#),
        said(101.5, "service", #"{"id":1,"result":{"task":"12345678-9","state":"queued","progress":{}}}"#),
        said(102, "client", #"{"id":3,"method":"reference/getMetadata","params":{"reference":"gs://b/a"}}"#),
        said(103, "service", #"{"id":3,"error":{"code":-13010,"message":"None."}}"#),
    ]

    @Test func `A trace that is being recorded is shown line by line`() throws {
        let (steps, end) = try live(failing)
        #expect(steps.map(\.count) == [2, 1, 1, 1, 1, 1])
        #expect(steps[1][0].contains("→ 1 reference/putFile") && !steps[1][0].contains("no answer"))
        #expect(steps[3][0].contains("← 1 reference/putFile  500 ms  task 12345678"))
        #expect(end.contains { $0.contains("upload 12345678") } && end.last == "1 request has no answer")
        let json = try live(failing, asJSON: true)
        #expect(json.steps.map(\.count) == [1, 1, 1, 1, 1, 1] && json.end.isEmpty)
        #expect(try JSON(parsing: json.steps[4][0])["title"] == "reference/getMetadata")
    }

    @Test func `With a filter, a request is shown when its answer matches`() throws {
        let errors = try live(failing) { $0.showsErrors = true }
        #expect(errors.steps.map(\.count) == [1, 0, 0, 0, 0, 2])
        #expect(errors.steps[5][0].contains("→ 3") && errors.steps[5][1].contains("← 3"))
        #expect(errors.end.first?.contains("→ 2 service/ping  no answer") == true)
        let task = try live(failing) { $0.task = "1234" }
        #expect(task.steps.map(\.count) == [1, 0, 0, 2, 0, 0])
        #expect(task.end.allSatisfy { !$0.contains("ping") })
    }

    @Test func `At most one progress report a second is shown for a transfer`() throws {
        func report(_ at: Double) -> String {
            said(
                at, "service",
                #"{"method":"uploadTask/event","params":{"snapshot":{"task":"t","status":"progress","state":"running"}}}"#
            )
        }
        let lines = [head] + [101, 101.4, 101.9, 102, 102.1, 103.5].map(report)
        #expect(try live(lines).steps.dropFirst().map(\.count) == [1, 0, 0, 1, 0, 1])
        #expect(try live(lines) { $0.showsAll = true }.steps.dropFirst().allSatisfy { $0.count == 1 })
    }
}

private let head = #"{"trace":1,"version":"9","at":100,"pid":7,"engine":"embedded"}"#

private func said(_ at: Double, _ sender: String, _ message: String) -> String {
    #"{"at":\#(at),"pid":7,"connection":1,"from":"\#(sender)","bytes":9,"message":\#(message)}"#
}
