import Foundation
import Glibc
import JSONText
import Platform
import TestSupport
import Testing
import Tracing

/// The timeline and the page of a trace.
@Suite(.watchdog) struct TraceModelTests {
    private static let head = #"{"trace":1,"version":"9","at":100,"pid":7,"engine":"embedded"}"#

    @Test func `A session becomes a timeline`() throws {
        let told = try timeline([
            Self.head, #"{"at":100.001,"pid":7,"connection":1,"began":"stdio"}"#,
            said(
                100.002, "client",
                #"{"id":1,"method":"reference/putFile","params":{"reference":"gs://b/a","file":"/f"}}"#),
            said(
                100.004, "service",
                #"{"id":1,"result":{"task":"12345678-9","state":"queued","reference":{"url":"gs://b/a"},"progress":{"completedUnitCount":0,"totalUnitCount":2000}}}"#
            ),
            said(
                100.1, "service",
                #"{"method":"uploadTask/event","params":{"handle":"o","snapshot":{"task":"12345678-9","status":"success","state":"success","progress":{"completedUnitCount":2000,"totalUnitCount":2000}}}}"#
            ),
            said(
                100.2, "client",
                #"{"id":"x","method":"reference/getMetadata","params":{"reference":{"bucket":"b","fullPath":"n"}}}"#),
            said(
                100.3, "service",
                #"{"id":"x","error":{"code":-13010,"message":"None.","data":{"name":"objectNotFound"}}}"#),
            said(100.4, "service", #"{"id":1,"method":"auth/refreshToken","params":{}}"#),
            said(100.5, "client", #"{"id":2,"method":"service/ping"}"#),
            #"{"at":100.6,"pid":7,"dropped":3}"#, #"{"at":100.7,"pid":7,"connection":1,"ended":true}"#,
        ])
        for part in [
            "00:01:40.000       ══ storage-rpc 9, process 7, engine embedded, 1970-01-01T00:01:40.000Z",
            "00:01:40.001    1  ┌ connected: stdio", "00:01:40.002    1  → 1 reference/putFile  gs://b/a  file /f\n",
            "00:01:40.004    1  ← 1 reference/putFile  2.00 ms  task 12345678  queued  0 B of 2.0 KiB",
            "00:01:40.100    1  ⇠ uploadTask/event  success  task 12345678  success  2.0 KiB of 2.0 KiB  o",
            "← \"x\" reference/getMetadata  100 ms  -13010  objectNotFound  None.",
            "? 1 auth/refreshToken  no answer", "→ 2 service/ping  no answer", "!! 3 messages are missing here",
            "└ disconnected", "asked for → queued → success  upload 12345678  gs://b/a  2.0 KiB of 2.0 KiB in 98 ms",
            "2 requests have no answer",
        ] {
            #expect(told.contains(part), "\(part)")
        }
    }

    @Test func `A wait after a failure is a state of its own, with the error and the attempt`() throws {
        func event(_ at: Double, _ more: String) -> String {
            said(
                at, "service",
                #"{"method":"uploadTask/event","params":{"handle":"o","snapshot":{"task":"t","status":"progress","state":"running"\#(more)}}}"#
            )
        }
        let retry =
            #","retry":{"attempt":2,"of":"upload","at":"1970-01-01T00:01:43.000Z","error":{"code":-13030,"message":"Down.","data":{"name":"retryLimitExceeded"}}}"#
        let task = try #require(
            model([Self.head, event(101, ""), event(102, retry), event(103, "")]).tasks.first)
        #expect(task.states == ["running", "waiting", "running"])
        #expect(
            task.samples.map(\.note) == [
                "", "attempt 2 of upload  at 1970-01-01T00:01:43.000Z  -13030  retryLimitExceeded  Down.", "",
            ])
    }

    /// A change of a task that the service has written.
    private func changed(_ at: Double, _ state: String, _ completed: Int = 0, _ more: String = "") -> String {
        let progress = #"{"completedUnitCount":\#(completed),"totalUnitCount":4096}"#
        return
            #"{"at":\#(at),"pid":7,"task":{"task":"12345678-9","kind":"upload","state":"\#(state)","progress":\#(progress),"reference":{"url":"gs://b/f/picture.jpg"}\#(more)}}"#
    }

    private func retry(_ attempt: Int, _ error: String) -> String {
        #","retry":{"attempt":\#(attempt),"of":"upload","at":"1970-01-01T00:01:43.000Z","error":\#(error)}"#
    }

    private let busy = #"{"code":-13000,"message":"Busy.","data":{"name":"unknown","httpStatus":503}}"#

    @Test func `The trace has the states of a task that no client observes, and what a slow one waited for`() throws {
        let lines = [
            Self.head,
            said(
                101, "client", #"{"id":1,"method":"reference/putFile","params":{"reference":"gs://b/f/picture.jpg"}}"#),
            said(101.1, "service", #"{"id":1,"result":{"task":"12345678-9","state":"queued","progress":{}}}"#),
            changed(101.1, "queued"), changed(101.2, "running"), changed(102, "running", 1024),
            changed(102.5, "running", 1024, retry(1, busy)), changed(103.5, "running", 1024),
            changed(103.5, "running", 1024, retry(1, busy)), changed(104.9, "running", 1024),
            changed(105.6, "success", 4096),
        ]
        let model = try model(lines), task = try #require(model.tasks.first)
        #expect(
            task.states == ["asked for", "queued", "running", "waiting", "running", "waiting", "running", "success"])
        #expect(model.entries.filter { $0.kind == .task }.count == 7)
        let told = try timeline(lines)
        for part in [
            "00:01:41.100       • upload  gs://b/f/picture.jpg  task 12345678  queued  0 B of 4.0 KiB",
            "running  1.0 KiB of 4.0 KiB  attempt 1 of upload  at 1970-01-01T00:01:43.000Z  -13000  unknown  Busy.",
            "\npicture.jpg waited 2.4 s of 4.6 s for a busy server\n",
        ] {
            #expect(told.contains(part), "\(part)")
        }
        #expect(try timeline(lines) { $0.showsErrors = true }.components(separatedBy: "•").count == 4)
        #expect(try !timeline(lines) { $0.task = "none" }.contains("picture.jpg waited"))
    }

    @Test func `A message that is older than the last state that the service wrote adds no state`() throws {
        func event(_ at: Double, _ completed: Int) -> String {
            said(
                at, "service",
                #"{"method":"uploadTask/event","params":{"snapshot":{"task":"12345678-9","status":"progress","state":"running","progress":{"completedUnitCount":\#(completed),"totalUnitCount":4096}}}}"#
            )
        }
        let task = try #require(
            model([
                Self.head, changed(101, "running"), event(101.1, 512), event(101.1, 512),
                changed(101.2, "paused", 1024),
                event(101.3, 1024),
            ]).tasks.first)
        #expect(task.states == ["running", "paused"])
        #expect(task.samples.map(\.completed) == [0, 512, 1024])
    }

    @Test(arguments: [
        ("queued", "", "success", "was queued for 2.0 s of 2.1 s"),
        ("paused", "", "cancelled", "was paused for 2.0 s of 2.1 s, and was cancelled"),
        ("running", "", "success", "took 2.1 s for 4.0 KiB, 1.9 KiB/s"),
        ("running", "", "running", "took 2.1 s for 4.0 KiB, 1.9 KiB/s, and has not ended"),
        (
            "running", #"{"message":"Down.","data":{"httpStatus":500}}"#, "failed",
            "waited 2.0 s of 2.1 s for a server that answered 500, and failed"
        ),
        ("running", #"{"message":"No route."}"#, "success", "waited 2.0 s of 2.1 s after: No route."),
    ])
    func `A slow transfer has a verdict`(state: String, error: String, end: String, verdict: String) throws {
        let more = error.isEmpty ? "" : retry(1, error)
        let lines = [
            Self.head, changed(101, "running"), changed(101.04, state, 9, more), changed(103.05, "running", 9),
            changed(103.1, end, 4096),
        ]
        let model = try model(lines)
        #expect(model.tasks.map { $0.verdict(until: model.end) } == ["picture.jpg \(verdict)"])
        let fast = try self.model([Self.head, changed(101, "queued"), changed(101.9, "success", 4096)])
        #expect(fast.tasks.map { $0.verdict(until: fast.end) } == [nil])
        #expect(String(decoding: TracePage.html(of: model), as: UTF8.self).contains(verdict))
    }

    @Test func `Two services in one file are separate`() throws {
        let model = try model([
            Self.head, #"{"trace":1,"version":"9","at":100,"pid":8,"engine":"embedded"}"#,
            said(101, "client", #"{"id":1,"method":"a"}"#), said(102, "client", #"{"id":1,"method":"b"}"#, process: 8),
            said(103, "service", #"{"id":1,"result":null}"#, process: 8),
            // Another run with the same process ID.
            Self.head, said(104, "service", #"{"id":1,"result":null}"#),
        ])
        #expect(model.entries.map(\.title) == ["", "", "a", "b", "b", "", ""])
        #expect(model.entries[2].isUnanswered && model.entries[6].partner == nil)
    }

    @Test(arguments: [
        #"{"at":1e999,"ended":true}"#, #"{"at":-1,"ended":true}"#, #"{"at":1e300,"ended":true}"#, "[]", "7", "{}",
        #"{"at":1,"from":"me","message":{}}"#, #"{"at":1,"from":"client"}"#, #"{"trace":2,"at":1}"#, "{\"at\":",
        String(repeating: "[", count: 100_000), "\u{0}\u{1}", String(repeating: "x", count: 3 << 20),
    ])
    func `An unreadable line is reported and skipped`(line: String) throws {
        let model = try model([Self.head, line, said(101, "client", #"{"id":1,"method":"a"}"#)])
        #expect(model.problems.count == 1 && model.problems.first?.hasPrefix("line 2") == true)
        #expect(model.problems.joined().utf8.count < 200)
        #expect(model.entries.map(\.title) == ["", "a"])
    }

    @Test func `The last line may be incomplete`() throws {
        let whole = [Self.head, said(101, "client", #"{"id":1,"method":"a","params":{"reference":"ü"}}"#)].joined(
            separator: "\n")
        let bytes = Array(whole.utf8)
        for end in Self.head.utf8.count + 2..<bytes.count {
            let model = try model(Array(bytes[..<end]))
            #expect(model.entries.count == 1 && model.problems == ["line 2, the last, is cut off"])
        }
    }

    @Test func `The last line may be too long`() throws {
        for more in [1, 10, 70_000] {
            let line = String(repeating: "x", count: (1 << 20) + more)
            let model = try model(Array("\(Self.head)\n\(line)".utf8))
            #expect(model.entries.count == 1 && model.problems == ["line 2 is longer than 1048576 bytes"])
        }
    }

    @Test func `Extreme numbers and unusual shapes are handled`() throws {
        let huge = "9223372036854775807"
        let messages = [
            "null", "[]", "[null,[1]]", #""text""#, #"{"id":{"a":[]},"method":7}"#,
            #"{"id":1,"result":{"task":"t","state":"running","progress":{"completedUnitCount":\#(huge),"totalUnitCount":-\#(huge)}}}"#,
            #"{"method":"m","params":{"snapshot":{"task":"t","state":7}}}"#, #"{"id":1,"error":7}"#,
            #"{"result":{"tasks":[1,{"task":"u","state":"odd"}]}}"#,
            #"{"method":"uploadTask/event","params":{"snapshot":{"task":"t","state":"success","reference":[],"error":[]}}}"#,
        ]
        let lines =
            messages.flatMap { [said(1e11, "client", $0), said(0, "service", $0)] }
            + [
                #"{"at":5,"pid":\#(huge),"connection":-\#(huge),"dropped":\#(huge)}"#,
                #"{"at":5,"from":"client","bytes":\#(huge),"broken":""}"#,
                #"{"at":1e11,"pid":\#(huge),"task":7}"#, #"{"at":1e11,"pid":7,"task":{"task":"t"}}"#,
                #"{"at":0,"pid":7,"task":{"task":"t","kind":[],"state":"running","progress":{"completedUnitCount":\#(huge)}}}"#,
            ]
        let model = try model(lines)
        #expect(model.problems == [] && model.tasks.count == 2)
        Timeline(model, .init()).tell { _ in }
        #expect(TracePage.html(of: model).count > 1000)
    }

    @Test func `A trace cannot control a terminal or a browser`() throws {
        let evil = #"</script><script>alert(1)</script><!--\u001b[2J\u202e\u009b"#
        let lines = [
            Self.head,
            said(
                101, "client",
                #"{"id":"\#(evil)","method":"\#(evil)","params":{"reference":"gs://b/\#(evil)","\#(evil)":1}}"#),
            said(
                102, "service",
                #"{"id":"\#(evil)","result":{"task":"\#(evil)","state":"\#(evil)","reference":{"url":"gs://b/\#(evil)"},"error":{"message":"\#(evil)"}}}"#
            ),
            #"{"at":103,"from":"client","broken":"\#(evil)"}"#, #"{"at":104,"connection":3,"began":"\#(evil)"}"#,
        ]
        let told = try timeline(lines)
        #expect(!told.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || $0 == "\u{202E}" || $0 == "\u{9B}") })
        let page = String(decoding: TracePage.html(of: try model(lines)), as: UTF8.self)
        #expect(page.contains("alert(1)") && !page.contains("<script>alert") && !page.contains("<!--"))
        let scripts = page.components(separatedBy: "<script").count - 1
        #expect(scripts == 2 && page.components(separatedBy: "</script").count - 1 == 2)
    }

    @Test func `Colours are used only on request`() throws {
        var lines: [String] = []
        var options = Timeline.Options()
        options.isColoured = true
        try Timeline(model([Self.head]), options).tell { lines.append($0) }
        #expect(lines.joined().contains("\u{1B}["))
        #expect(try !timeline([Self.head]).contains("\u{1B}"))
    }

    private func said(_ at: Double, _ sender: String, _ message: String, process: Int = 7) -> String {
        #"{"at":\#(at),"pid":\#(process),"connection":1,"from":"\#(sender)","bytes":5,"message":\#(message)}"#
    }

    @Test func `Progress reports are one line for each transfer, and lines can be filtered and truncated`() throws {
        func event(_ at: Double, _ task: String, _ status: String, _ completed: Int) -> String {
            let progress = #"{"completedUnitCount":\#(completed),"totalUnitCount":3}"#
            let error = status == "failure" ? #","error":{"code":-13040,"message":"Cancelled."}"# : ""
            let snapshot =
                #"{"task":"\#(task)","status":"\#(status)","state":"running","progress":\#(progress)\#(error)}"#
            return said(
                at, "service", #"{"method":"uploadTask/event","params":{"handle":"o","snapshot":\#(snapshot)}}"#)
        }
        let lines =
            [Self.head] + (1...3).map { event(100 + Double($0), "first", "progress", $0) }
            + [event(104, "second", "progress", 1), event(105, "second", "failure", 1)]
        let folded = try timeline(lines)
        #expect(folded.contains("progress  task first  3 B of 3 B  3 reports in 2.00 s"))
        #expect(folded.components(separatedBy: "task first").count == 2)
        #expect(try timeline(lines) { $0.showsAll = true }.components(separatedBy: "task first").count == 4)
        let errors = try timeline(lines) { $0.showsErrors = true }
        #expect(errors.contains("failure  task second") && !errors.contains("first"))
        #expect(try !timeline(lines) { $0.task = "first" }.contains("second"))
        for width in [20, 50, 80, 120] {
            let cut = try timeline(lines) { $0.width = width }.split(separator: "\n")
            #expect(cut.allSatisfy { $0.count <= width } && (width > 80 || cut.contains { $0.hasSuffix("…") }))
        }
    }

    private func timeline(_ lines: [String], _ choose: (inout Timeline.Options) -> Void = { _ in }) throws -> String {
        var (told, options) = ("", Timeline.Options())
        choose(&options)
        try Timeline(model(lines), options).tell { told += $0 + "\n" }
        return told
    }

    private func model(_ lines: [String]) throws -> TraceModel {
        try model(Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    private func model(_ bytes: [UInt8]) throws -> TraceModel {
        var name = Array("/tmp/model-XXXXXX".utf8CString)
        let file = mkstemp(&name)
        unlink(name)
        let descriptor = Descriptor(owning: file)
        #expect(bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } == bytes.count)
        lseek(file, 0, SEEK_SET)
        return try TraceModelBuilder.read(TraceReader(descriptor))
    }
}
