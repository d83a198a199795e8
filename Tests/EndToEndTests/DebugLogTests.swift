import JSONText
import TestSupport
import Testing

/// The lines of the program at the log level debug.
@Suite(.watchdog) struct DebugLogTests {
    private let place = Place()

    @Test func `Connections and requests are logged with their outcome and without their params`() async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service(["--stdio", "--socket", place.socket, "--log-level", "debug"])
            try service.waitForLog("info: connection 1 opened: stdio\n")
            try service.waitForLog("listens on")
            do {
                let other = try place.connect()
                try other.call("service/ping")
                try service.waitForLog("info: connection 2 opened: socket\n")
                try service.waitForLog("debug: connection 2: request 1 service/ping succeeded after ")
                _ = try other.refusal("reference/getMetadata", #"{"reference":"gs://b/private-name"}"#)
                try service.waitForLog("debug: connection 2: request 2 reference/getMetadata failed with -13010 after ")
            }
            try service.waitForLog(": the client ended its input\n")
            try caller.call("auth/setToken", #"{"token":"very-private"}"#)
            caller.say("service/stop")
            try caller.waitForEnd()
            try service.waitForLog(": the service ends\n")
            #expect(!service.logged.contains("private"))
        }
    }

    @Test(arguments: ["text", "json"])
    func `The log records clients, ended tasks and durations, each line with the time`(format: String) async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service(["--log-level", "info", "--log-format", format])
            try caller.call("initialize", #"{"client":{"name":"a client","version":"1.2"}}"#)
            try caller.call("reference/putData", #"{"reference":"gs://b/private","text":"Hello","wait":true}"#)
            try service.waitForLog(" succeeded after ")
            caller.wire.endInput()
            #expect(try service.waitForExit() == 0)
            let lines = service.logged.split(separator: "\n").map(String.init)
            var facts: [JSON] = []
            let told = try lines.map { line in
                guard format == "json" else {
                    #expect(line.contains(#/^storage-rpc\[\d+\] \d{4}-\d\d-\d\dT[\d:.]+Z info: /#))
                    return line
                }
                let object = try JSON(parsing: line)
                #expect(object["level"] == "info" && object["pid"]?.number != nil)
                #expect(object["time"]?.string?.hasSuffix("Z") == true)
                facts.append(object)
                return object["message"]?.string ?? ""
            }
            #expect(told.contains { $0.contains("connection 1 (a client 1.2) closed after ") })
            #expect(told.contains { $0.contains(#/upload [-0-9a-f]+ succeeded after .*: 5 bytes/#) })
            guard format == "json" else { return #expect(!service.logged.contains("private")) }
            let upload = try #require(facts.first { $0["task"] != nil })
            #expect(upload["object"] == "gs://b/private" && upload["bytes"] == 5 && upload["connection"] == nil)
            #expect(try #require(upload["seconds"]?.number?.double) >= 0)
            let closed = try #require(facts.first { $0["message"]?.string?.contains("closed after") == true })
            #expect(closed["connection"] == 1 && closed["seconds"]?.number != nil && closed["task"] == nil)
        }
    }

    @Test func `A line of the log in JSON hides the secrets of names, and always ends`() async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service(["--log-level", "info", "--log-format", "json"])
            let names = ["x?token=Tq7-secret", String(repeating: "\\u0001\\u202e", count: 200)]
            for name in names {
                try caller.call(
                    "reference/putData", #"{"reference":{"bucket":"b","object":"\#(name)"},"text":"x","wait":true}"#)
            }
            caller.wire.endInput()
            #expect(try service.waitForExit() == 0)
            let lines = try service.logged.split(separator: "\n").map { try JSON(parsing: String($0)) }
            #expect(lines.filter { $0["message"]?.string?.contains("succeeded") == true }.count == names.count)
            #expect(!service.logged.contains("Tq7") && !service.logged.contains("\u{202E}"))
        }
    }

    @Test func `The id of an upload of the gateway, which is its session, is in no line of the log`() async throws {
        let live = try LiveGateway(["--log-level", "debug"])
        let url = try await live.client.start("x")
        let id = try #require(url.firstMatch(of: /upload_id=([-\w]+)/)?.1)
        #expect(try await live.client.command(url, "upload, finalize", "hello").status == 200)
        try live.service.waitForLog("upload of gs://box/x succeeded after ")
        #expect(!live.service.logged.contains(id))
        try live.end()
    }

    @Test func `A retry is logged with its task, its delay and the error`() async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service(["--log-level", "debug"] + Place.unreachable)
            let task = try caller.call("reference/putData", #"{"reference":"gs://b/a","text":"private"}"#)["task"]?
                .string
            try service.waitForLog("debug: task \(try #require(task)) tries upload again in ")
            caller.say("reference/getMetadata", #"{"reference":"gs://b/private"}"#)
            try service.waitForLog("debug: an operation is tried again in ")
            #expect(service.logged.contains("attempt 1, after -13000") && !service.logged.contains("private"))
            caller.say("exit")
            try caller.waitForEnd()
        }
    }

    @Test func `No request is logged above the level debug`() async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service()
            try caller.call("service/ping")
            caller.say("service/stop")
            try caller.waitForEnd()
            #expect(!service.logged.contains("connection 1 ") && !service.logged.contains("debug"))
        }
    }
}
